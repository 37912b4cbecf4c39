package gauze_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/llm"
	"github.com/gauze-mcp/gauze/repair"
)

var setWeather = repair.Tool{Name: "set_weather", Schema: json.RawMessage(weatherSchema), Idempotent: true}

// An error that may be over soon is worth a second attempt, as it came and without a model, if the tool
// only reads.
func TestExecuteRepeatsATransientError(t *testing.T) {
	for name, failure := range map[string]error{
		"a deadline of its own":       fmt.Errorf("ask the index: %w", context.DeadlineExceeded),
		"TimeoutError":                errors.New("TimeoutError: the index did not reply"),
		"ConnectionError":             errors.New("ConnectionError: lost"),
		"a refused connection":        &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		"a broken pipe":               syscall.EPIPE,
		"the end of the stream":       io.ErrUnexpectedEOF,
		"a closed connection":         errors.New("connection closed"),
		"a reset connection":          fmt.Errorf("read: %w", syscall.ECONNRESET),
		"a name server that is down":  &net.DNSError{Name: "api.example", Err: "server misbehaving", IsTemporary: true},
		"-32000":                      &jsonrpc.Error{Code: -32000, Message: "Connection closed"},
		"LLMError":                    errors.New("LLMError: the completion failed"),
		"an overloaded model":         fmt.Errorf("summarize: %w", &llm.Error{Kind: llm.Overloaded, Model: "m"}),
		"a model that did not answer": &llm.Error{Kind: llm.TimedOut, Model: "m"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model, dispatch := &oracle{answer: fixed}, &stub{failures: []error{failure}}
				var events []event.Event
				executor := repair.Executor{Model: model, OnEvent: func(e event.Event) { events = append(events, e) }}
				began := time.Now()
				result, err := repair.Execute(t.Context(), &executor, readWeather, json.RawMessage(inFives), dispatch.run)
				if err != nil || result != "sunny" || !slices.Equal(dispatch.got, []string{inFives, inFives}) || model.asked.Load() != 0 {
					t.Errorf("%q, %v, dispatched %q, asked %d", result, err, dispatch.got, model.asked.Load())
				}
				if paused := time.Since(began); paused <= 0 || paused > time.Second {
					t.Errorf("paused for %v", paused)
				}
				if len(events) != 1 || events[0].Kind != event.Replayed || events[0].Tool != "get_weather" {
					t.Errorf("%v", events)
				}
			})
		})
	}
}

func TestExecuteDoesNotRepeat(t *testing.T) {
	timeout := errors.New("TimeoutError")
	for name, c := range map[string]struct {
		tool    repair.Tool
		policy  repair.Policy
		failure error
	}{
		"a tool that writes":         {tool: bookTrip},
		"an idempotent tool":         {tool: setWeather},
		"when disabled":              {tool: readWeather, policy: repair.Policy{Enabled: new(false)}},
		"without retries":            {tool: readWeather, policy: repair.Policy{MaxRetries: new(0)}},
		"a kind that is not listed":  {tool: readWeather, policy: repair.Policy{CorrectableErrors: []repair.RejectionKind{repair.RejectionConnection, repair.RejectionModel}}},
		"what was cancelled":         {tool: readWeather, failure: context.Canceled},
		"what gauze reports":         {tool: readWeather, failure: &fault.Fault{Code: fault.CallTimeout, Delivery: fault.Unknown}},
		"a host that does not exist": {tool: readWeather, failure: &net.DNSError{Name: "wether.example", IsNotFound: true}},
		"a rejected key of a model":  {tool: readWeather, failure: &llm.Error{Kind: llm.Unauthorized}},
		"what is about arguments":    {tool: readWeather, failure: repair.ArgumentError(timeout)},
		"what was repeated already":  {tool: readWeather, failure: errors.New("TimeoutError\n\n[gauze] The call failed twice. The first attempt failed with a timeout. The call was sent again, because its tool is read-only, and this is the second failure.")},
		"any other error":            {tool: readWeather, failure: errors.New("the disk is full")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.failure == nil {
					c.failure = timeout
				}
				dispatch := &stub{failures: []error{c.failure}}
				_, err := repair.Execute(t.Context(), &repair.Executor{Policy: c.policy}, c.tool, json.RawMessage(inFives), dispatch.run)
				if err != c.failure || len(dispatch.got) != 1 {
					t.Errorf("%v, dispatched %q", err, dispatch.got)
				}
			})
		})
	}
}

func TestExecuteReturnsTheSecondFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second := errors.New("the disk is full")
		dispatch := &stub{failures: []error{errors.New("TimeoutError"), second}}
		_, err := repair.Execute(t.Context(), &repair.Executor{}, readWeather, json.RawMessage(inFives), dispatch.run)
		if !errors.Is(err, second) || len(dispatch.got) != 2 {
			t.Errorf("%v, dispatched %q", err, dispatch.got)
		}
		contains(t, err.Error(), "the disk is full", "The call failed twice.", "with a timeout")
	})
}

// The caller does not wait for a second attempt that cannot end in time, or once it is gone.
func TestExecuteRepeatsOnlyInTime(t *testing.T) {
	for name, c := range map[string]struct{ limit, takes, cancel time.Duration }{
		"the deadline is near":    {limit: 3 * time.Second, takes: 2 * time.Second},
		"it took too long":        {takes: time.Minute},
		"cancelled in the pause":  {takes: time.Second, cancel: time.Second + time.Millisecond},
		"the deadline has passed": {limit: time.Second, takes: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.limit > 0 {
					ctx, cancel = context.WithTimeout(ctx, c.limit)
					defer cancel()
				}
				if c.cancel > 0 {
					time.AfterFunc(c.cancel, cancel)
				}
				ran := 0
				failure := errors.New("TimeoutError")
				_, err := repair.Execute(ctx, &repair.Executor{}, readWeather, json.RawMessage(inFives), func(context.Context, json.RawMessage) (string, error) {
					ran++
					time.Sleep(c.takes)
					return "", failure
				})
				if err != failure || ran != 1 {
					t.Errorf("%v, ran %d times", err, ran)
				}
			})
		})
	}
}

// A call that fails for two reasons in turn is repeated once and corrected once.
func TestExecuteCorrectsWhatIsRejectedTheSecondTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, dispatch := &oracle{answer: fixed}, &stub{failures: []error{errors.New("TimeoutError"), errBadDays}}
		result, err := repair.Execute(t.Context(), &repair.Executor{Model: model}, readWeather, json.RawMessage(inWords), dispatch.run)
		if err != nil || result != "sunny" || !slices.Equal(dispatch.got, []string{inWords, inWords, inFives}) || model.asked.Load() != 1 {
			t.Errorf("%q, %v, dispatched %q", result, err, dispatch.got)
		}
	})
}

func TestExecuteNotesTheRepetitionInAResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		result, err := repair.Execute(t.Context(), &repair.Executor{}, readWeather, json.RawMessage(inFives), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			if ran++; ran == 1 {
				failed := text("TimeoutError: no reply")
				failed.IsError = true
				return failed, nil
			}
			return text("sunny"), nil
		})
		if err != nil || ran != 2 || result.IsError {
			t.Fatalf("%v, ran %d times", err, ran)
		}
		contains(t, said(result), "sunny", `[gauze] The first attempt failed with a timeout: "TimeoutError: no reply". The call was sent again, because its tool is read-only`)
	})
}

// Middleware does the same for the tools of a server.
func TestMiddlewareRepeatsATransientError(t *testing.T) {
	for hint, times := range map[string]int64{"read-only": 2, "idempotent": 1, "none": 1} {
		b := newBureau(t, gauze.MiddlewareOptions{})
		var ran atomic.Int64
		mcp.AddTool(b.server, &mcp.Tool{Name: "index", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: hint == "read-only", IdempotentHint: hint == "idempotent"}},
			func(context.Context, *mcp.CallToolRequest, forecast) (*mcp.CallToolResult, any, error) {
				if ran.Add(1) == 1 {
					return nil, nil, fmt.Errorf("ask the index: %w", context.DeadlineExceeded)
				}
				return text("sunny"), nil, nil
			})
		result := b.call(b.connect(), "index", inFives)
		if ran.Load() != times || result.IsError != (times == 1) || strings.Contains(said(result), "was sent again") != (times == 2) {
			t.Errorf("%s: ran %d times: %s", hint, ran.Load(), said(result))
		}
	}
}
