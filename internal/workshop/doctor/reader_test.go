package doctor

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// withFile returns the causes with one more file.
func withFile(t *testing.T, text string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{"causes/99-more.cause": {Data: []byte(text)}}
	paths, err := fs.Glob(data, "causes/*.cause")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := data.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = &fstest.MapFile{Data: text}
	}
	return files
}

// A mistake is reported with its place and what to do.
func TestMistakesInCausesAreExplained(t *testing.T) {
	for text, want := range map[string]string{
		"category timeout":                                   `:1: "category" must be part of a cause: begin with a line such as "cause env_not_set"`,
		"cause env_not_set":                                  `:1: invalid cause name "env_not_set": must not be empty`,
		"cause a\ncategory time_out":                         `:2: unknown category "time_out"; did you mean "timeout"?`,
		"cause a\nexplian b":                                 `:2: unknown line "explian"; did you mean "explain"?`,
		"cause a\nfix":                                       `:2: fix needs a value`,
		"cause a\nrisk high":                                 `:2: unknown risk "high": must be one of config, install, secret, person`,
		"cause a\nremedies newrNode":                         `:2: unknown remedy "newrNode"; did you mean "newerNode"?`,
		"cause a\nclue sure x y":                             `:2: unknown confidence "sure": must be one of certain, strong, likely, guess, faint, said`,
		"cause a\nclue strong (abc":                          `:2: error parsing regexp: missing closing )`,
		"cause a\nclue strong \\d+":                          `:2: the pattern contains no literal word`,
		"cause a\nclue strong ab(?!c)":                       `:2: patterns do not support lookahead`,
		"cause a\nclue strong (?&fail-wort)":                 `:2: unknown word "fail-wort"; did you mean "fail-word"?`,
		"cause a\nclue strong abc ":                          `:2: the line ends with a space`,
		"cause a\nclue said abc":                             `:2: "said" can be the confidence of a fact only`,
		"cause a\nclue strong abc\n  wenn b":                 `:3: "wenn" cannot follow a "clue" line: use if, unless or name`,
		"cause a\nclue strong abc\n  if remot":               `:3: unknown condition "remot"; did you mean "remote"?`,
		"cause a\nclue strong abc\n  if line":                `:3: `,
		"cause a\nclue strong abc\n  if line contains \"b\"": `:3: after "line": unknown verb "contains"`,
		"cause a\nclue strong abc\n  if line has \"b":        `:3: the string that begins with " is not closed`,
		"cause a\nclue strong abc\n  if line has":            `:3: line has requires a string, for example: line has "words of the log"`,
		"cause a\nclue strong abc\n  if remote live":         `:3: unexpected "live": connect conditions with "and" or "or"`,
		"cause a\nclue strong abc\n  if (remote":             `:3: a closing parenthesis is missing`,
		"cause a\nclue strong abc\n  if status ok":           `:3: "ok" must be a number`,
		"cause a\nseen strong status":                        `:2: a number is missing here`,
		"cause a\nfact strong program-mising":                `:2: unknown fact "program-mising"; did you mean "program-missing"?`,
		"cause a\n  if live":                                 `:2: an indented line must follow a "clue" or "instead" line`,
		"word a (b":                                          `:1: error parsing regexp: missing closing )`,
		"cause a\nclue strong abc\n  if line matches `(b`":   `:3: error parsing regexp: missing closing )`,
		"word html x":                                        `:1: "html" is defined twice`,
	} {
		_, err := readCauses(withFile(t, text))
		if want == ":3: " { // a text alone is a condition
			if err != nil {
				t.Errorf("%s\n%v", text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "causes/99-more.cause"+want) {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
	}
}

// The cause in docs/CAUSES.md works as it stands there, with its examples.
func TestTheCauseOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../../docs/CAUSES.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("```(text)?\n").Split(string(page), -1)
	if len(blocks) < 5 {
		t.Fatal("the page has no cause and no examples")
	}
	table, err := newTable(withFile(t, blocks[1]))
	if err != nil {
		t.Fatal(err)
	}
	not := false
	for i, report := range strings.Split(strings.TrimSpace(blocks[3]), "\n\n") {
		heading, rest, _ := strings.Cut(report, "\n")
		if strings.HasSuffix(heading, " port_reserved") {
			not, report = strings.HasPrefix(heading, "not "), rest
		}
		e, err := newExample(report)
		if err != nil {
			t.Fatal(err)
		}
		x := table.exam(e.Case)
		if d := x.decide(x.findings()); (d.Cause == "port_reserved") == not {
			t.Errorf("example %d: %s %q", i+1, d.Cause, d.Reasons)
		}
	}
}

// Words of other packages are the same in the causes.
func TestLoginsAreExplainedAsElsewhere(t *testing.T) {
	text, err := fs.ReadFile(data, "causes/13-auth.cause")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range loginTexts() {
		if !strings.Contains(string(text), " "+want+"\n") {
			t.Errorf("no cause says %q", want)
		}
	}
}

func loginTexts() []string {
	return []string{
		launch.LoginMissing, launch.CredentialMissing, launch.LogIn("gauze login {login|URL}"),
		launch.LogInOrSendKey("gauze login {login|URL}", "gauze run --url {url|URL}"),
	}
}

// Words, conditions and remedies that no cause uses are removed.
func TestEveryNameIsUsed(t *testing.T) {
	var all strings.Builder
	var names []string
	paths, _ := fs.Glob(data, "causes/*.cause")
	for _, path := range paths {
		text, err := data.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if word := strings.Fields(line); len(word) > 2 && (word[0] == "word" || word[0] == "condition") {
				names = append(names, word[1])
				line = strings.Join(word[2:], " ")
			}
			if !strings.HasPrefix(line, "#") {
				all.WriteString(line + "\n")
			}
		}
	}
	names = slices.Concat(names, sortedKeys(conditions()), sortedKeys(kinds()), sortedKeys(wordsInGo()), sortedKeys(remedies()), sortedKeys(observations()))
	for _, name := range names {
		if !regexp.MustCompile(`(?m)(?:^|[ (&])` + regexp.QuoteMeta(name) + `(?:$|[ )])`).MatchString(all.String()) {
			t.Errorf("nothing uses %q: remove it", name)
		}
	}
}
