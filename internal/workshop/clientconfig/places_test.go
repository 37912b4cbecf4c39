package clientconfig

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Each client's archive has all its places on the three systems.
func TestPlacesOnThreeSystems(t *testing.T) {
	systems := []Home{
		{OS: "linux", Home: "/home/me", Project: "/home/me/p", Disk: memory{}},
		{OS: "darwin", Home: "/Users/me", Project: "/Users/me/p", Disk: memory{}},
		{OS: "windows", Home: `C:\Users\me`, Project: `C:\Users\me\p`, Environ: []string{`APPDATA=C:\Users\me\AppData\Roaming`, `LocalAppData=C:\Users\me\AppData\Local`}, Disk: memory{sep: `\`}},
	}
	for _, a := range archives(t, "testdata/clients/*.txtar") {
		client, _ := ByID(a.name())
		var b strings.Builder
		for _, h := range systems {
			for _, f := range h.Places(client) {
				if f.Exists || f.Err != nil {
					t.Errorf("%s is said to be there", f.Path)
				}
				note := ""
				if f.Place.Old != "" {
					note = " (old)"
				}
				if f.Place.Borrowed {
					note = " (another's)"
				}
				fmt.Fprintf(&b, "%s %s %s%s\n", h.OS, f.Place.Scope, f.Path, note)
			}
		}
		a.check(t, "places", b.String())
	}
}

func TestVariablesMoveFiles(t *testing.T) {
	for _, c := range []struct{ client, environ, want string }{
		{"claude-code", "CLAUDE_CONFIG_DIR=/c", "/c/.claude.json"},
		{"codex", "CODEX_HOME=/c/", "/c/config.toml"},
		{"zed", "XDG_CONFIG_HOME=/x", "/x/zed/settings.json"},
		{"zed", "FLATPAK_XDG_CONFIG_HOME=/f", "/f/zed/settings.json"},
		{"goose", "GOOSE_PATH_ROOT=/g", "/g/config/config.yaml"},
		{"cline", "CLINE_MCP_SETTINGS_PATH=/c.json", "/c.json"},
		{"cline", "CLINE_DATA_DIR=/d", "/d/settings/cline_mcp_settings.json"},
		{"cline", "CLINE_DIR=/e", "/e/data/settings/cline_mcp_settings.json"},
		{"opencode", "OPENCODE_CONFIG=/o.json", "/o.json"},
		{"opencode", "OPENCODE_CONFIG_DIR=/o", "/o/opencode.jsonc"},
		{"kimi-code", "KIMI_CODE_HOME=/k", "/k/mcp.json"},
		{"grok-build", "GROK_HOME=/g", "/g/config.toml"},
	} {
		client, _ := ByID(c.client)
		h := Home{OS: "linux", Home: "/home/me", Environ: []string{c.environ}, Disk: memory{}}
		if !slices.ContainsFunc(h.Places(client), func(f File) bool { return f.Path == c.want }) {
			t.Errorf("%s with %s is not looked for at %s", c.client, c.environ, c.want)
		}
	}
}

func TestProjectsAreSearchedUpToTheirRepository(t *testing.T) {
	disk := memory{files: map[string]string{"/w/.mcp.json": "{}", "/w/r/.git/HEAD": "", "/w/r/.mcp.json": "{}", "/w/r/a/b/.mcp.json": "{}", "/home/me/.copilot/x": ""}}
	h := Home{OS: "linux", Home: "/home/me", Project: "/w/r/a/b", Disk: disk}
	client, _ := ByID("copilot-cli")
	var got []string
	for _, f := range h.Find(client) {
		got = append(got, f.Path)
	}
	if want := []string{"/w/r/a/b/.mcp.json", "/w/r/.mcp.json"}; !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// Above a drive is nothing, and not the working directory, whose path is relative.
func TestADriveHasNoParent(t *testing.T) {
	h := Home{OS: "windows", Home: `C:\Users\me`, Project: `C:\Users\me\.config`, Disk: memory{files: map[string]string{`.\.git\HEAD`: ""}, sep: `\`}}
	if root, ok := h.Repository(); ok {
		t.Errorf("the repository of %s is %s", h.Project, root)
	}
	h.Disk = memory{files: map[string]string{`C:\.git\HEAD`: ""}, sep: `\`}
	if root, ok := h.Repository(); !ok || root != "C:" {
		t.Errorf("the repository of %s is %q", h.Project, root)
	}
}

// A client whose file is in the home directory itself is in use if the file exists.
func TestAFileShowsThatItsClientIsInUse(t *testing.T) {
	for path, want := range map[string]bool{"/home/me/.claude.json": true, "/home/me/.other.json": false} {
		h := Home{OS: "linux", Home: "/home/me", Disk: memory{files: map[string]string{path: "{}"}}}
		client, _ := ByID("claude-code")
		if got := h.Uses(client); got != want {
			t.Errorf("with %s: %v, want %v", path, got, want)
		}
	}
}

func TestAnothersFileCountsOnlyWhereTheClientIsInUse(t *testing.T) {
	files := map[string]string{"/p/.mcp.json": `{"mcpServers": {}}`}
	h := Home{OS: "linux", Home: "/home/me", Project: "/p", Disk: memory{files: files}}
	readers := func() (all []string) {
		for _, f := range h.Find() {
			all = append(all, f.Client.ID)
		}
		return all
	}
	if got := readers(); !slices.Equal(got, []string{"claude-code"}) {
		t.Errorf("read by %v", got)
	}
	files["/home/me/.copilot/config.json"] = ""
	if got := readers(); !slices.Equal(got, []string{"claude-code", "copilot-cli"}) {
		t.Errorf("read by %v", got)
	}
}

func TestFilesOfWindowsAreSeenFromWSL(t *testing.T) {
	disk := memory{files: map[string]string{"/mnt/c/Users/me/AppData/Roaming/Claude/claude_desktop_config.json": "{}"}}
	h := Home{OS: "linux", Home: "/home/me", Windows: "/mnt/c/Users/me", Disk: disk}
	if found := h.Find(); len(found) != 1 || found[0].Client.ID != "claude-desktop" {
		t.Errorf("found %+v", found)
	}
}

// What is odd about a file is noted, and no reason to stop.
func TestOddFilesAreReportedAndNotFatal(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	real := write("dotfiles/cursor.json", `{"mcpServers": {"a": {"command": "x"}}}`)
	write(".kiro/settings/mcp.json/in/the/way", "")
	write(".factory/mcp.json", strings.Repeat(" ", maxFileBytes+1))
	if err := os.MkdirAll(filepath.Join(dir, ".cursor"), 0o755); err != nil {
		t.Fatal(err)
	}
	symlink(t, real, filepath.Join(dir, ".cursor", "mcp.json"))
	symlink(t, filepath.Join(dir, "nowhere"), filepath.Join(dir, ".claude.json"))
	h := Home{OS: runtime.GOOS, Home: dir}
	var errs []string
	for _, f := range h.Find() {
		c := h.Read(f)
		if f.Client.ID == "cursor" && len(c.Entries) != 1 {
			t.Errorf("%d servers behind the link", len(c.Entries))
		}
		if c.Err != nil {
			problems := c.Lint()
			if len(problems) != 1 || problems[0].Code != "not-readable" {
				t.Errorf("%s: %v", f.Path, problems)
			}
			errs = append(errs, f.Client.ID+": "+c.Err.Error())
		}
	}
	slices.Sort(errs)
	want := []string{"claude-code: the symbolic link is broken", "factory-droid: the file is larger than 10 MB", "kiro: it is a directory"}
	if !slices.Equal(slices.Compact(errs), want) {
		t.Errorf("got %q", errs)
	}
}

// A repository may hold a link to a private file. What is behind it would be shown as the project's, secrets and all.
func TestAProjectsLinkOutOfItIsNotRead(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(dir, "project")
	for _, folder := range []string{"project/.git", "project/shared", "project/sub/.cursor", "project/.kiro", "private"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"private/mcp.json", "project/shared/mcp.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(`{"mcpServers": {"a": {"command": "x"}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"sub/.mcp.json": "../../private/mcp.json", "sub/.kiro/settings": "../../../private", "sub/.cursor/mcp.json": "../../shared/mcp.json"} {
		os.MkdirAll(filepath.Dir(filepath.Join(project, name)), 0o755)
		symlink(t, filepath.FromSlash(to), filepath.Join(project, name))
	}
	through := filepath.Join(dir, "link")
	symlink(t, filepath.Join(project, "sub"), through)
	for where, want := range map[string]map[string]int{
		filepath.Join(project, "sub"): {"claude-code": 0, "kiro": 0, "cursor": 1},
		through:                       {"claude-code": 0, "kiro": 0},
	} {
		h := Home{OS: runtime.GOOS, Home: filepath.Join(dir, "home"), Project: where}
		got := map[string]int{}
		for _, f := range h.Find() {
			if c := h.Read(f); !f.Place.Borrowed {
				got[f.Client.ID] += len(c.Entries)
			}
		}
		for id, n := range want {
			if have, found := got[id]; !found || have != n {
				t.Errorf("%s: %s has %d servers (file found: %t), want %d", where, id, have, found, n)
			}
		}
	}
}

// Nothing but the places of the table is opened.
func TestNothingElseIsOpened(t *testing.T) {
	h := homeOf(&txtar.Archive{Files: []txtar.File{{Name: "project/.mcp.json", Data: []byte(`{"mcpServers": {"a": {"command": "cat", "args": ["${file:/etc/passwd}", "$(cat /etc/passwd)"], "env": {"A": "{file:~/.ssh/id}"}, "envFile": ".env"}}}`)}}})
	seen := &watched{memory: h.Disk.(memory)}
	h.Disk = seen
	for _, f := range h.Find() {
		h.Read(f).Lint()
	}
	for _, path := range seen.read {
		name := filepath.Base(path)
		if !slices.Contains([]string{".mcp.json", ".claude.json", "settings.json", "settings.local.json"}, name) {
			t.Errorf("%s was opened", path)
		}
	}
	if len(seen.read) == 0 {
		t.Error("nothing was opened at all")
	}
}

type watched struct {
	memory
	read []string
}

func (w *watched) ReadFile(path string) ([]byte, error) {
	w.read = append(w.read, path)
	return w.memory.ReadFile(path)
}

func (w *watched) Lstat(path string) (fs.FileInfo, error) { return w.memory.Lstat(path) }

// The order of gauze run's flags changes nothing about what is sent, so a person who is asked sees the headers in any order.
func TestHeadersOfAWrappedServerInAnyOrder(t *testing.T) {
	for _, args := range []string{
		`"run", "--header-env", "X-A=TOKEN", "--url", "https://a.example/mcp"`,
		`"run", "--url", "https://a.example/mcp", "--header-env", "X-A=TOKEN"`,
	} {
		inner := readAs(t, "cursor", `{"mcpServers": {"a": {"command": "gauze", "args": [`+args+`], "env": {"TOKEN": "t"}}}}`).Entries[0].Inner
		if inner == nil || len(inner.Header) != 1 || inner.Header[0].Name != "X-A" || inner.Header[0].Value != "t" {
			t.Errorf("%s: %+v", args, inner)
		}
	}
}

// Claude Desktop for Windows is a package (MSIX) since 2026. Windows gives a
// package a copy of its own of what is in %APPDATA%; the app sees the file there
// only as long as it has no copy.
func TestClaudeDesktopAsAWindowsPackage(t *testing.T) {
	const (
		classic = `C:\Users\me\AppData\Roaming\Claude\claude_desktop_config.json`
		program = `C:\Users\me\AppData\Local\AnthropicClaude\claude.exe`
		sign    = `C:\Users\me\AppData\Local\Packages\Claude_pzs8sxrjxfjjc\AppData\x`
		store   = `C:\Users\me\AppData\Local\Packages\Claude_pzs8sxrjxfjjc\LocalCache\Roaming\Claude\claude_desktop_config.json`
		other   = `C:\Users\me\AppData\Local\Packages\Claude_8wekyb3d8bbwe\LocalCache\Roaming\Claude\claude_desktop_config.json`
		foreign = `C:\Users\me\AppData\Local\Packages\SomeClaude_x\LocalCache\Roaming\Claude\claude_desktop_config.json`
	)
	for _, c := range []struct {
		what      string
		disk      []string
		read, old []string // files that are there
		writes    string   // where a server is added
	}{
		{"nothing", nil, nil, nil, classic},
		{"the classic installer", []string{classic}, []string{classic}, nil, classic},
		{"the package, not started yet", []string{sign}, nil, nil, store},
		{"the package", []string{store}, []string{store}, nil, store},
		{"the package without a copy", []string{sign, classic}, []string{classic}, nil, classic},
		{"the package beside a file of before", []string{store, classic}, []string{store}, []string{classic}, store},
		{"both programs", []string{store, classic, program}, []string{store, classic}, nil, store},
		{"packages of two publishers", []string{other, store}, []string{other, store}, nil, other},
		{"another program's package", []string{foreign}, nil, nil, classic},
	} {
		disk := memory{files: map[string]string{}, sep: `\`}
		for _, path := range c.disk {
			disk.files[path] = `{"mcpServers": {"a": {"command": "x"}}}`
		}
		h := Home{OS: "windows", Home: `C:\Users\me`, Environ: []string{`APPDATA=C:\Users\me\AppData\Roaming`, `LOCALAPPDATA=C:\Users\me\AppData\Local`}, Disk: disk}
		client, _ := ByID("claude-desktop")
		var read, old []string
		writes := ""
		for _, f := range h.Places(client) {
			switch {
			case f.Exists && f.Place.Old != "":
				old = append(old, f.Path)
			case f.Exists:
				read = append(read, f.Path)
			}
			if writes == "" && f.Place.Old == "" && (f.Exists || len(h.Find(client)) == 0) {
				writes = f.Path
			}
		}
		if !slices.Equal(read, c.read) || !slices.Equal(old, c.old) || writes != c.writes {
			t.Errorf("%s:\nread %q, want %q\nnot read %q, want %q\nwritten %s, want %s", c.what, read, c.read, old, c.old, writes, c.writes)
		}
	}
}

func TestThePackageOfWindowsIsSeenFromWSL(t *testing.T) {
	const path = "/mnt/c/Users/me/AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json"
	files := map[string]string{path: "{}"}
	h := Home{OS: "linux", Home: "/home/me", Windows: "/mnt/c/Users/me", Disk: memory{files: files}}
	if found := h.Find(); len(found) != 1 || found[0].Path != path {
		t.Errorf("found %+v", found)
	}
	files["/home/me/.config/Claude/claude_desktop_config.json"] = "{}"
	files["/mnt/c/Users/me/AppData/Roaming/Claude/claude_desktop_config.json"] = "{}"
	for _, f := range h.Find() {
		if old := f.Place.Old != ""; old != strings.Contains(f.Path, "AppData/Roaming") {
			t.Errorf("%s is read: %t", f.Path, !old)
		}
	}
}

// What is special about a client is a fact in its literal, not a condition on its ID elsewhere.
func TestOnlyTheTableNamesClients(t *testing.T) {
	var ids []string
	for _, c := range clients() {
		ids = append(ids, `ID == "`+c.ID+`"`, `ID != "`+c.ID+`"`, `case "`+c.ID+`"`)
	}
	for _, dir := range []string{".", "../fleet"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				if !strings.HasSuffix(file, "_test.go") && strings.Contains(string(text), id) {
					t.Errorf("%s has %s: add a field to Client or Fields instead", file, id)
				}
			}
		}
	}
}
