package gauze_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/llm"
	"github.com/gauze-mcp/gauze/repair"
)

func TestMiddlewareCorrectsWhatItWouldRefuse(t *testing.T) {
	for _, tool := range []string{"raw", "read", "typed"} { // the call has not run, so it does not matter whether it writes
		model := &oracle{answer: fixed}
		var events []event.Event
		b := newBureau(t, gauze.MiddlewareOptions{Model: model, OnEvent: func(e event.Event) { events = append(events, e) }})
		client := b.connect()
		got, result := b.passed(client, tool, inWords)
		if got != inFives || model.asked.Load() != 1 {
			t.Errorf("%s: ran with %s, asked %d", tool, got, model.asked.Load())
		}
		contains(t, said(result), "The arguments were adjusted: ", `days: "2 + 3" became 5 (corrected by a model)`)
		receipt, _ := json.Marshal(result.Meta["io.github.gauze-mcp/repair"])
		contains(t, string(receipt), `"model":"oracle"`, `"rule":"corrected by a model"`)
		if len(events) != 1 || events[0].Kind != event.Corrected || events[0].Tool != tool || string(events[0].Model.After) != inFives {
			t.Errorf("%s: %v", tool, events)
		}
	}
}

func TestMiddlewareAsksOnlyAboutRefusals(t *testing.T) {
	model := &oracle{answer: fixed}
	b := newBureau(t, gauze.MiddlewareOptions{Model: model})
	client := b.connect()
	b.passed(client, "raw", inFives)
	b.passed(client, "raw", `{"city":"Oslo","days":"5"}`)
	b.unknown(client, "no_such_tool", inWords)
	if model.asked.Load() != 0 {
		t.Errorf("asked %d times", model.asked.Load())
	}
}

// Whatever the model does, the refusal is the same as without it.
func TestMiddlewareRefusesAsWithoutAModel(t *testing.T) {
	b := newBureau(t, gauze.MiddlewareOptions{})
	want := b.refused(b.connect(), "raw", inWords)
	for name, o := range map[string]gauze.MiddlewareOptions{
		"declined": {Model: &oracle{answer: `{"corrected":false,"reason":"only the user knows"}`}},
		"failed":   {Model: &oracle{}},
		"invented": {Model: &oracle{answer: `{"arguments":{"city":"Bergen","days":5}}`}},
		"panicked": {Model: modelFunc(func(context.Context, llm.Question) (llm.Answer, error) { panic("oh no") })},
		"disabled": {Model: &oracle{answer: fixed}, Correct: repair.Policy{Enabled: new(false)}},
		"unused":   {Model: &oracle{answer: fixed}, Correct: repair.Policy{UseModel: new(false)}},
	} {
		b := newBureau(t, o)
		if got := b.refused(b.connect(), "raw", inWords); got != want {
			t.Errorf("%s: got  %s\nwant %s", name, got, want)
		}
	}
}

func TestMiddlewareOffersWhatOnlyTheCallerCanTell(t *testing.T) {
	for _, c := range []struct {
		options gauze.MiddlewareOptions
		sent    string
	}{
		{gauze.MiddlewareOptions{}, `{"city":"Oslo","days":"5 nights"}`},
		{gauze.MiddlewareOptions{Correct: repair.Policy{MaxRetries: new(0)}}, inWords},
		{gauze.MiddlewareOptions{Repair: gauze.RepairOff}, inWords},
	} {
		var events []event.Event
		o := c.options
		o.Model, o.OnEvent = &oracle{answer: fixed}, func(e event.Event) { events = append(events, e) }
		b := newBureau(t, o)
		contains(t, b.refused(b.connect(), "raw", c.sent), "was not run", "A model proposed the call below.", "Call that would pass: "+inFives)
		if len(events) != 1 || events[0].Kind != event.Proposed {
			t.Errorf("%v", events)
		}
	}
}

func TestMiddlewareReportsBothFailures(t *testing.T) {
	b := newBureau(t, gauze.MiddlewareOptions{Model: &oracle{answer: fixed}})
	mcp.AddTool(b.server, &mcp.Tool{Name: "closed"}, func(context.Context, *mcp.CallToolRequest, forecast) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("the office is closed")
	})
	result := b.call(b.connect(), "closed", inWords)
	if !result.IsError {
		t.Fatal(said(result))
	}
	contains(t, said(result), "the office is closed", "The call to `closed` was not run: 1 of 2 arguments must be changed.", `days: "2 + 3" became 5`)
}

// A question takes time. A tool that is replaced meanwhile does not get a call for the old one.
func TestMiddlewareDoesNotSendToAToolThatChanged(t *testing.T) {
	var b *bureau
	b = newBureau(t, gauze.MiddlewareOptions{Model: modelFunc(func(context.Context, llm.Question) (llm.Answer, error) {
		b.addRaw("raw", strings.Replace(weatherSchema, `"days"],`, `"days","units"],`, 1), nil)
		return llm.Answer{JSON: json.RawMessage(fixed)}, nil
	})})
	b.refused(b.connect(), "raw", inWords)
}

func TestMiddlewareRejectsAnInvalidPolicy(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); !strings.HasPrefix(got, `gauze: MiddlewareOptions.Correct: invalid Timeout "-1s"`) {
			t.Error(got)
		}
	}()
	gauze.Middleware(gauze.MiddlewareOptions{Correct: repair.Policy{Timeout: -time.Second}})
}
