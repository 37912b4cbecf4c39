// Package voice contains only tests: how everything that users and contributors read is worded. It has a
// package of its own because the race detector, with which others are tested, makes it slow.
package voice

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A phrase is wording that the voice of this module avoids.
type phrase struct {
	pattern *regexp.Regexp
	instead string // instead suggests the usual wording.
	planted string // planted is a sentence in which the test must find the phrase.
}

// phrases lists the wording to avoid. A correct use goes into allowed.
var phrases = []phrase{
	avoid(`(is|are|was|were|be) no [a-z]+`, "is not a ...", "this address is no MCP server"),
	avoid(`nobody|somebody|whoever|no-one`, "the user, the client, the server, gauze", "nobody can tell whether it ran"),
	avoid(`at once|for good|for ever|anew|in vain|all the same`, "immediately, permanently, again, still", "the server is stopped for good here"),
	avoid(`(hold|holds|held) .{0,40}\bagainst`, "validates against, compares with", "it holds the arguments against the schema"),
	avoid(`(look|looks|looked|looking|see|sees|saw|seeing) whether`, "checks whether", "gauze looks whether it runs"),
	avoid(`(take|takes|taken|took) (it |them |that |a change )?back|the way back`, "undoes, reverts", "gauze undo takes the change back, or takes it back"),
	avoid(`(a|the|general|needs) yes|yeses|deeds?|last words`, "confirmation, action, last output", "this change needs a yes first"),
	avoid(`a word (behind|more|too many)|without a word`, "note; without a message", "it was repaired without a word"),
	avoid(`(stands?|lies|lie) (in|at|behind|there|twice|under|on|before|beside|still)`, "is in", "the binary lies in a folder"),
	avoid(`behind (it|them|two|each|every|the (result|call|end|name|package|closing|first|last))`, "after", "a note behind the result"),
	avoid(`signs? of life`, "response, liveness probe", "the server gave no sign of life"),
	avoid(`(is|are|was|were|gets) told (as|so|that|with|in|of|by|apart)`, "is reported", "every change is told as it happens"),
	avoid(`(hangs?|hung|hanging) up`, "closes the connection", "the server hangs up without a reply"),
	avoid(`otherwise than|another one|as it is to`, "differently, a different one", "the tool is another one since then"),
	avoid(`(makes?|is|are) known here|none of ours`, "is known, not from gauze", "what this package makes known here"),
	avoid(`lets (it|them|him) not|does not let|may not be (done|run|sent)`, "does not allow", "the database lets it not do this"),
	avoid(`says? goodbye|is made out to|went no further`, "exits, is issued for, stopped", "the certificate is made out to another name"),
	avoid(`allowed are`, "must be", "-era \"old\": allowed are legacy and modern"),
	avoid(`whosever|in good order`, "any; normally", "the stream ends in good order"),
	{regexp.MustCompile(`(?i): want\b`), "must be", "the flag --limit is 0: want 1 to 100"},
	{regexp.MustCompile(`(?i), too([.;:),]|$)`), "also", "the client reads the other file, too."},
	{regexp.MustCompile(`(?i)(^|[.:;(] ?)who (does|do|makes?|sends?|comes?|asks?|wants?|names?|agrees?|reads?|gets?|calls?|has|is)\b`), "the client, the user", "Who asks for it gets the list"},
}

// spoken lists the wording to avoid in messages. Comments and Markdown may use it.
var spoken = []phrase{
	avoid(`(sends|sent|lists|listed|supports|wrote|writes|gives|gave|starts|started|returns|returned|receives|received) (no|none of|nothing)`, "does not list any ...", "the server lists no tools at all"),
	avoid(`in this gauze|this gauze (was|is|has|can|cannot|does)`, "this copy, build or version of gauze", "the key in this gauze is not valid"),
	avoid(`decides? about`, "decide what to do about", "the user decides about the call"),
	avoid(`(a|an|the) [a-z]+ that exists is`, "an existing ...", "A login that exists is replaced"),
	avoid(`(a|the) (call|tool)s? that only reads?`, "a read-only call", "a call that only reads is sent again"),
	avoid(`confirming requires`, "confirmation requires", "not changed: confirming requires a terminal"),
	avoid(`whichever (client|server|process|user)`, "no matter which", "it is used whichever client started it"),
	avoid(`that gauze knows`, "that gauze checks", "it is in none of the files that gauze knows"),
	avoid(`(is|are|was|were) beside (it|gauze|the)`, "next to", "the program is beside gauze on the disk"),
	{regexp.MustCompile(`(?i), from (--[a-z-]+|%s), is not set`), "invalid --flag: the environment variable ... is not set", "the variable TOKEN, from --token-env, is not set"},
	{regexp.MustCompile(`(?i)^(missing|unexpected) [^:;]*, as in`), "; for example:", "missing NAME and server, as in gauze add notes"},
	{regexp.MustCompile(`(?i)\b(one more attempt|this|it) will show$`), "will show whether ...", "the server worked earlier: one more attempt will show"},
	{regexp.MustCompile(`(?i)\b(was|were) (sent|called|started) before$`), "already", "the message initialize was sent before"},
	{regexp.MustCompile(`-1ns`), "negative", "the time to wait (-1ns: never)"},
}

