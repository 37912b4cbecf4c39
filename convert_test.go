package gauze

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/correct"
	gate "github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/repair"
)

// Every value that an internal package can report has a public constant, and every public constant
// a value that can be reported.
func TestEveryInternalConstantHasAPublicOne(t *testing.T) {
	numbered := func(dir, kind string, name func(int) string) (values []string) {
		for i := range constants(t, dir, kind) {
			values = append(values, name(i))
		}
		return values
	}
	type public struct{ dir, kind string }
	for public, want := range map[public][]string{
		{"repair", "Outcome"}:    numbered("internal/mend/repair", "Verdict", func(i int) string { return gate.Verdict(i).String() }),
		{"doctor", "Category"}:   constants(t, "internal/workshop/doctor", "Category"),
		{"doctor", "Stage"}:      numbered("internal/wrap/upstream/life", "Stage", func(i int) string { return upstream.Stage(i).String() }),
		{"doctor", "State"}:      constants(t, "internal/workshop/fleet", "State"),
		{"doctor", "StepResult"}: {doctor.Healed, doctor.Helped, doctor.Undone},
	} {
		got := constants(t, public.dir, public.kind)
		if len(want) < 3 {
			t.Errorf("%s: only %d internal constants found", public.kind, len(want))
		}
		for _, value := range want {
			if !slices.Contains(got, value) {
				t.Errorf("add to %s: a constant of type %s with the value %q", public.dir, public.kind, value)
			}
		}
		for _, value := range got {
			if !slices.Contains(want, value) {
				t.Errorf("remove from %s: the constant of type %s with the value %q, which is never reported", public.dir, public.kind, value)
			}
		}
	}
}

// constants returns the values of the constants of a type that a package declares, or their names if
// they are numbers.
func constants(t *testing.T, dir, kind string) (values []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			current := ""
			for _, spec := range group.Specs {
				s := spec.(*ast.ValueSpec)
				if s.Type != nil || len(s.Values) > 0 {
					current = fmt.Sprint(s.Type)
				}
				if current != kind {
					continue
				}
				value := s.Names[0].Name
				if len(s.Values) == 1 {
					if literal, ok := s.Values[0].(*ast.BasicLit); ok {
						value, _ = strconv.Unquote(literal.Value)
					}
				}
				values = append(values, value)
			}
		}
	}
	return values
}

// Every field of a policy arrives, and every kind of failure that a policy accepts has a constant.
func TestNoFieldOfACorrectionPolicyIsLost(t *testing.T) {
	var kinds []repair.RejectionKind
	for _, kind := range constants(t, "repair", "RejectionKind") {
		kinds = append(kinds, repair.RejectionKind(kind))
	}
	p := repair.Policy{
		Enabled: new(false), MaxRetries: new(0), UseModel: new(false), Timeout: time.Second, CorrectableErrors: kinds, Open: new(false),
	}
	policy, err := correction(p)
	if err != nil || !policy.Off || !policy.OfferOnly || !policy.NoModel || policy.Timeout != time.Second || len(policy.Correctable) != len(kinds) || !policy.Closed {
		t.Errorf("%+v, %v", policy, err)
	}
	if n := reflect.TypeOf(p).NumField(); n != len(correct.Keys()) {
		t.Errorf("repair.Policy has %d fields, and a policy %d keys", n, len(correct.Keys()))
	}
	for _, kind := range correct.Kinds() {
		_, err := correction(repair.Policy{CorrectableErrors: []repair.RejectionKind{repair.RejectionKind(kind)}})
		if known := slices.Contains(kinds, repair.RejectionKind(kind)); known != (err == nil) {
			t.Errorf("%s: public %v, %v", kind, known, err)
		}
	}
	// What a tool sets overrides what applies to all tools, also with a default.
	all, _ := correction(repair.Policy{Enabled: new(false), Timeout: time.Second})
	own, _ := correction(repair.Policy{Enabled: new(true)})
	if got := own.Over(all); got.Off || got.Timeout != time.Second {
		t.Errorf("%+v", got)
	}
}

func TestAnErrorWithAFaultKeepsItsTextAndItsChain(t *testing.T) {
	reason := errors.New("reason")
	err := withFault(fmt.Errorf("%w: %w", &fault.Fault{Code: fault.CommandNotFound, Name: "notes"}, reason))
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != fault.CommandNotFound || f.Server != "notes" || !errors.Is(err, reason) {
		t.Errorf("%v: %+v", err, f)
	}
	if plain := withFault(reason); plain != reason {
		t.Errorf("%v", plain)
	}
	if withFault(nil) != nil {
		t.Error("an error was made out of nil")
	}
}

// Nothing of a policy stays the caller's.
func TestOwnedPolicies(t *testing.T) {
	retries, kinds := 1, []repair.RejectionKind{"a"}
	given := repair.Policy{MaxRetries: &retries, CorrectableErrors: kinds}
	o := Options{Correct: given, Tools: map[string]Policy{"echo": {Correct: &given}}}.owned()
	retries, kinds[0] = 7, "b"
	for name, p := range map[string]repair.Policy{"Correct": o.Correct, "Tools": *o.Tools["echo"].Correct} {
		if *p.MaxRetries != 1 || p.CorrectableErrors[0] != "a" {
			t.Errorf("%s: %d %q", name, *p.MaxRetries, p.CorrectableErrors)
		}
	}
}
