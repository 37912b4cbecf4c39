package gauze

import (
	"bytes"
	"encoding/json"
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

	"github.com/gauze-mcp/gauze/internal/correct"
	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/health"
	"github.com/gauze-mcp/gauze/internal/repair"
	"github.com/gauze-mcp/gauze/internal/upstream"
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
		{".", "EventKind"}:       constants(t, "internal/event", "Kind"),
		{".", "Code"}:            constants(t, "internal/fault", "Code"),
		{".", "Advice"}:          constants(t, "internal/fault", "Advice"),
		{".", "Delivery"}:        numbered("internal/fault", "Delivery", func(i int) string { return fault.Delivery(i).String() }),
		{".", "State"}:           numbered("internal/health", "State", func(i int) string { return health.State(i).String() }),
		{"repair", "Outcome"}:    numbered("internal/repair", "Verdict", func(i int) string { return repair.Verdict(i).String() }),
		{"doctor", "Category"}:   constants(t, "internal/doctor", "Category"),
		{"doctor", "Stage"}:      numbered("internal/upstream", "Stage", func(i int) string { return upstream.Stage(i).String() }),
		{"doctor", "State"}:      constants(t, "internal/fleet", "State"),
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

// fill sets every field of a struct to a value that is not zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case time.Time:
			f.Set(reflect.ValueOf(time.Date(2026, 11, 15, 12, 0, i, 0, time.UTC)))
		case string:
			f.SetString(fmt.Sprint("value", i))
		default:
			switch {
			case f.Kind() == reflect.Struct:
				fill(t, f)
			case f.Kind() == reflect.Pointer:
				f.Set(reflect.New(f.Type().Elem()))
				fill(t, f.Elem())
			case f.Type() == reflect.TypeFor[json.RawMessage]():
				f.SetBytes([]byte(`{}`))
			case f.CanFloat():
				f.SetFloat(float64(i + 1))
			case f.Type() == reflect.TypeFor[[]string]():
				f.Set(reflect.ValueOf([]string{"value"}))
			case f.Type() == reflect.TypeFor[[]event.Change]():
				f.Set(reflect.ValueOf([]event.Change{{Path: "a", Rule: "b", Reason: "c", Before: "d", After: "e"}}))
			case f.Kind() == reflect.String:
				f.SetString(fmt.Sprint("value", i))
			case f.CanInt():
				f.SetInt(int64(i + 1))
			case f.CanUint():
				f.SetUint(uint64(i + 1))
			default:
				t.Fatalf("fill does not know the type of %s", v.Type().Field(i).Name)
			}
		}
	}
}

// wantAll checks that a public struct has as many fields as its internal one, all of them set.
func wantAll(t *testing.T, public, internal any) {
	t.Helper()
	got := reflect.ValueOf(public)
	for i := range got.NumField() {
		if got.Field(i).IsZero() {
			t.Errorf("%s.%s is not set", got.Type(), got.Type().Field(i).Name)
		}
	}
	if n, want := got.NumField(), reflect.TypeOf(internal).NumField(); n != want {
		t.Errorf("%s has %d fields, %T has %d", got.Type(), n, internal, want)
	}
}

func TestNoFieldIsLostInConversion(t *testing.T) {
	var e event.Event
	fill(t, reflect.ValueOf(&e).Elem())
	wantAll(t, publicEvent(e), e)
	wantAll(t, *publicEvent(e).Model, *e.Model)
	if back := internalEvent(publicEvent(e)); !reflect.DeepEqual(back, e) {
		t.Errorf("got  %+v\nwant %+v", back, e)
	}
	var h health.Snapshot
	fill(t, reflect.ValueOf(&h).Elem())
	h.State = health.Degraded
	wantAll(t, publicHealth(h), h)
}

