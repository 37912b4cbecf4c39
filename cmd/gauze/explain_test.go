package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

func explain(args ...string) (string, error) {
	cmd := explainCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.Execute()
	return out.String(), err
}

func TestExplainWithoutACodeListsThemAll(t *testing.T) {
	out, err := explain()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range fleet.Catalogue() {
		if !strings.Contains(out, "  "+string(e.Code)+"\n"+plaintext.Wrap(e.Title, "      ")) {
			t.Errorf("%s is not listed", e.Code)
		}
	}
}

func TestExplainSaysAllThereIsToACode(t *testing.T) {
	flat := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for _, e := range fault.All() {
		out, err := explain(string(e.Code))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{e.Means, e.Why, e.Did, e.Do[0].Text} {
			if !strings.Contains(flat(out), flat(part)) {
				t.Errorf("%s does not say %q:\n%s", e.Code, part, out)
			}
		}
		if want := "\n\n  On the web\n    https://gauze-mcp.github.io/gauze/explain.html#" + string(e.Code) + "\n"; !strings.HasSuffix(out, want) {
			t.Errorf("%s does not end with its address:\n%s", e.Code, out)
		}
		if strings.Contains(out, "\x1b") {
			t.Errorf("%s: colour in a file", e.Code)
		}
	}
}

func TestExplainOfAnUnknownCodeNamesTheNearest(t *testing.T) {
	for typed, want := range map[string]string{
		"outcome-unkown": `unknown code "outcome-unkown"; did you mean outcome-unknown?`,
		"zzzzzz":         "unknown code \"zzzzzz\"; `gauze explain` lists all codes",
		"x\x1b[31m":      "unknown code \"x\"; `gauze explain` lists all codes",
	} {
		if out, err := explain(typed); err == nil || err.Error() != want || out != "" {
			t.Errorf("%q: %v, %q", typed, err, out)
		}
	}
	if _, err := explain("a", "b"); err == nil {
		t.Error("two codes at once are too many")
	}
}
