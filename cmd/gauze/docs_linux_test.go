package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
)

// A block is a fenced block of a page.
type block struct {
	page     string // the file, from the root of the repository
	line     int    // of its first fence, from 1
	language string
	text     string // without the fences
}

func (b block) where() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// blocks returns the fenced blocks of a page. Those of a list are indented.
func blocks(page, text string) (found []block) {
	var open *block
	for i, line := range strings.Split(text, "\n") {
		language, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && open == nil:
			open = &block{page: page, line: i + 1, language: language}
		case fence:
			found, open = append(found, *open), nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	return found
}

// otherTests are blocks and lines that another test runs: that test, as the file that has it and its name.
var otherTests = []struct{ begins, file, test string }{
	{"go: ", "examples/examples_test.go", "TestThePrograms"},
	{"bash: ", "lab/release/readme_linux_test.go", "TestReadmeVerifiesADownload"},
	{"yaml: - uses: ", "lab/release/workflows_linux_test.go", "TestExampleOfTheActionIsSound"},
	{"text: 2/10 ", "internal/views/demo/demo_test.go", "TestTheDemoKeepsEveryPromise"},
	{"text: cause ", "internal/workshop/doctor/reader_test.go", "TestTheCauseOfTheDocs"},
	{"text: # From its documentation", "internal/workshop/clientconfig/data_test.go", "TestTheDocumentsDescribeEveryKey"},
	{"text: -- home/", "internal/workshop/clientconfig/data_test.go", "TestTheDocumentsDescribeEveryKey"},
	{"sh: npx ", "lab/release/readme_linux_test.go", "TestReadmeLinesInstall"},
	{"sh: npm ", "lab/release/readme_linux_test.go", "TestReadmeLinesInstall"},
	{"sh: uvx ", "lab/release/readme_linux_test.go", "TestReadmeLinesInstall"},
	{"sh: uv ", "lab/release/readme_linux_test.go", "TestReadmeLinesInstall"},
	{"sh: pip ", "lab/release/readme_linux_test.go", "TestReadmeLinesInstall"},
	{"sh: pipx ", "lab/release/readme_linux_test.go", "TestReadmeLinesInstall"},
	{"sh: sudo ", "lab/release/readme_linux_test.go", "TestReadmeNamesWhatIsReleased"},
	{"sh: brew ", "lab/release/readme_linux_test.go", "TestReadmeNamesWhatIsReleased"},
	{"sh: winget ", "lab/release/readme_linux_test.go", "TestReadmeNamesWhatIsReleased"},
	{"sh: scoop ", "lab/release/readme_linux_test.go", "TestReadmeNamesWhatIsReleased"},
}

// testedElsewhere reports whether another test runs what begins so. That test must exist.
func testedElsewhere(t *testing.T, what string) bool {
	t.Helper()
	for _, other := range otherTests {
		if strings.HasPrefix(what, other.begins) {
			if !strings.Contains(readPage(t, other.file), "func "+other.test+"(") {
				t.Errorf("%s has no %s, which should test %q", other.file, other.test, other.begins)
			}
			return true
		}
	}
	return false
}

// Every block of the documentation is true: commands run, or are at least accepted, outputs are those of the
// commands before them, and files are loaded by the code that reads them. With -update, outputs are written.
func TestDocs(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text := readPage(t, page)
			all := blocks(page, text)
			s := newStage(t, page)
			s.update = *update
			for _, b := range all {
				s.keep(b)
			}
			for _, b := range all {
				if was, is := b.text, s.check(b); was != is {
					text = strings.Replace(text, "```"+b.language+"\n"+was, "```"+b.language+"\n"+is, 1)
				}
			}
			if *update {
				if err := os.WriteFile("../../"+page, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A block that is not true, or that no rule tests, is reported.
func TestDocsAreChecked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"sh\ngauze docter\n":                                     `unknown command "docter"`,
		"sh\ngauze run --nosuch -- uvx x\n":                      "--nosuch",
		"sh\ngauze undo 1 2 nosuch\n":                            "exit status 2",
		"sh\ngauze login https://example.com --acount work\n":    "--acount",
		"sh\ngauze upgrade now\n":                                "now",
		"sh\nrm -r x\n":                                          "no rule tests this line",
		"sh\ndocker run ghcr.io/gauze-mcp/gauze walk\n":          `unknown command "walk"`,
		"sh\ngo -C lab run ./nosuch\n":                           "has no package",
		"sh\ngo -C lab run ./check -nosuch\n":                    "has no flag -nosuch",
		"sh\ngo run ./cmd/gauze walk\n":                          `unknown command "walk"`,
		"sh\nmake nosuch\n":                                      "Makefile has no",
		"console\n$ gauze login --status\nLogged in.\n":          "and not\nLogged in.",
		"console\n$ gauze login --status\nNot logged out\n…\n":   "and not\nNot logged out",
		"console\n$ ls\n":                                        "not a command of gauze",
		"json\n{\"mcpServers\": {\"a\": {\"comand\": \"b\"}}}\n": "gauze doctor: status 1",
		"yaml\n# tools.yaml\ntools: {a: {timeuot: 1s}}\n":        "timeuot",
		"yaml\nname: a\nsteps:\n  - {sever: b}\n":                `unknown key "sever"`,
		"yaml\ninclude: [cursr]\n":                               `did you mean "cursor"?`,
		"text\nanything\n":                                       "no rule tests this block",
		"\nanything\n":                                           "no rule tests this block",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			s, said := newStage(t, "docs/page.md"), ""
			s.wrong = func(format string, args ...any) { said += fmt.Sprintf(format, args...) }
			found := blocks("docs/page.md", "# Page\n\n```"+text+"```\n")
			if len(found) != 1 {
				t.Fatalf("%d blocks", len(found))
			}
			if s.check(found[0]); !strings.Contains(said, want) {
				t.Errorf("reported %q, want %q", said, want)
			}
		})
	}
}