// anyPhrase matches where one of phrases or spoken does: most texts have none, and one pattern tells so sooner
// than each of them.
var anyPhrase = func() *regexp.Regexp {
	var words, others []string
	for _, p := range slices.Concat(phrases, spoken) {
		pattern := strings.TrimPrefix(p.pattern.String(), "(?i)")
		if inner, whole := strings.CutPrefix(pattern, `\b`); whole {
			words = append(words, strings.TrimSuffix(inner, `\b`))
		} else {
			others = append(others, pattern)
		}
	}
	return regexp.MustCompile(`(?i)\b(` + strings.Join(words, "|") + `)\b|` + strings.Join(others, "|"))
}()

// idiomatic matches the phrases that are good English in spite of a pattern.
var idiomatic = regexp.MustCompile(`(?i)\bno (longer|more|need|way|effect|matter|such)\b`)

// allowed lists the correct uses of a phrase.
var allowed = []struct{ file, phrase, reason string }{}

// unfinished lists the packages and Markdown files that are still to be rewritten. Their phrases
// are counted and do not fail the test. Remove an entry as soon as it is clean.
var unfinished = []string{}

func TestVoice(t *testing.T) {
	texts := moduleTexts(t)
	used := map[int]bool{}
	for _, room := range slices.Sorted(maps.Keys(texts)) {
		t.Run(room, func(t *testing.T) {
			var hits []string
			for _, text := range texts[room] {
				for found, instead := range text.phrases() {
					if i := allowance(text.file, found); i >= 0 {
						used[i] = true
						continue
					}
					hits = append(hits, fmt.Sprintf("%s:%d: %q: write %s", text.file, text.line, found, instead))
				}
			}
			switch waiting := slices.Contains(unfinished, room); {
			case waiting && len(hits) == 0:
				t.Errorf("%s is clean: remove it from unfinished", room)
			case waiting:
				t.Skipf("%s is unfinished: %d phrases to rewrite", room, len(hits))
			case len(hits) > 0:
				t.Error("phrases to avoid:\n" + strings.Join(hits, "\n"))
			}
		})
	}
	for _, room := range unfinished {
		if texts[room] == nil {
			t.Errorf("unfinished lists %s, which does not exist", room)
		}
	}
	for i, entry := range allowed {
		if !used[i] {
			t.Errorf("allowed lists %q in %s, which does not occur: remove it", entry.phrase, entry.file)
		}
	}
}

func TestVoiceFindsPlantedPhrases(t *testing.T) {
	for i, p := range slices.Concat(phrases, spoken) {
		head, tail := splitInside(p)
		places := map[string][]prose{
			"string":        goTexts(t, "x.go", fmt.Sprintf("package x\n\nvar _ = %q\n", p.planted)),
			"joined string": goTexts(t, "x.go", fmt.Sprintf("package x\n\nvar _ = %q +\n%q\n", head+" ", tail)),
		}
		if i < len(phrases) {
			places["Markdown"] = markdownTexts("x.md", "# Title\n\n"+p.planted+"\n")
			places["comment"] = goTexts(t, "x.go", fmt.Sprintf("package x\n\n// %s\nvar _ = 1\n", p.planted))
			places["wrapped comment"] = goTexts(t, "x.go", fmt.Sprintf("package x\n\n// %s\n// %s\nvar _ = 1\n", head, tail))
		}
		for where, texts := range places {
			found := false
			for _, text := range texts {
				for hit := range text.phrases() {
					found = found || p.pattern.MatchString(hit)
				}
			}
			if !found {
				t.Errorf("%q was not found in a %s", p.planted, where)
			}
		}
	}
}

func TestVoiceLeavesGoodEnglishAlone(t *testing.T) {
	for _, sentence := range []string{
		"the server is no longer running",
		"there is no need to restart it",
		"the client closed the connection too early",
		"the proxy in front of the server",
		"is no X", // Fewer than four words.
		"this gauze binary is in a temporary directory",
		"the file does not list any tools",
	} {
		for hit := range (prose{words: sentence}).phrases() {
			t.Errorf("%q was found in %q", hit, sentence)
		}
	}
}

