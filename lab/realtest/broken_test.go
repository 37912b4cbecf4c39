//go:build linux

package realtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// brokenSetup is a real server that is set up wrongly in one named way. docs/broken.md lists them.
type brokenSetup struct {
	name  string
	cause string               // "category/cause" that gauze test must name
	build func(*bench)         // makes it, and says how gauze is called
	heals []string             // what gauze test --heal does, step by step, the last one with success
	tries []string             // the same for what it tries in vain and takes back
	told  string               // what the person is told where nothing heals: a part of the one instruction
	cope  bool                 // gauze works with it as it is
	later bool                 // it fails once a client is connected
	also  func(*bench, tested) // what else must hold of the healing
}

// tested is what gauze test --json says.
type tested struct {
	Works  bool
	Report struct {
		Steps     []struct{ Fix, Result string }
		Todo      string
		Diagnosis struct {
			Category, Cause, Explanation, Fix string
			Reasons                           []string
		}
	}
	raw string // all it wrote, on both streams
}

// steps are what was tried, as "result fix".
func (r tested) steps(b *bench) []string {
	var all []string
	for _, s := range r.Report.Steps {
		all = append(all, s.Result+" "+b.neutral(s.Fix))
	}
	return all
}

func brokenSetups() []brokenSetup {
	return slices.Concat(brokenPrograms, brokenSettings, brokenServers, brokenAddresses, brokenEvidence, brokenReplies)
}

// TestBrokenSetups is the proof that gauze finds what is wrong with a real server, and heals what it may heal.
func TestBrokenSetups(t *testing.T) {
	web := &neighbours{http: everythingHTTP.start(t), sse: everythingSSE.start(t)}
	documented := readBrokenDocs(t)
	for _, s := range brokenSetups() {
		if documented[s.name] != s.cause {
			t.Errorf("docs/broken.md has %q as the cause of %q: want %q", documented[s.name], s.name, s.cause)
		}
		delete(documented, s.name)
	}
	for name := range documented {
		t.Errorf("docs/broken.md lists %q, which is not here", name)
	}
	for _, s := range some(t, brokenSetups(), 10) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, web)
			s.build(b)
			before := b.files()
			s.check(b)
			if after := b.files(); after != before {
				t.Errorf("files changed\nbefore:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

func (s brokenSetup) check(b *bench) {
	b.t.Helper()
	if s.cope {
		if r := b.gauze(); !r.Works || len(r.Report.Steps) > 0 {
			b.t.Errorf("want it to work at once:\n%s", r.raw)
		}
		return
	}
	looked := b.gauze()
	if got := looked.Report.Diagnosis.Category + "/" + looked.Report.Diagnosis.Cause; looked.Works || got != s.cause || len(looked.Report.Steps) > 0 {
		b.t.Errorf("diagnosed as %s, want %s\n%s", got, s.cause, looked.raw)
	}
	treated := b.gauze("--heal")
	var want []string
	for _, fix := range s.tries {
		want = append(want, "undone "+fix)
	}
	for i, fix := range s.heals {
		result := "helped "
		if i == len(s.heals)-1 {
			result = "healed "
		}
		want = append(want, result+fix)
	}
	if got := treated.steps(b); !slices.Equal(got, want) {
		b.t.Errorf("steps %q, want %q\n%s", got, want, treated.raw)
	}
	if treated.Works != (len(s.heals) > 0) {
		b.t.Errorf("works is %v\n%s", treated.Works, treated.raw)
	}
	if !treated.Works && (s.told == "" || !strings.Contains(b.neutral(treated.Report.Todo), s.told)) {
		b.t.Errorf("told %q, want %q in it\n%s", b.neutral(treated.Report.Todo), s.told, treated.raw)
	}
	if s.also != nil {
		s.also(b, treated)
	}
}

// neighbours are real servers at addresses, for all set-ups together.
type neighbours struct{ http, sse *webServer }

// bench is a machine of its own for one set-up: a home, a project in it, a PATH with hardly anything, an environment.
type bench struct {
	t       *testing.T
	web     *neighbours
	home    string
	project string // where gauze is started
	path    []string
	env     []string
	args    []string // of gauze test
	timeout string
	words   []string // pairs for neutral: what differs from run to run, and its name
}

// commonTools are what scripts need from any PATH.
var commonTools = []string{"sh", "env", "cat", "sleep", "uname", "dirname", "realpath", "sed"}

func newBench(t *testing.T, web *neighbours) *bench {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, web: web, home: home, project: filepath.Join(home, "project"), timeout: "60s"}
	b.dir("project")
	for _, tool := range commonTools {
		if path, err := exec.LookPath(tool); err == nil {
			b.link("tools/"+tool, path)
		}
	}
	b.path = []string{filepath.Join(home, "tools")}
	b.words = []string{home, "$HOME"}
	return b
}

// gauze runs gauze test on the set-up.
func (b *bench) gauze(flags ...string) tested {
	b.t.Helper()
	return b.run(b.argv(flags...))
}

func (b *bench) argv(flags ...string) []string {
	return slices.Concat([]string{gauzeBinary(), "test", "--json", "--timeout", b.timeout}, flags, b.args)
}

// text is what gauze test writes for people.
func (b *bench) text(flags ...string) string {
	b.t.Helper()
	out, errs, _ := b.exec(slices.Concat([]string{gauzeBinary(), "test", "--timeout", b.timeout}, flags, b.args))
	return out + errs
}

func (b *bench) run(argv []string) (r tested) {
	b.t.Helper()
	out, errs, ok := b.exec(argv)
	r.raw = out + errs
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		b.t.Fatalf("%q: %v\n%s", argv, err, r.raw)
	}
	if r.Works != ok {
		b.t.Errorf("works is %v, but the exit status says otherwise", r.Works)
	}
	return r
}

