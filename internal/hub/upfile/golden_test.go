package upfile

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// person is a user with a home.
type person struct {
	t     testing.TB
	dir   string
	fleet *fleet.Fleet
}

func newPerson(t testing.TB, environ ...string) *person {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, dir: dir}
	p.fleet = &fleet.Fleet{
		Home: clientconfig.Home{OS: runtime.GOOS, Home: dir, Environ: append([]string{"PATH=/bin", "GAUZE_LOG=x"}, environ...)},
		Seen: trust.NewMemory(t.TempDir()),
	}
	return p
}

func (p *person) write(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *person) read(name string) (*File, error) {
	return Read(filepath.Join(p.dir, filepath.FromSlash(name)), Options{Fleet: p.fleet})
}

// mustRead reads a file that must be valid.
func (p *person) mustRead(name string) *File {
	p.t.Helper()
	f, err := p.read(name)
	if err != nil {
		p.t.Fatal(err)
	}
	return f
}

// shown returns text as it is on every machine.
func (p *person) shown(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, p.dir, "HOME"), `\`, "/")
}

// Each archive is a home. Its comment says which file is read, and with which environment; want is what
// is in it, or what is wrong with it.
func TestGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(archives) < 5 {
		t.Fatal(archives, err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			p := newPerson(t)
			name := "up.yaml"
			for line := range strings.Lines(string(archive.Comment)) {
				switch key, value, _ := strings.Cut(strings.TrimSpace(line), ": "); key {
				case "read":
					name = value
				case "env":
					p.fleet.Home.Environ = append(p.fleet.Home.Environ, value)
				}
			}
			var want *txtar.File
			for i, file := range archive.Files {
				if file.Name == "want" {
					want = &archive.Files[i]
					continue
				}
				p.write(file.Name, string(file.Data))
			}
			f, err := p.read(name)
			got := p.shown(describe(f, err))
			if *update {
				want.Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got != string(want.Data) {
				t.Errorf("got\n%s\nwant\n%s", got, want.Data)
			}
		})
	}
}

func describe(f *File, err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, s := range f.Servers {
		fmt.Fprintf(&b, "server %s from %s\n", s.Key, s.Source)
		if s.Spec.URL != "" {
			fmt.Fprintf(&b, "  url %s\n", s.Spec.URL)
		} else {
			fmt.Fprintf(&b, "  command %q\n", append([]string{s.Spec.Command}, s.Spec.Args...))
		}
		env := slices.Clone(s.Spec.Env)
		env = slices.DeleteFunc(env, func(pair string) bool { return strings.HasPrefix(pair, "PATH=") || strings.HasPrefix(pair, "MY_") })
		show := func(what string, value any, is bool) {
			if is {
				fmt.Fprintf(&b, "  %s %v\n", what, value)
			}
		}
		show("env", env, s.Spec.URL == "" && len(env) > 0)
		show("dir", s.Spec.Dir, s.Spec.Dir != "")
		for _, h := range s.Spec.Header {
			fmt.Fprintf(&b, "  header %s: %s\n", h.Name, h.Value)
		}
		show("login", s.Spec.Login, s.Spec.Login.String() != (Server{}).Spec.Login.String())
		show("tools", s.Tools, len(s.Tools.Allow)+len(s.Tools.Deny) > 0)
		for tool, policy := range s.Policies {
			fmt.Fprintf(&b, "  policy %s: timeout %v, replay %q, at most %d\n", tool, policy.Timeout, policy.Replay, policy.MaxInFlight)
		}
		show("share", s.Share, s.Share != "")
		show("idle", s.Idle, s.Idle > 0)
		show("max-in-flight", s.MaxInFlight, s.MaxInFlight > 0)
		show("unset", s.Unset, len(s.Unset) > 0)
		show("renamed:", s.Renamed, s.Renamed != "")
		show("pending:", s.Pending, s.Pending != "")
	}
	for _, p := range f.Profiles {
		fmt.Fprintf(&b, "profile %s: %v %v %s\n", p.Name, p.Servers, p.Tools, p.List)
	}
	for _, token := range f.Tokens {
		fmt.Fprintf(&b, "token %+v\n", token)
	}
	for _, skip := range f.Skipped {
		fmt.Fprintf(&b, "skipped %s: %s\n", skip.Source, skip.Why)
	}
	return b.String()
}

// Every problem names the file and a line that it has.
func checkProblems(t testing.TB, err error, path, text string) {
	t.Helper()
	var problems Problems
	if !errors.As(err, &problems) || len(problems) == 0 {
		t.Fatalf("%v is not a list of problems", err)
	}
	for _, p := range problems {
		if p.File != path || p.Line < 1 || p.Line > 1+strings.Count(text, "\n") || p.Message == "" {
			t.Errorf("%+v", p)
		}
	}
}

// stamps returns what is at each path, and when it last changed.
func (p *person) stamps(paths []string) (all string) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			all += fmt.Sprintln(path, info.Size(), info.ModTime().UnixNano())
		}
	}
	return all
}

// vscode returns where VS Code has the user's servers.
func (p *person) vscode() string {
	p.t.Helper()
	clients, err := fleet.Clients([]string{"vscode"})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, file := range p.fleet.Home.Places(clients...) {
		if rel, err := filepath.Rel(p.dir, file.Path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	p.t.Fatal("VS Code has no file in the home")
	return ""
}