// splitInside splits the planted sentence at a space, inside the phrase if it has one.
func splitInside(p phrase) (head, tail string) {
	at := p.pattern.FindStringIndex(p.planted)
	if at == nil {
		return p.planted, ""
	}
	half := strings.LastIndex(p.planted[:at[1]-1], " ")
	if half < 0 {
		half = strings.Index(p.planted, " ")
	}
	return p.planted[:half], p.planted[half+1:]
}

// avoid returns a phrase whose pattern matches whole words.
func avoid(pattern, instead, planted string) phrase {
	return phrase{regexp.MustCompile(`(?i)\b(` + pattern + `)\b`), instead, planted}
}

// allowance returns the index of the entry of allowed for a phrase in a file, or -1.
func allowance(file, found string) int {
	for i, entry := range allowed {
		if entry.file == file && strings.EqualFold(entry.phrase, found) {
			return i
		}
	}
	return -1
}

// A prose is a text that people read: a string literal, a comment or a Markdown paragraph.
type prose struct {
	file    string
	line    int
	words   string
	comment bool // comment means that it is not a message.
}

// phrases returns each phrase to avoid in a text of four words or more, and what to write instead.
func (p prose) phrases() map[string]string {
	found := map[string]string{}
	words := strings.Fields(p.words)
	if len(words) < 4 {
		return found
	}
	text := strings.Join(words, " ")
	if !anyPhrase.MatchString(text) {
		return found
	}
	all := phrases
	if !p.comment {
		all = slices.Concat(phrases, spoken)
	}
	for _, avoided := range all {
		for _, hit := range avoided.pattern.FindAllString(text, -1) {
			if !idiomatic.MatchString(hit) {
				found[hit] = avoided.instead
			}
		}
	}
	return found
}

// moduleTexts returns the texts of the module by package. A Markdown file counts as a package.
func moduleTexts(t *testing.T) map[string][]prose {
	t.Helper()
	t.Chdir("../../..")
	found := map[string][]prose{}
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && name != "." {
				return fs.SkipDir
			}
			return nil
		}
		file := filepath.ToSlash(name)
		isGo := strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go")
		isCause := strings.HasSuffix(file, ".cause")
		isData := strings.HasSuffix(file, ".txt")
		if !isGo && !isCause && !isData && !strings.HasSuffix(file, ".md") {
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if isGo {
			found[path.Dir(file)] = append(found[path.Dir(file)], goTexts(t, file, string(source))...)
		} else if isCause {
			found[file] = causeTexts(file, string(source))
		} else if isData {
			found[file] = lineTexts(file, string(source))
		} else {
			found[file] = markdownTexts(file, string(source))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// lineTexts returns the lines of a data file.
func lineTexts(name, source string) (found []prose) {
	for i, text := range strings.Split(source, "\n") {
		found = append(found, prose{file: name, line: i + 1, words: text, comment: strings.HasPrefix(strings.TrimSpace(text), "#")})
	}
	return found
}

// causeTexts returns what the causes of a file say, and its comments. Patterns are the words of others.
func causeTexts(name, source string) (found []prose) {
	line := 0
	for text := range strings.Lines(source) {
		line++
		key, words, _ := strings.Cut(strings.TrimSpace(text), " ")
		if slices.Contains([]string{"#", "explain", "fix"}, key) {
			found = append(found, prose{file: name, line: line, words: words, comment: key == "#"})
		}
	}
	return found
}

// goTexts returns the string literals and comments of a Go file. Literals joined by + are also
// returned as one text.
func goTexts(t *testing.T, name, source string) (found []prose) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	add := func(pos token.Pos, words string, comment bool) {
		found = append(found, prose{name, files.Position(pos).Line, words, comment})
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case ast.Expr:
			if words, ok := constantString(n); ok {
				add(n.Pos(), words, false)
			}
		}
		return true
	})
	for _, group := range file.Comments {
		add(group.Pos(), group.Text(), true)
	}
	return found
}

// constantString returns the value of a string literal, or of literals joined by +.
func constantString(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			words, err := strconv.Unquote(e.Value)
			return words, err == nil
		}
	case *ast.BinaryExpr:
		left, leftOK := constantString(e.X)
		right, rightOK := constantString(e.Y)
		return left + right, e.Op == token.ADD && leftOK && rightOK
	}
	return "", false
}

// markdownTexts returns the paragraphs of a Markdown file, except those that begin with a code
// fence.
func markdownTexts(name, source string) (found []prose) {
	line := 1
	for paragraph := range strings.SplitSeq(source, "\n\n") {
		if !strings.HasPrefix(strings.TrimSpace(paragraph), "```") {
			found = append(found, prose{file: name, line: line, words: paragraph, comment: true})
		}
		line += strings.Count(paragraph, "\n") + 2
	}
	return found
}