// exec runs gauze, which says with its exit status whether the server works.
func (b *bench) exec(argv []string) (out, errs string, works bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = b.project, b.environ()
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		b.t.Fatalf("%q: %v\n%s%s", argv, err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String(), stderr.String(), err == nil
}

func (b *bench) environ() []string {
	return append([]string{"HOME=" + b.home, "PATH=" + strings.Join(b.path, ":"), "LANG=C.UTF-8", raceOptions()}, b.env...)
}

// neutral puts names in for what differs from run to run.
func (b *bench) neutral(text string) string { return strings.NewReplacer(b.words...).Replace(text) }

func (b *bench) call(text, name string) string {
	b.words = append([]string{text, name}, b.words...)
	return text
}

// command is what gauze is to start.
func (b *bench) command(argv ...string) { b.args = append([]string{"--"}, argv...) }

func (b *bench) url(url string, flags ...string) { b.args = append(flags, "--url", url) }

func (b *bench) dir(name string) string {
	b.t.Helper()
	path := filepath.Join(b.home, name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bench) file(name, text string) string { return b.write(name, text, 0o644) }

// script writes something that can be started.
func (b *bench) script(name, text string) string { return b.write(name, text, 0o755) }

func (b *bench) write(name, text string, mode fs.FileMode) string {
	b.t.Helper()
	path := filepath.Join(b.home, name)
	b.dir(filepath.Dir(name))
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bench) link(name, to string) string {
	b.t.Helper()
	path := filepath.Join(b.home, name)
	b.dir(filepath.Dir(name))
	if err := os.Symlink(to, path); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// onPath puts a program on the PATH gauze gets.
func (b *bench) onPath(name, to string) { b.link("tools/"+name, to) }

// server is the script of a real server from npm.
func (b *bench) server(part realparts.Part) string {
	b.t.Helper()
	return realparts.Need(b.t, part)[1]
}

// node is a program to link to.
func (b *bench) node() string {
	b.t.Helper()
	return realparts.Node(b.t)
}

// npx is npm's own, as the machine has it.
func (b *bench) npx() string {
	b.t.Helper()
	path, err := exec.LookPath("npx")
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		b.t.Fatal("no npx here: ", err)
	}
	return path
}

// behind is a Node program that does something first and then is the real server-memory.
func (b *bench) behind(name, first string) string {
	b.t.Helper()
	return b.file(name, first+"\nawait import("+quoted(b.server(realparts.Memory))+");\n")
}

// requires is a server that does not start without a variable, as most do.
func (b *bench) requires(name, variable string) string {
	return b.behind(name, fmt.Sprintf("if (!process.env.%[1]s) { console.error('Error: %[1]s environment variable is required'); process.exit(1); }", variable))
}

func quoted(text string) string {
	b, _ := json.Marshal(text) // of a string it does not fail
	return string(b)
}

// files are all files of the set-up with their sizes and modes, but for the caches of runners.
func (b *bench) files() string {
	b.t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(b.home, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".npm", ".cache", "__pycache__", "uv"}, entry.Name()) {
			return filepath.SkipDir
		}
		info, err := entry.Info()
		if err == nil && !entry.IsDir() {
			fmt.Fprintln(&all, path, info.Mode(), info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		b.t.Error(err)
	}
	return all.String()
}

// readBrokenDocs reads name and cause of each row of the tables.
func readBrokenDocs(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/broken.md") // a link to docs: the go command records what a test reads of its own module
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		clean := func(cell string) string { return strings.Trim(cell, " `") }
		rows[clean(cells[1])] = clean(cells[3])
	}
	return rows
}
