package upfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// The reader never panics, and a file is valid or has problems with lines. The seeds, and what
// mutilates them, run as a plain test.
func FuzzParse(f *testing.F) {
	p := newPerson(f, "MY_KEY=a", "GAUZE_CI_TOKEN="+token)
	p.write(".cursor/mcp.json", `{"mcpServers": {"notes": {"command": "notes"}}}`)
	p.write("other.json", `{"mcpServers": {"one": {"url": "https://example.com/one"}}}`)
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(p.dir, "up.yaml")
		file, err := parse(path, path, []byte(text), Options{Fleet: p.fleet})
		if err == nil {
			for i := range file.Servers {
				s := &file.Servers[i]
				s.At(p.dir, nil)
				s.Whole()
				s.Consent()
			}
			Diff(nil, file)
			return
		}
		checkProblems(t, err, path, text)
	})
}

// seeds returns the files of the golden tests, each also cut, with a line removed, and with lines that
// are indented differently.
func seeds(f *testing.F) (all []string) {
	f.Helper()
	archives, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(archives) < 5 {
		f.Fatal(archives, err)
	}
	for _, path := range archives {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(text).Files {
			if strings.Contains(file.Name, "up.") {
				all = append(all, mutilated(string(file.Data))...)
			}
		}
	}
	return append(all, "servers: {a: {from: }}", "include: [null, 1, [], {}]", "include: ['#', '/', './', '~/', '~', '.json', 'cursor/', '#x']",
		"servers: {'': '', a: null, b: [], c: {from: {}}}", "profiles: {p: null}\nservers: null", "tokens: [a]\ninclude: null", "servers: {a: {url: ':', login: [], headers: []}}",
		"servers: {a: {command: [''], policies: {x: {correct: {a: {b: c}}, y: [z]}, '*': {replay: 1}}}}")
}

func mutilated(text string) (all []string) {
	all = append(all, text)
	lines := strings.SplitAfter(text, "\n")
	for i := range lines {
		all = append(all, strings.Join(lines[:i], ""), strings.Join(lines[:i], "")+strings.Join(lines[min(i+1, len(lines)):], ""),
			strings.Join(lines[:i], "")+"  "+strings.Join(lines[i:], ""))
	}
	for i := 0; i < len(text); i += 7 {
		all = append(all, text[:i], text[:i]+"[", text[:i]+": "+text[i:])
	}
	return all
}
