package regex

import "testing"

func TestTable(t *testing.T) {
	table := NewTable("# a comment\n[plain]\none\ntw[o0]\n\n[wrapped] ^(?:%)$\n[a-z]+\n# another\n\\d+\n[noted] a note\nx\n")
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"plain", "there is ONE", true}, {"plain", "tw0", true}, {"plain", "three", false},
		{"wrapped", "abc", true}, {"wrapped", "12", true}, {"wrapped", "ab 12", false},
		{"noted", "x", true}, {"noted", "a note", false},
	} {
		if got := table.Of(c.name).MatchString(c.text); got != c.want {
			t.Errorf("%s: %q: %v", c.name, c.text, got)
		}
	}
	if sections := table.Sections(); len(sections) != 3 || sections[2].Head != "a note" {
		t.Errorf("%d sections", len(sections))
	}
}
