package upstream

import (
	"strings"
	"testing"
)

func TestWhatTheDoctorSaysIsAdded(t *testing.T) {
	for _, c := range []struct {
		treated Treated
		want    string
	}{
		{Treated{}, "it ended"},
		{Treated{Todo: "look"}, "it ended"},
		{Treated{Cause: "X is not set."}, "it ended. X is not set."},
		{Treated{Cause: "X is not set.", Todo: "Set X."}, "it ended. X is not set. What to do: Set X."},
	} {
		if got := told("it ended", c.treated); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := told("it ended", Treated{Cause: "a\x1b[31m\nb"}); strings.ContainsAny(got, "\x1b\n") {
		t.Errorf("%q", got)
	}
}
