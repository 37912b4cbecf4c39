package gauze_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/repair"
)

// trip has a date whose form only its handlers know.
type trip struct {
	City string `json:"city"`
	When string `json:"when"`
}

const (
	inProse   = `{"city":"Oslo","when":"5 March 2026"}`
	isoDate   = `{"city":"Oslo","when":"2026-03-05"}`
	fixedDate = `{"arguments":` + isoDate + `,"reason":"the form of the date"}`
)

// addTrip adds a tool whose handler rejects every date but one, and returns what it ran with. Without a
// schema, nothing but the handler says what is valid.
func (b *bureau) addTrip(hints *mcp.ToolAnnotations, schema any, rejection error) *[]string {
	var ran []string
	mcp.AddTool(b.server, &mcp.Tool{Name: "trip", Annotations: hints, InputSchema: schema}, func(_ context.Context, _ *mcp.CallToolRequest, in trip) (*mcp.CallToolResult, any, error) {
		ran = append(ran, in.When)
		if in.When != "2026-03-05" {
			return nil, nil, rejection
		}
		return text("booked"), nil, nil
	})
	return &ran
}

func TestMiddlewareCorrectsWhatAHandlerRejects(t *testing.T) {
	readOnly, anyObject := &mcp.ToolAnnotations{ReadOnlyHint: true}, map[string]any{"type": "object"}
	rejection := errors.New("when must be a date like 2026-12-24")
	for name, c := range map[string]struct {
		hints     *mcp.ToolAnnotations
		schema    any
		rejection error
		sent      bool
	}{
		"marked, and it writes":         {nil, anyObject, repair.ArgumentError(rejection), true},
		"marked, and it reads":          {readOnly, nil, repair.ArgumentError(rejection), true},
		"marked, wrapped, and it reads": {readOnly, nil, fmt.Errorf("trip: %w", repair.ArgumentError(rejection)), true},
		"not marked, and it reads":      {readOnly, nil, fmt.Errorf("ValueError: %w", rejection), true},
		// It may have booked half of the trip.
		"not marked, and it writes": {nil, anyObject, fmt.Errorf("ValueError: %w", rejection), false},
		// The value matches the schema, so a model does not decide about it for a tool that writes.
		"marked, a valid value, and it writes": {nil, nil, repair.ArgumentError(rejection), false},
	} {
		t.Run(name, func(t *testing.T) {
			model := &oracle{answer: fixedDate}
			var events []event.Kind
			b := newBureau(t, gauze.MiddlewareOptions{Model: model, OnEvent: func(e event.Event) { events = append(events, e.Kind) }})
			ran := b.addTrip(c.hints, c.schema, c.rejection)
			result := b.call(b.connect(), "trip", inProse)
			if model.asked.Load() != 1 {
				t.Errorf("asked %d times", model.asked.Load())
			}
			if !c.sent {
				contains(t, said(result), "when must be a date", "A model proposed the call below.", isoDate)
				if !result.IsError || len(*ran) != 1 || len(events) != 1 || events[0] != event.Proposed {
					t.Errorf("ran %q, %v: %s", *ran, events, said(result))
				}
				return
			}
			contains(t, said(result), "booked", "The arguments were adjusted: when")
			if result.IsError || strings.Join(*ran, ", ") != "5 March 2026, 2026-03-05" || len(events) != 1 || events[0] != event.Corrected {
				t.Errorf("ran %q, %v: %s", *ran, events, said(result))
			}
			if receipt := fmt.Sprint(result.Meta["io.github.gauze-mcp/repair"]); !strings.Contains(receipt, "oracle") {
				t.Errorf("no receipt: %s", receipt)
			}
		})
	}
}

