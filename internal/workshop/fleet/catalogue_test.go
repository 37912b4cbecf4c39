package fleet

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/fault"
)

// template is a placeholder of package doctor that was not filled in.
var template = regexp.MustCompile(`(?:^|[^$])\{[a-z]+(?:\|[^}]*)?\}`)

func TestEveryEntryHasItsWords(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range Catalogue() {
		if seen[spelling(string(e.Code))] {
			t.Errorf("%s is in the catalogue twice", e.Code)
		}
		seen[spelling(string(e.Code))] = true
		page := e.Explain(false)
		if e.Title == "" || len(e.Do) == 0 || e.Do[0].Text == "" {
			t.Errorf("%s lacks a title or a remedy:\n%s", e.Code, page)
		}
		if template.MatchString(page) {
			t.Errorf("%s shows a template:\n%s", e.Code, page)
		}
	}
	if len(seen) < 250 {
		t.Errorf("only %d entries", len(seen))
	}
}

func TestWhatAnEntryFollowsFromExistsAndDoesNotGoRound(t *testing.T) {
	for _, e := range Catalogue() {
		for _, code := range e.Follows {
			cause, ok := Explain(string(code))
			if !ok {
				t.Errorf("%s follows from %s, which does not exist", e.Code, code)
			}
			if slices.Contains(cause.Follows, e.Code) {
				t.Errorf("%s and %s follow from each other", e.Code, code)
			}
		}
	}
}

func TestACodeIsFoundHoweverItIsSpelt(t *testing.T) {
	for _, code := range []string{"env_not_set", "env-not-set", "ENV_NOT_SET"} {
		if e, ok := Explain(code); !ok || e.Code != "env_not_set" || e.Kind != fault.KindCause {
			t.Errorf("%s: %v, %v", code, e.Code, ok)
		}
	}
	if near := NearestCodes("env_not_sett"); len(near) == 0 || near[0] != "env_not_set" {
		t.Errorf("nearest: %v", near)
	}
}

func TestNearestFindsWhatWasMeant(t *testing.T) {
	for typed, want := range map[string]string{
		"outcome-unkown":    "outcome-unknown",
		"OUTCOME_UNKNOWN":   "outcome-unknown",
		"outcome":           "outcome-unknown",
		"timeout":           "call-timeout",
		"comand-not-found":  "command-not-found",
		"crashloop":         "crash-loop",
		"server-unavaiable": "server-unavailable",
		"quarantined":       "call-quarantined",
	} {
		if got := NearestCodes(typed); len(got) == 0 || len(got) > 3 || !slices.Contains(got, want) {
			t.Errorf("%s: %q, want %s among at most three", typed, got, want)
		}
	}
	if got := NearestCodes("outcome-unkown"); got[0] != "outcome-unknown" {
		t.Errorf("the nearest comes first, got %q", got)
	}
	for _, typed := range []string{"", "x", "zzzzzzzzzzzz", strings.Repeat("a", 1<<20)} {
		if got := NearestCodes(typed); len(got) != 0 {
			t.Errorf("%.20q is near nothing, got %q", typed, got)
		}
	}
}
