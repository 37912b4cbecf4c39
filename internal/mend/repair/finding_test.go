package repair

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every finding has a row in the table of sentences, every row is used, and no value is left in braces.
func TestSentences(t *testing.T) {
	var code strings.Builder
	for _, name := range []string{"finding.go", "complaint.go", "explain.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	keyword := regexp.MustCompile(`^(?:enum|const|format|pattern|type|other|(?:exclusive)?M(?:in|ax)imum|(?i:min|max|exclusive)\w+|multipleOf|\w+Items|contains)$`)
	for what, s := range sentences() {
		_, isServer := strings.CutPrefix(what, "server, ")
		if !strings.Contains(code.String(), `"`+what+`"`) && !keyword.MatchString(what) && !isServer {
			t.Errorf("%q is not used", what)
		}
		if s.group == "" || s.problem == "" || s.fix == "" || !strings.Contains(code.String(), `= "`+s.group+`"`) {
			t.Errorf("%q: %+v", what, s)
		}
		for _, value := range regexp.MustCompile(`\{\w+\}`).FindAllString(s.problem+s.fix, -1) {
			if !strings.Contains(code.String(), `"`+value+`"`) {
				t.Errorf("%q: nothing has the value %s", what, value)
			}
		}
	}
	for _, found := range regexp.MustCompile(`(?:note\([^,]+, |\twhat = )"([^"]+)"`).FindAllStringSubmatch(code.String(), -1) {
		if _, known := sentences()[found[1]]; !known && found[1] != "server, " {
			t.Errorf("there is no sentence %q", found[1])
		}
	}
}

// Every section of the phrases compiles.
func TestPhrases(t *testing.T) {
	for _, section := range phrases.Sections() {
		section.Lazy().MatchString("x")
	}
}