// The handler's answer is the same as without a model if nothing comes of the question.
func TestMiddlewarePassesAHandlersRejectionOn(t *testing.T) {
	rejection := repair.ArgumentError(errors.New("when must be a date"))
	b := newBureau(t, gauze.MiddlewareOptions{})
	b.addTrip(nil, nil, rejection)
	want := said(b.call(b.connect(), "trip", inProse))
	contains(t, want, "when must be a date", "The server rejected the call to `trip`")
	for name, o := range map[string]gauze.MiddlewareOptions{
		"declined":     {Model: &oracle{answer: `{"corrected":false}`}},
		"failed":       {Model: &oracle{}},
		"disabled":     {Model: &oracle{answer: fixedDate}, Correct: repair.Policy{Enabled: new(false)}},
		"another kind": {Model: &oracle{answer: fixedDate}, Correct: repair.Policy{CorrectableErrors: []repair.RejectionKind{repair.RejectionTimeout}}},
	} {
		b := newBureau(t, o)
		ran := b.addTrip(nil, nil, rejection)
		if result := b.call(b.connect(), "trip", inProse); said(result) != want || len(*ran) != 1 {
			t.Errorf("%s: ran %q: %s", name, *ran, said(result))
		}
	}
}

// What is not about arguments is not corrected, and nothing is asked.
func TestMiddlewareAsksOnlyAboutArguments(t *testing.T) {
	for _, failure := range []error{errors.New("the office is closed"), errors.New("401 Unauthorized"), errors.New("KeyError: 'when'")} {
		model := &oracle{answer: fixedDate}
		b := newBureau(t, gauze.MiddlewareOptions{Model: model})
		ran := b.addTrip(nil, nil, failure)
		if result := b.call(b.connect(), "trip", inProse); said(result) != failure.Error() || len(*ran) != 1 || model.asked.Load() != 0 {
			t.Errorf("asked %d, ran %q: %s", model.asked.Load(), *ran, said(result))
		}
	}
}

func TestMiddlewareReportsBothFailuresOfAHandler(t *testing.T) {
	b := newBureau(t, gauze.MiddlewareOptions{Model: &oracle{answer: `{"arguments":{"city":"Oslo","when":"2026-03-06"}}`}})
	ran := b.addTrip(&mcp.ToolAnnotations{ReadOnlyHint: true}, nil, repair.ArgumentError(errors.New("when must be a date")))
	result := b.call(b.connect(), "trip", `{"city":"Oslo","when":"6 March 2026"}`)
	if !result.IsError || strings.Join(*ran, ", ") != "6 March 2026, 2026-03-06" {
		t.Fatalf("ran %q: %s", *ran, said(result))
	}
	contains(t, said(result), "The call failed, and so did the call with corrected arguments, so it will not be sent again.", `First failure: "when must be a date"`)
}

// The error of a handler that was not added with the generic AddTool is a protocol error.
func TestMiddlewareOffersInAProtocolError(t *testing.T) {
	b := newBureau(t, gauze.MiddlewareOptions{Model: &oracle{answer: fixed}, Correct: repair.Policy{MaxRetries: new(0)}})
	b.server.AddTool(&mcp.Tool{Name: "plain", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, repair.ArgumentError(errors.New("days must be a number"))
	})
	_, err := b.connect().CallTool(t.Context(), &mcp.CallToolParams{Name: "plain", Arguments: map[string]any{"city": "Oslo", "days": "five"}})
	if err == nil {
		t.Fatal("no error")
	}
	contains(t, err.Error(), "days must be a number", "A model proposed the call below.", inFives)
}

// A handler may pass its call to an Executor. If the corrected call failed there, it may have had an effect,
// whatever the error of the first one says.
func TestMiddlewareDoesNotRepeatWhatAnExecutorSent(t *testing.T) {
	b := newBureau(t, gauze.MiddlewareOptions{Model: &oracle{answer: fixedDate}})
	inner := &repair.Executor{Model: &oracle{answer: fixedDate}}
	booked := 0
	mcp.AddTool(b.server, &mcp.Tool{Name: "trip", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest, _ trip) (*mcp.CallToolResult, any, error) {
		_, err := repair.Execute(ctx, inner, repair.Tool{Name: "book"}, req.Params.Arguments, func(_ context.Context, arguments json.RawMessage) (string, error) {
			if !strings.Contains(string(arguments), "2026-03-05") {
				return "", repair.ArgumentError(errors.New("when must be a date"))
			}
			booked++
			return "", errors.New("booked, but the confirmation could not be printed")
		})
		return nil, nil, err
	})
	if result := b.call(b.connect(), "trip", inProse); !result.IsError || booked != 1 {
		t.Errorf("booked %d times: %s", booked, said(result))
	}
}