// Every field of a policy arrives, and every kind of failure that a policy accepts has a constant.
func TestNoFieldOfACorrectionPolicyIsLost(t *testing.T) {
	var kinds []RejectionKind
	for _, kind := range constants(t, ".", "RejectionKind") {
		kinds = append(kinds, RejectionKind(kind))
	}
	p := CorrectionPolicy{
		Enabled: new(false), MaxRetries: new(0), UseModel: new(false), Timeout: time.Second, CorrectableErrors: kinds, Open: new(false),
	}
	policy, err := p.internal()
	if err != nil || !policy.Off || !policy.OfferOnly || !policy.NoModel || policy.Timeout != time.Second || len(policy.Correctable) != len(kinds) || !policy.Closed {
		t.Errorf("%+v, %v", policy, err)
	}
	if n := reflect.TypeOf(p).NumField(); n != len(correct.Keys()) {
		t.Errorf("CorrectionPolicy has %d fields, and a policy %d keys", n, len(correct.Keys()))
	}
	for _, kind := range correct.Kinds() {
		_, err := CorrectionPolicy{CorrectableErrors: []RejectionKind{RejectionKind(kind)}}.internal()
		if public := slices.Contains(kinds, RejectionKind(kind)); public != (err == nil) {
			t.Errorf("%s: public %v, %v", kind, public, err)
		}
	}
	// What a tool sets overrides what applies to all tools, also with a default.
	all, _ := CorrectionPolicy{Enabled: new(false), Timeout: time.Second}.internal()
	own, _ := CorrectionPolicy{Enabled: new(true)}.internal()
	if got := own.Over(all); got.Off || got.Timeout != time.Second {
		t.Errorf("%+v", got)
	}
}

func TestNoFieldOfAFaultIsLostOnTheWire(t *testing.T) {
	at := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	internal := &fault.Fault{
		Code: fault.ServerExitsEarly, Delivery: fault.Unsent, Safe: true, Server: "s", Name: "s", Method: "tools/call", Tool: "t", Detail: "d",
		At: at, Since: at, NextTry: at, State: "dead", Closures: 2, Recoveries: 1, Attempts: 1, Waited: time.Second, Limit: time.Second, Report: []byte(`{"type":"x"}`),
		Cause:    fault.Cause{Code: "c", Explanation: "E.", Remedy: "R.", Changes: []string{"x"}},
		Evidence: &fault.Evidence{Exit: "exit status 1", Ran: time.Second, Stderr: []string{"e"}, Stdout: []string{"o"}},
	}
	var rpc struct{ Data json.RawMessage }
	if err := json.Unmarshal(internal.RPCError(), &rpc); err != nil {
		t.Fatal(err)
	}
	strict := json.NewDecoder(bytes.NewReader(rpc.Data))
	strict.DisallowUnknownFields()
	if err := strict.Decode(new(wireFault)); err != nil {
		t.Errorf("wireFault lacks a field: %v", err)
	}
	f := decodeFault(rpc.Data)
	for v := reflect.ValueOf(*f); v.IsValid(); {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%s.%s is not set", v.Type(), v.Type().Field(i).Name)
			}
		}
		if v.Type() == reflect.TypeFor[Evidence]() {
			break
		}
		v = reflect.ValueOf(*f.Evidence)
	}
}

func TestOnlyWhatGauzeSaysIsAFault(t *testing.T) {
	for _, data := range []string{``, `null`, `5`, `{}`, `{"code":"outcome-unknown"}`, `{"source":"server","code":"outcome-unknown"}`, `{"source":"gauze"}`} {
		if f := decodeFault([]byte(data)); f != nil {
			t.Errorf("%s: %v", data, f)
		}
	}
}

func TestAnErrorWithAFaultKeepsItsTextAndItsChain(t *testing.T) {
	reason := errors.New("reason")
	err := withFault(fmt.Errorf("%w: %w", &fault.Fault{Code: fault.CommandNotFound, Name: "notes"}, reason))
	var f *Fault
	if !errors.As(err, &f) || f.Code != CodeCommandNotFound || f.Server != "notes" || !errors.Is(err, reason) {
		t.Errorf("%v: %+v", err, f)
	}
	if plain := withFault(reason); plain != reason {
		t.Errorf("%v", plain)
	}
	if withFault(nil) != nil {
		t.Error("an error was made out of nil")
	}
}
