package wire

import "testing"

func TestSameID(t *testing.T) {
	for _, story := range []struct {
		sent, back string
		want       bool
	}{
		{`5`, `5`, true},
		{`5`, `"5"`, true},
		{`5`, `5.0`, true},
		{`5`, `"5.0"`, true},
		{`"init"`, `"init"`, true},
		{`5`, `"6"`, false},
		{`5`, `5.5`, false},
		{`5`, `05`, false},
		{`5`, `null`, false},
		{`5`, ``, false},
		{`""`, `""`, true},
	} {
		if got := SameID([]byte(story.sent), []byte(story.back)); got != story.want {
			t.Errorf("%s sent back as %s: %v", story.sent, story.back, got)
		}
	}
}
