package upstream

import (
	"strings"
	"testing"
)

func TestWhatTheDoctorSaysIsAdded(t *testing.T) {
	for _, c := range []struct {
		cause Cause
		want  string
	}{
		{Cause{}, "it ended"},
		{Cause{Todo: "look"}, "it ended"},
		{Cause{Why: "X is not set."}, "it ended. X is not set."},
		{Cause{Why: "X is not set.", Todo: "Set X."}, "it ended. X is not set. What to do: Set X."},
	} {
		if got := (&Upstream{}).told("it ended", c.cause); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := (&Upstream{}).told("it ended", Cause{Why: "a\x1b[31m\nb"}); strings.ContainsAny(got, "\x1b\n") {
		t.Errorf("%q", got)
	}
}
