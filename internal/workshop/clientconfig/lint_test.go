package clientconfig

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func showProblem(h Home, p Problem) string {
	fix := "no fix"
	if p.Fix != nil {
		fix = "fix with consent " + p.Consent.String()
	}
	return fmt.Sprintf("%s %s, %s:%d:%d %s: %s\n  %s\n  next: %s; %s\n", p.Severity, p.Code, shortPath(h, p.File), p.Line, p.Column, p.Server, p.What, p.Why, p.Next, fix)
}

// Each file of testdata/lint is named by the code it shows: broken files, what
// is said of them, and what Mend makes of them.
func TestEveryKindOfProblem(t *testing.T) {
	shown := map[Code]bool{}
	for _, a := range archives(t, "testdata/lint/*.txtar") {
		t.Run(a.name(), func(t *testing.T) {
			home := homeOf(a.Archive)
			var configs []*Config
			for _, f := range home.Find() {
				configs = append(configs, home.Read(f))
			}
			var b strings.Builder
			codes := map[Code]bool{}
			tell := func(problems []Problem) {
				for _, p := range problems {
					b.WriteString(showProblem(home, p))
					codes[p.Code], shown[p.Code] = true, true
					if strings.Contains(b.String(), "canary") {
						t.Error("a secret is shown")
					}
				}
			}
			for _, c := range configs {
				tell(c.Lint())
			}
			tell(Across(configs))
			if !slices.ContainsFunc(slices.Collect(mapKeys(codes)), func(c Code) bool { return strings.HasPrefix(a.name(), string(c)) }) {
				t.Errorf("the problem it is named by was not found, but %v", codes)
			}
			a.check(t, "want", b.String())
			for _, c := range configs {
				mended, made := c.Mend(Shown)
				again, more := mended.Mend(Shown)
				if len(more) > 0 || !bytes.Equal(again.Text, mended.Text) {
					t.Errorf("mended twice is not mended once: %v", more)
				}
				for _, p := range made {
					for _, left := range mended.Lint() {
						if left.Code == p.Code && left.Server == p.Server && left.Fix != nil {
							t.Errorf("%s of %s was mended and is still there", p.Code, p.Server)
						}
					}
				}
				if len(made) > 0 {
					a.check(t, "fixed/"+shortPath(home, c.Path), string(mended.Text))
				}
			}
		})
	}
	for _, k := range problems().Kinds {
		if !shown[k.Code] {
			t.Errorf("no golden shows %s", k.Code)
		}
	}
}

func mapKeys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func TestEveryProblemHasARemedy(t *testing.T) {
	for _, k := range problems().Kinds {
		code := k.Code
		if k.Consent == Person && k.Remedy == "" {
			t.Errorf("%s is for a person and has no remedy", code)
		}
		for _, text := range []string{k.Why, k.Remedy} {
			if strings.HasSuffix(text, ".") || text != "" && strings.ToLower(text[:1]) != text[:1] {
				t.Errorf("%s: %q is not a clause", code, text)
			}
		}
		l := linter{c: &Config{File: File{Client: clients()[0]}}}
		if p := l.add(code, nil, nil, "what", ""); k.Consent == Person && p.Next != k.Remedy {
			t.Errorf("%s: without a remedy of its own, a problem says %q", code, p.Next)
		}
		if p := l.add(code, nil, nil, "what", "specific"); p.Next != "specific" {
			t.Errorf("%s: %q", code, p.Next)
		}
	}
}
