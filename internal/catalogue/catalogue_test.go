package catalogue

import (
	"regexp"
	"slices"
	"testing"

	"github.com/gauze-mcp/gauze/internal/fault"
)

// template is a placeholder of package doctor that was not filled in.
var template = regexp.MustCompile(`(?:^|[^$])\{[a-z]+(?:\|[^}]*)?\}`)

func TestEveryEntryHasItsWords(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range All() {
		if seen[plain(string(e.Code))] {
			t.Errorf("%s is in the catalogue twice", e.Code)
		}
		seen[plain(string(e.Code))] = true
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
	for _, e := range All() {
		for _, code := range e.Follows {
			cause, ok := Lookup(string(code))
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
		if e, ok := Lookup(code); !ok || e.Code != "env_not_set" || e.Kind != fault.KindCause {
			t.Errorf("%s: %v, %v", code, e.Code, ok)
		}
	}
	if near := Nearest("env_not_sett"); len(near) == 0 || near[0] != "env_not_set" {
		t.Errorf("nearest: %v", near)
	}
}
