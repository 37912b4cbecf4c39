package clientconfig

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// A project can bring a program called gauze. It is shown as what it is: the command of the entry.
func TestAProjectsOwnGauzeIsAnOrdinaryCommand(t *testing.T) {
	dir := t.TempDir()
	project, bin := filepath.Join(dir, "project"), filepath.Join(dir, "project", "bin")
	outside := filepath.Join(dir, "elsewhere")
	for _, path := range []string{bin, filepath.Join(project, ".git"), outside} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{filepath.Join(bin, "gauze"), filepath.Join(outside, "gauze")} {
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ours := filepath.Join(outside, "ours", "gauze")
	if err := os.Mkdir(filepath.Dir(ours), 0o700); err != nil {
		t.Fatal(err)
	}
	symlink(t, own, ours)
	symlink(t, own, filepath.Join(project, "gauze"))
	for _, test := range []struct {
		name, entry, path string
		wrapped           bool
	}{
		{"by name", `"command": "gauze"`, outside, true},
		{"this program, by its path", `"command": "` + filepath.ToSlash(ours) + `"`, outside, true},
		{"its copy in the user's data directory", `"command": "` + filepath.ToSlash(dir) + `/data/gauze"`, outside, true},
		{"relative", `"command": "./gauze"`, outside, false},
		{"in a directory of the project", `"command": "bin/gauze"`, outside, false},
		{"by a path that the project chose", `"command": "` + filepath.ToSlash(outside) + `/gauze"`, outside, false},
		{"a link of the project to this program", `"command": "` + filepath.ToSlash(project) + `/gauze"`, outside, false},
		{"found in the project", `"command": "gauze"`, bin + string(filepath.ListSeparator) + outside, false},
		{"found below the directory of the client", `"command": "gauze"`, "bin", false},
		{"found in a PATH that the entry sets", `"command": "gauze", "env": {"Path": "/tmp"}`, outside, false},
		{"found in a PATH that a file may set", `"command": "gauze", "envFile": ".env"`, outside, false},
	} {
		client, _ := ByID("vscode")
		place := client.Places[slices.IndexFunc(client.Places, func(p Place) bool { return p.Scope == Workspace })]
		home := Home{OS: runtime.GOOS, Home: dir, Project: project, Environ: []string{"PATH=" + test.path}, Copy: filepath.ToSlash(dir) + "/data/gauze"}
		text := `{"servers": {"a": {` + test.entry + `, "args": ["run", "--", "npx", "-y", "friendly"]}}}`
		c := home.ReadText(File{Path: filepath.Join(project, ".vscode", "mcp.json"), Client: client, Place: place, Exists: true}, []byte(text))
		e := &c.Entries[0]
		if e.Wrapped != test.wrapped || (e.Inner != nil) != test.wrapped {
			t.Errorf("%s: wrapped %v, inner %+v", test.name, e.Wrapped, e.Inner)
		}
		if shown := c.Written(e).Command; (shown == "npx") != test.wrapped {
			t.Errorf("%s: the command that is shown is %q", test.name, shown)
		}
		if _, err := c.Wrap(e, WrapOptions{}); err == nil {
			t.Errorf("%s: it is wrapped again", test.name)
		}
		edit, err := c.Unwrap(e)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if now, err := edit.Apply(c.Format(), c.Text); err != nil || c.Home.ReadText(c.File, now).Entries[0].Spec.Command != "npx" {
			t.Errorf("%s: unwrapped to %s, %v", test.name, now, err)
		}
	}
	// Windows looks in the directory in which a program starts before it looks in PATH.
	for name, wrapped := range map[string]bool{`C:\p\gauze.exe`: false, `C:\p\sub\gauze.cmd`: false, `C:\p\other\gauze.exe`: true} {
		home := Home{OS: "windows", Home: `C:\me`, Project: `C:\p`, Environ: []string{`PATH=C:\bin`}, Disk: memory{files: map[string]string{name: ""}, sep: `\`}}
		client, _ := ByID("vscode")
		place := client.Places[slices.IndexFunc(client.Places, func(p Place) bool { return p.Scope == Workspace })]
		c := home.ReadText(File{Path: `C:\p\.vscode\mcp.json`, Client: client, Place: place, Exists: true}, []byte(`{"servers": {"a": {"command": "gauze", "args": ["run", "--", "npx"], "cwd": "sub"}}}`))
		if c.Entries[0].Wrapped != wrapped {
			t.Errorf("with %s: wrapped %v", name, !wrapped)
		}
	}
	// A data directory in the project is not the user's.
	home := Home{OS: "linux", Home: "/me", Project: "/p", Disk: memory{files: map[string]string{"/p/data/gauze": ""}}, Copy: "/p/data/gauze"}
	client, _ := ByID("vscode")
	place := client.Places[slices.IndexFunc(client.Places, func(p Place) bool { return p.Scope == Workspace })]
	in := home.ReadText(File{Path: "/p/.vscode/mcp.json", Client: client, Place: place, Exists: true}, []byte(`{"servers": {"a": {"command": "/p/data/gauze", "args": ["run", "--", "npx"]}}}`))
	if in.Entries[0].Wrapped {
		t.Error("a copy in the project counts as ours")
	}
	// The user's own files name gauze wherever the user has it.
	c := readAs(t, "cursor", `{"mcpServers": {"a": {"command": "/old/place/gauze", "args": ["run", "--", "npx"], "env": {"PATH": "/x"}}}}`)
	if e := c.Entries[0]; !e.Wrapped || e.Inner == nil {
		t.Errorf("the user's own: %+v", e)
	}
}