// Commands between the lines exist, with their flags.
func TestDocsInline(t *testing.T) {
	t.Parallel()
	code, count := regexp.MustCompile("`(gauze [a-z][^`]*|go (?:-C|run|test) [^`]*)`"), 0
	for _, page := range pages(t) {
		s := &stage{t: t, page: page, env: os.Environ()}
		for _, m := range code.FindAllStringSubmatch(prose(readPage(t, page)), -1) {
			words := strings.Fields(m[1])
			var err error
			if words[0] == "go" {
				err = s.goCommand(words[1:])
			} else {
				err = mentioned(words[1:])
			}
			if count++; err != nil {
				t.Errorf("%s: %s: %v", page, m[1], err)
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d commands", count)
	}
}

// mentioned checks that gauze has a command and its flags. What a sentence leaves out, such as the value of a flag, may
// be missing.
func mentioned(words []string) error {
	root := commands()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(words...)
	cmd, rest, err := root.Find(words)
	if err != nil || onTemporal(words) {
		return err
	}
	if !cmd.HasParent() {
		return fmt.Errorf("unknown command %q", words[0])
	}
	err = cmd.ParseFlags(rest)
	if missing := (*pflag.ValueRequiredError)(nil); errors.As(err, &missing) || errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	return err
}

// keep writes a block that is a file, so that the commands of the page find it.
func (s *stage) keep(b block) {
	switch {
	case b.language == "yaml" && strings.HasPrefix(b.text, "# tools.yaml"):
		s.write("tools.yaml", b.text)
	case b.language == "yaml" && strings.Contains(b.text, "\nsteps:\n"):
		s.write("report.yaml", b.text)
	case isUpFile(b):
		s.write(".config/gauze/up.yaml", b.text)
		s.write("team.yaml", b.text)
	case b.language == "json" && strings.HasPrefix(b.text, `{"tools"`):
		s.write("tools.json", b.text)
	}
}

// check tests a block by the rule for its language, and returns its text as it should be.
func (s *stage) check(b block) string {
	s.t.Helper()
	var wrong error
	switch {
	case testedElsewhere(s.t, b.language+": "+b.text):
	case b.language == "console":
		return s.console(b)
	case b.language == "sh":
		for line := range strings.Lines(strings.ReplaceAll(b.text, "\\\n", " ")) {
			if err := s.line(strings.TrimSpace(line)); err != nil {
				s.wrong("%s: %s\n%v", b.where(), line, err)
			}
		}
	case b.language == "yaml" && strings.HasPrefix(b.text, "# tools.yaml"):
		s.write("block.yaml", b.text)
		_, wrong = readPolicies(filepath.Join(s.home, "block.yaml"), nil)
	case b.language == "yaml" && strings.Contains(b.text, "\nsteps:\n"):
		_, wrong = task.Parse(b.page, []byte(b.text))
	case isUpFile(b):
		wrong = s.upAccepts(b.text)
	case b.language == "json" && strings.HasPrefix(b.text, `{"tools"`):
		wrong = json.Unmarshal([]byte(b.text), new(struct{ Tools []map[string]any }))
	case b.language == "json" && strings.Contains(b.text, `"mcpServers"`):
		wrong = s.clientAccepts(b.text)
	case b.language == "text" && strings.HasPrefix(b.text, "> "):
		return s.dialogue(b)
	case b.language == "text" && b.page == "docs/ARCHITECTURE.md":
		wrong = s.treeExists(b.text)
	default:
		wrong = fmt.Errorf("no rule tests this block, language %q", b.language)
	}
	if wrong != nil {
		s.wrong("%s: %v", b.where(), wrong)
	}
	return b.text
}

// isUpFile reports whether a block is a file of gauze up.
func isUpFile(b block) bool { return b.language == "yaml" && strings.HasPrefix(b.text, "include:") }

// upAccepts checks a file of gauze up.
func (s *stage) upAccepts(text string) error {
	s.write("block.yaml", text)
	if out, status := s.run("gauze up --check block.yaml"); status != 0 {
		return fmt.Errorf("gauze up --check: status %d\n%s", status, out)
	}
	return nil
}

// clientAccepts checks a client's file as gauze doctor does.
func (s *stage) clientAccepts(text string) error {
	other := newStage(s.t, "")
	other.write(".cursor/mcp.json", text)
	out, status := other.run("gauze doctor --static --client cursor")
	if status != 0 || !strings.Contains(out, "1 server read") {
		return fmt.Errorf("gauze doctor: status %d\n%s", status, out)
	}
	return nil
}

// treeExists checks that every directory in a drawing of the tree exists, and that the lines of boxes are closed.
func (s *stage) treeExists(text string) error {
	for _, m := range regexp.MustCompile(`(?m)(?:^|\s|\()([a-z]+)/`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(directories(s.t), m[1]) {
			return fmt.Errorf("there is no directory %s", m[1])
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "+") && !strings.HasSuffix(strings.TrimSpace(line), "+") {
			return fmt.Errorf("the box is not closed: %s", line)
		}
	}
	return nil
}

// directories returns the names of all directories of the repository.
func directories(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			if entry.Name() == ".git" || entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			names = append(names, entry.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
