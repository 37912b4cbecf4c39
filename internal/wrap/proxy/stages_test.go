package proxy

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/llm"
)

// A stage that is made is also asked.
func TestEveryStageHasItsPlace(t *testing.T) {
	o := Options{
		Spec: launch.Spec{Command: "none"}, Tracer: nowhere{}, Calls: nobody{},
		Models: func(string, Sampler) llm.Model { return nil }, Known: Known{Accepted: memory{}, Lock: LockBlock},
	}.withDefaults()
	w := &words{}
	w.learn(o.Spec)
	s := newStages(&o, "none", w)
	order := s.inOrder()
	made := reflect.ValueOf(s).Elem()
	for i := range made.NumField() {
		name := made.Type().Field(i).Name
		if made.Field(i).IsNil() {
			t.Errorf("%s is not made", name)
			continue
		}
		found := slices.ContainsFunc(order, func(one kernel.Stage) bool { return reflect.ValueOf(one).Pointer() == made.Field(i).Pointer() })
		if !found {
			t.Errorf("%s is not in inOrder", name)
		}
	}
	if len(order) != made.NumField() {
		t.Errorf("%d stages in order, %d made", len(order), made.NumField())
	}
}

type nowhere struct{}

func (nowhere) Begin(TracedCall) Trace { return nil }

type nobody struct{}

func (nobody) Suspects(launch.Spec, upstream.FailedCall) bool { return false }
func (nobody) Examine(context.Context, launch.Spec, upstream.FailedCall) (why fault.Cause) {
	return why
}
func (nobody) Ailing(launch.Spec) string     { return "" }
func (nobody) Succeeded(launch.Spec, string) {}
