package gauze_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/modeltest"
	"github.com/gauze-mcp/gauze/llm"
	"github.com/gauze-mcp/gauze/repair"
)

// modelFunc is a model that is a function.
type modelFunc func(ctx context.Context, q llm.Question) (llm.Answer, error)

func (f modelFunc) Ask(ctx context.Context, q llm.Question) (llm.Answer, error) { return f(ctx, q) }

// oracle is a model that gives one answer and counts the questions.
type oracle struct {
	answer string
	asked  atomic.Int64
	mu     sync.Mutex
	last   llm.Question
}

func (o *oracle) Ask(_ context.Context, q llm.Question) (llm.Answer, error) {
	o.asked.Add(1)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = q
	if o.answer == "" {
		return llm.Answer{}, errors.New("the model is down")
	}
	return llm.Answer{JSON: json.RawMessage(o.answer), Model: "oracle", Usage: llm.Usage{InputTokens: 100, OutputTokens: 20}}, nil
}

// stub is a dispatch function with scripted failures, one for each call; nil is success.
type stub struct {
	failures []error
	got      []string
}

func (s *stub) run(_ context.Context, arguments json.RawMessage) (string, error) {
	s.got = append(s.got, string(arguments))
	if n := len(s.got); n <= len(s.failures) && s.failures[n-1] != nil {
		return "", s.failures[n-1]
	}
	return "sunny", nil
}

var (
	readWeather = repair.Tool{Name: "get_weather", Description: "The weather of a city.", Schema: json.RawMessage(weatherSchema), ReadOnly: true}
	bookTrip    = repair.Tool{Name: "book_trip", Schema: json.RawMessage(weatherSchema)}
)

const (
	inWords = `{"city":"Oslo","days":"2 + 3"}` // a sum: rules do not calculate
	inFives = `{"city":"Oslo","days":5}`
	fixed   = `{"arguments":{"city":"Oslo","days":5}}`
)

var (
	errDays    = errors.New(`days must be a number, not "2 + 3"`)
	errBadDays = repair.ArgumentError(errDays)
	errAgain   = repair.ArgumentError(errors.New("there is no weather for Oslo"))
)

func TestExecute(t *testing.T) {
	for name, c := range map[string]struct {
		executor repair.Executor
		answer   string // of the model; empty: it fails
		noModel  bool
		tool     repair.Tool
		sent     string // default inWords
		failures []error

		dispatched []string
		asked      int64
		want       []error // what errors.Is finds; nil: the call succeeds
		same       bool    // the error is that of the first call, not a wrapper of it
	}{
		"success without a question": {answer: fixed, tool: readWeather, sent: inFives, dispatched: []string{inFives}},
		"success of a call that does not match the schema, without a question": {answer: fixed, tool: readWeather, dispatched: []string{inWords}},
		"success when disabled":            {executor: repair.Executor{Policy: repair.Policy{Enabled: new(false)}}, answer: fixed, tool: readWeather, sent: inFives, dispatched: []string{inFives}},
		"failure when disabled":            {executor: repair.Executor{Policy: repair.Policy{Enabled: new(false)}}, answer: fixed, tool: readWeather, failures: []error{errBadDays}, dispatched: []string{inWords}, want: []error{errDays}, same: true},
		"no repair when disabled":          {executor: repair.Executor{Policy: repair.Policy{Enabled: new(false)}}, tool: readWeather, sent: `{"city":"Oslo","days":"5"}`, dispatched: []string{`{"city":"Oslo","days":"5"}`}},
		"repaired by rules":                {noModel: true, tool: readWeather, sent: `{"city":"Oslo","days":"5"}`, dispatched: []string{inFives}},
		"corrected":                        {answer: fixed, tool: readWeather, failures: []error{errBadDays}, dispatched: []string{inWords, inFives}, asked: 1},
		"corrected, of a tool that writes": {answer: fixed, tool: bookTrip, failures: []error{errBadDays}, dispatched: []string{inWords, inFives}, asked: 1},
		// Elsewhere both messages end up in a new error; here both errors are found by errors.Is.
		"both errors":      {answer: fixed, tool: readWeather, failures: []error{errBadDays, errAgain}, dispatched: []string{inWords, inFives}, asked: 1, want: []error{errDays, errAgain}},
		"not a third call": {answer: fixed, tool: readWeather, failures: []error{errBadDays, errBadDays, nil}, dispatched: []string{inWords, inFives}, asked: 1, want: []error{errDays}},
		// An answer that drops what was sent is not a correction: it would be a different call.
		"an empty answer":    {answer: `{"arguments":{}}`, tool: readWeather, failures: []error{errBadDays}, dispatched: []string{inWords}, asked: 1, want: []error{errDays}, same: true},
		"an invalid answer":  {answer: `this is not json`, tool: readWeather, failures: []error{errBadDays}, dispatched: []string{inWords}, asked: 1, want: []error{errDays}, same: true},
		"a list as answer":   {answer: `{"arguments":[5]}`, tool: readWeather, failures: []error{errBadDays}, dispatched: []string{inWords}, asked: 1, want: []error{errDays}, same: true},
		"a declined answer":  {answer: `{"corrected":false,"reason":"only the user knows"}`, tool: readWeather, failures: []error{errBadDays}, dispatched: []string{inWords}, asked: 1, want: []error{errDays}, same: true},
		"the same arguments": {answer: `{"arguments":` + inWords + `}`, tool: readWeather, failures: []error{errBadDays}, dispatched: []string{inWords}, asked: 1, want: []error{errDays}, same: true},
		"a model that fails": {tool: readWeather, failures: []error{errBadDays}, dispatched: []string{inWords}, asked: 1, want: []error{errDays}, same: true},
		"no model":           {noModel: true, tool: readWeather, failures: []error{errBadDays}, dispatched: []string{inWords}, want: []error{errDays}, same: true},
		"no use of a model":  {executor: repair.Executor{Policy: repair.Policy{UseModel: new(false)}}, answer: fixed, tool: readWeather, failures: []error{errBadDays}, dispatched: []string{inWords}, want: []error{errDays}, same: true},
		// A model that may invent values decides what the call does.
		"an invented value": {answer: `{"arguments":{"city":"Bergen","days":5}}`, tool: readWeather, failures: []error{errBadDays}, dispatched: []string{inWords}, asked: 1, want: []error{errDays}, same: true},
		"a kind that is not listed": {executor: repair.Executor{Policy: repair.Policy{CorrectableErrors: []repair.RejectionKind{repair.RejectionMissingArgument}}},
			answer: fixed, tool: readWeather, failures: []error{errBadDays}, dispatched: []string{inWords}, want: []error{errDays}, same: true},
		"no retry": {executor: repair.Executor{Policy: repair.Policy{MaxRetries: new(0)}},
			answer: fixed, tool: readWeather, failures: []error{errBadDays}, dispatched: []string{inWords}, asked: 1, want: []error{errDays}},
		"strict corrects before the first dispatch": {executor: repair.Executor{Strict: true}, answer: fixed, tool: bookTrip, dispatched: []string{inFives}, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			model, executor, dispatch := &oracle{answer: c.answer}, c.executor, &stub{failures: c.failures}
			if !c.noModel {
				executor.Model = model
			}
			sent := inWords
			if c.sent != "" {
				sent = c.sent
			}
			result, err := repair.Execute(t.Context(), &executor, c.tool, json.RawMessage(sent), dispatch.run)
			if !slices.Equal(dispatch.got, c.dispatched) || model.asked.Load() != c.asked {
				t.Errorf("dispatched %q, asked %d; want %q, %d", dispatch.got, model.asked.Load(), c.dispatched, c.asked)
			}
			if (err == nil) != (c.want == nil) || err == nil && result != "sunny" {
				t.Fatalf("%q, %v", result, err)
			}
			for _, want := range c.want {
				if !errors.Is(err, want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			if c.same && err != c.failures[0] {
				t.Errorf("not the same error: %#v", err)
			}
		})
	}
}

// The zero Executor passes calls through, with and without a schema.
func TestZeroExecutor(t *testing.T) {
	for _, failure := range []error{nil, errors.New("no"), errBadDays} {
		dispatch := &stub{failures: []error{failure}}
		_, err := repair.Execute(t.Context(), &repair.Executor{}, repair.Tool{Name: "any"}, json.RawMessage(`not JSON`), dispatch.run)
		if err != failure || !slices.Equal(dispatch.got, []string{"not JSON"}) {
			t.Errorf("%v, %q", err, dispatch.got)
		}
	}
}

// Python has types for these errors. In Go, an error says by its type, a mark or known words whether
// different arguments can help; everything else is not corrected.
func TestWhichErrorsAreCorrected(t *testing.T) {
	var in struct{ Days int }
	typeError := json.Unmarshal([]byte(inWords), &in)
	responseError := json.Unmarshal([]byte(`{"Days":true}`), &in)
	for _, c := range []struct {
		name      string
		err       error
		corrected bool
	}{
		{"ValueError: marked", errBadDays, true},
		{"ValueError: marked and wrapped", fmt.Errorf("get_weather: %w", errBadDays), true},
		{"ValueError of a Python server", errors.New(`Error executing tool get_weather: ValueError: invalid literal for int() with base 10: 'five'`), true},
		{"JSONDecodeError: of the arguments", typeError, true},
		// The type alone does not tell these apart: the arguments have no boolean days.
		{"JSONDecodeError: of a response", responseError, false},
		{"invalid params", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "days must be a number"}, true},
		{"internal error", &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "days must be a number"}, false},
		{"unknown tool", &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "days"}, false},
		// Other executors ask a model for other arguments after a timeout or a refused connection.
		// Other arguments do not help: TestExecuteRepeatsATransientError.
		{"TimeoutError: marked", repair.ArgumentError(context.DeadlineExceeded), false},
		{"canceled", fmt.Errorf("dispatch: %w", context.Canceled), false},
		{"a host that does not exist", &net.DNSError{Name: "wether.example", IsNotFound: true}, false},
		{"a host that does not exist: marked", repair.ArgumentError(&net.DNSError{Err: "no answer", Name: "wether.example"}), true},
		{"ProfileError", errors.New("the profile does not allow get_weather"), false},
		{"KeyError", errors.New("KeyError: 'days'"), false},
		{"TypeError", errors.New("TypeError: unsupported operand"), false},
		{"AttributeError", errors.New("AttributeError: 'str' object has no attribute 'days'"), false},
		{"RuntimeError", errors.New("RuntimeError: it broke"), false},
		{"PathTraversalError", errors.New("path traversal: ../../etc/passwd"), false},
		{"PathTraversalError: marked", repair.ArgumentError(errors.New("path traversal: ../../etc/passwd")), false},
		{"PermissionError", &fs.PathError{Op: "open", Path: "a", Err: fs.ErrPermission}, false},
		{"PermissionError: marked", repair.ArgumentError(fs.ErrPermission), false},
		{"login required", errors.New("401 Unauthorized"), false},
		{"rate limit", errors.New("HTTP 429: too many requests"), false},
		{"an unknown error", errors.New("something went wrong"), false},
		{"a fault of gauze", &fault.Fault{Code: fault.OutcomeUnknown, Delivery: fault.Unknown}, false},
		{"a refusal of gauze", &fault.Fault{Code: fault.ArgumentsInvalid, Delivery: fault.Unsent}, true},
	} {
		model, dispatch := &oracle{answer: fixed}, &stub{failures: []error{c.err}}
		_, err := repair.Execute(t.Context(), &repair.Executor{Model: model}, readWeather, json.RawMessage(inWords), dispatch.run)
		if got := err == nil; got != c.corrected || model.asked.Load() != int64(len(dispatch.got)-1) {
			t.Errorf("%s: %v, asked %d, dispatched %q", c.name, err, model.asked.Load(), dispatch.got)
		}
		if !c.corrected && err != c.err {
			t.Errorf("%s: not the same error: %#v", c.name, err)
		}
	}
}

// A call of a tool that writes may have had an effect when it failed, so it is not sent again, unless
// the error is marked.
func TestCorrectionOfAToolThatWritesIsOffered(t *testing.T) {
	rejected := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no days before the flight"}
	dispatch := &stub{failures: []error{rejected}}
	_, err := repair.Execute(t.Context(), &repair.Executor{Model: &oracle{answer: fixed}}, bookTrip, json.RawMessage(inWords), dispatch.run)
	var offered *repair.CorrectionError
	if !errors.As(err, &offered) || len(dispatch.got) != 1 || !errors.Is(err, rejected) {
		t.Fatalf("%v, dispatched %q", err, dispatch.got)
	}
	if string(offered.Offered) != inFives || offered.Second != nil || offered.Model != "oracle" || len(offered.Changes) != 1 || offered.Changes[0].Path != "days" {
		t.Errorf("%+v", offered)
	}
	contains(t, err.Error(), rejected.Error(), "may have had an effect", "Call that would pass: "+inFives)
}

// Idempotent means that the same call may be repeated. A corrected call is a different one: what the
// first one did would remain.
func TestAnIdempotentToolIsNotCalledWithDifferentArguments(t *testing.T) {
	setTrip := bookTrip
	setTrip.Idempotent = true
	dispatch := &stub{failures: []error{&jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no days before the flight"}}}
	_, err := repair.Execute(t.Context(), &repair.Executor{Model: &oracle{answer: fixed}}, setTrip, json.RawMessage(inWords), dispatch.run)
	var offered *repair.CorrectionError
	if !errors.As(err, &offered) || offered.Offered == nil || len(dispatch.got) != 1 {
		t.Errorf("%v, dispatched %q", err, dispatch.got)
	}
}

func TestErrorOfTheCorrectedCall(t *testing.T) {
	var events []event.Event
	executor := repair.Executor{Model: &oracle{answer: fixed}, OnEvent: func(e event.Event) { events = append(events, e) }}
	_, err := repair.Execute(t.Context(), &executor, readWeather, json.RawMessage(inWords), (&stub{failures: []error{errBadDays, errAgain}}).run)
	var both *repair.CorrectionError
	if !errors.As(err, &both) || both.First != errBadDays || both.Second != errAgain || both.Offered != nil {
		t.Fatalf("%+v", err)
	}
	contains(t, err.Error(), `First failure: "days must be a number, not \"2 + 3\""`, `days: "2 + 3" became 5`, errAgain.Error())
	if len(events) != 1 || events[0].Kind != event.Corrected {
		t.Errorf("%v", events)
	}
}

func TestEventsOfAnExecutor(t *testing.T) {
	for want, c := range map[event.Kind]struct {
		answer, sent string
		tool         repair.Tool
		err          error
	}{
		event.Repaired:    {sent: `{"city":"Oslo","days":"5"}`, tool: readWeather},
		event.Corrected:   {fixed, inWords, readWeather, errBadDays},
		event.Uncorrected: {`{"corrected":false,"reason":"only the user knows"}`, inWords, readWeather, errBadDays},
		event.Proposed:    {fixed, inWords, bookTrip, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "bad days"}},
	} {
		var events []event.Event
		executor := repair.Executor{Model: &oracle{answer: c.answer}, OnEvent: func(e event.Event) { events = append(events, e) }}
		repair.Execute(t.Context(), &executor, c.tool, json.RawMessage(c.sent), (&stub{failures: []error{c.err}}).run)
		if len(events) != 1 || events[0].Kind != want || events[0].Tool != c.tool.Name || events[0].Time.IsZero() || events[0].Detail == "" {
			t.Fatalf("%s: %v", want, events)
		}
		m := events[0].Model
		if (m == nil) != (want == event.Repaired) {
			t.Fatalf("%s: %v", want, events)
		}
		if m != nil && (m.Model != "oracle" || m.InputTokens != 100 || m.OutputTokens != 20 || string(m.Before) != inWords) {
			t.Errorf("%s: %+v", want, m)
		}
	}
}

// Checks that run before the first call only would let a model name what the caller must not touch.
// Here a value that the caller did not send is not accepted; if the policy allows it, dispatch runs
// its checks again.
func TestCorrectedArgumentsAreCheckedAgain(t *testing.T) {
	tool := repair.Tool{Name: "read_note", ReadOnly: true,
		Schema: json.RawMessage(`{"type":"object","properties":{"folder":{"type":"string"},"name":{"type":"string"}}}`)}
	errOutside := errors.New("the note is outside the vault")
	for _, open := range []bool{false, true} {
		var read []string
		dispatch := func(_ context.Context, arguments json.RawMessage) (string, error) {
			var in struct{ Folder, Name string }
			if err := json.Unmarshal(arguments, &in); err != nil {
				return "", err
			}
			note := path.Join(in.Folder, in.Name)
			switch {
			case in.Name == "":
				return "", repair.ArgumentError(errors.New("name is required"))
			case note != "vault/plan.md":
				return "", errOutside
			}
			read = append(read, note)
			return "read", nil
		}
		model := &oracle{answer: `{"arguments":{"folder":"vault","name":"secrets"}}`}
		executor := repair.Executor{Model: model, Policy: repair.Policy{Open: new(open)}}
		_, err := repair.Execute(t.Context(), &executor, tool, json.RawMessage(`{"folder":"vault"}`), dispatch)
		if err == nil || read != nil || errors.Is(err, errOutside) != open || model.asked.Load() != 1 {
			t.Errorf("open %v: %v, read %q", open, err, read)
		}
	}
}

// An idempotent tool writes: a second call with different arguments has a second effect, and a value
// of the model's own must not be written.
func TestIdempotentToolsAreToolsThatWrite(t *testing.T) {
	tool := repair.Tool{Name: "set_note", Idempotent: true,
		Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"days":{"type":"integer"}},"required":["days"]}`)}
	for name, tt := range map[string]struct {
		answer  string
		open    bool
		failure error
	}{
		"may have had an effect":  {`{"arguments":{"name":"a","days":5}}`, false, errors.New("ValueError: days")},
		"a value of the model":    {`{"arguments":{"name":"a","days":9}}`, true, repair.ArgumentError(errors.New("days"))},
		"a valid value was moved": {`{"arguments":{"days":5}}`, false, repair.ArgumentError(errors.New("days"))},
	} {
		dispatched := 0
		executor := repair.Executor{Model: &oracle{answer: tt.answer}, Policy: repair.Policy{Open: new(tt.open)}}
		_, err := repair.Execute(t.Context(), &executor, tool, json.RawMessage(`{"name":"a","days":"about 5"}`), func(context.Context, json.RawMessage) (string, error) {
			dispatched++
			return "", tt.failure
		})
		if dispatched != 1 || !errors.Is(err, tt.failure) {
			t.Errorf("%s: dispatched %d times, %v", name, dispatched, err)
		}
	}
}

func TestSecretsStayWithTheCaller(t *testing.T) {
	const secret = "hunter2-hunter2-hunter2"
	t.Setenv("WEATHER_API_TOKEN", "tok-9f8e7d6c5b4a39281706")
	schema := json.RawMessage(`{"type":"object","required":["days"],"properties":{"days":{"type":"integer"},"password":{"type":"string"}}}`)
	model := modelFunc(func(_ context.Context, q llm.Question) (llm.Answer, error) {
		if strings.Contains(q.Text+q.Instructions+string(q.Schema), secret) || strings.Contains(q.Text, "tok-9f8e7d6c5b4a39281706") {
			t.Errorf("the model was shown a secret: %s", q.Text)
		}
		at := strings.Index(q.Text, "<secret-")
		if at < 0 {
			t.Errorf("no placeholder: %s", q.Text)
			return llm.Answer{}, errors.New("no placeholder")
		}
		placeholder := q.Text[at : at+strings.Index(q.Text[at:], ">")+1]
		return llm.Answer{JSON: json.RawMessage(`{"arguments":{"days":5,"password":"` + placeholder + `"}}`), Model: "oracle"}, nil
	})
	var shown strings.Builder
	executor := repair.Executor{Model: model, OnEvent: func(e event.Event) {
		fmt.Fprintf(&shown, "%v %s %s %v\n", e, e.Model.Before, e.Model.After, e.LogValue())
	}}
	for _, c := range []struct {
		tool repair.Tool
		err  error
	}{
		{repair.Tool{Name: "login", Schema: schema, ReadOnly: true}, repair.ArgumentError(errors.New("days: not a number; token tok-9f8e7d6c5b4a39281706"))},
		{repair.Tool{Name: "login", Schema: schema}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "days: not a number"}},
	} {
		dispatch := &stub{failures: []error{c.err}}
		_, err := repair.Execute(t.Context(), &executor, c.tool, json.RawMessage(`{"days":"2 + 3","password":"`+secret+`"}`), dispatch.run)
		var offered *repair.CorrectionError
		got := json.RawMessage(dispatch.got[len(dispatch.got)-1])
		if errors.As(err, &offered) {
			got = offered.Offered
			shown.WriteString(strings.ReplaceAll(err.Error(), c.err.Error(), ""))
		}
		if compact(t, string(got)) != `{"days":5,"password":"`+secret+`"}` {
			t.Errorf("the secret was not put back: %s, %v", got, err)
		}
	}
	if strings.Contains(shown.String(), secret) {
		t.Errorf("a secret is shown: %s", shown.String())
	}
}

// silence is a model that does not answer, and may ignore the context.
func silence(ignores bool, end <-chan struct{}) llm.Model {
	return modelFunc(func(ctx context.Context, _ llm.Question) (llm.Answer, error) {
		if ignores {
			<-end
			return llm.Answer{JSON: json.RawMessage(fixed)}, nil
		}
		<-ctx.Done()
		return llm.Answer{}, ctx.Err()
	})
}

// A caller that is gone gets its error, even if the model ignores the context.
func TestCallerThatIsGone(t *testing.T) {
	for _, ignores := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			end := make(chan struct{})
			defer close(end)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			began, dispatch := time.Now(), &stub{failures: []error{errBadDays}}
			_, err := repair.Execute(ctx, &repair.Executor{Model: silence(ignores, end)}, readWeather, json.RawMessage(inWords), dispatch.run)
			if err != errBadDays || len(dispatch.got) != 1 || time.Since(began) != time.Second {
				t.Errorf("%v after %v, dispatched %q", err, time.Since(began), dispatch.got)
			}
		})
	}
}

// No failing call waits longer than the policy allows.
func TestTimeoutOfAQuestion(t *testing.T) {
	for _, ignores := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			end := make(chan struct{})
			defer close(end)
			var events []event.Event
			executor := repair.Executor{Model: silence(ignores, end), Policy: repair.Policy{Timeout: 3 * time.Second},
				OnEvent: func(e event.Event) { events = append(events, e) }}
			began := time.Now()
			_, err := repair.Execute(t.Context(), &executor, readWeather, json.RawMessage(inWords), (&stub{failures: []error{errBadDays}}).run)
			if err != errBadDays || time.Since(began) != 3*time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			if len(events) != 1 || events[0].Kind != event.Uncorrected || events[0].Took != 3*time.Second {
				t.Errorf("%v", events)
			}
		})
	}
}

func TestModelThatPanics(t *testing.T) {
	var events []event.Event
	executor := repair.Executor{
		Model:   modelFunc(func(context.Context, llm.Question) (llm.Answer, error) { panic("oh no") }),
		OnEvent: func(e event.Event) { events = append(events, e) },
	}
	_, err := repair.Execute(t.Context(), &executor, readWeather, json.RawMessage(inWords), (&stub{failures: []error{errBadDays}}).run)
	if err != errBadDays || len(events) != 1 || !strings.Contains(events[0].Detail, "panic") {
		t.Errorf("%v, %v", err, events)
	}
}

func TestConcurrentCalls(t *testing.T) {
	var events atomic.Int64
	model := &oracle{answer: fixed}
	executor := &repair.Executor{Model: model, OnEvent: func(event.Event) { events.Add(1) }}
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			dispatch := &stub{failures: []error{errBadDays}}
			if _, err := repair.Execute(t.Context(), executor, readWeather, json.RawMessage(inWords), dispatch.run); err != nil || len(dispatch.got) != 2 {
				t.Errorf("%v, dispatched %q", err, dispatch.got)
			}
		})
	}
	wait.Wait()
	if model.asked.Load() != 50 || events.Load() != 50 {
		t.Errorf("asked %d, events %d", model.asked.Load(), events.Load())
	}
}

// A model over HTTP answers in a code fence, or fails at first: the adapter takes care of that, and
// the call is still corrected by one question.
func TestModelOverHTTP(t *testing.T) {
	for name, replies := range map[string][]modeltest.Reply{
		"plain":         {modeltest.Says(fixed)},
		"code fence":    {modeltest.Fenced(fixed)},
		"after a while": {modeltest.RetryAfter(429, "0"), modeltest.RetryAfter(503, "0"), modeltest.Says(fixed)},
	} {
		server := modeltest.OpenAI(t, replies...)
		model, err := llm.OpenAI(llm.Options{URL: server.URL, Model: "scripted"})
		if err != nil {
			t.Fatal(err)
		}
		dispatch := &stub{failures: []error{errBadDays}}
		if _, err := repair.Execute(t.Context(), &repair.Executor{Model: model}, readWeather, json.RawMessage(inWords), dispatch.run); err != nil || len(dispatch.got) != 2 {
			t.Errorf("%s: %v, dispatched %q", name, err, dispatch.got)
		}
		if got := len(server.Requests()); got != len(replies) {
			t.Errorf("%s: %d requests, want %d", name, got, len(replies))
		}
	}
}

func TestStrictExecutorRefusesBeforeDispatch(t *testing.T) {
	for _, answer := range []string{"", `{"corrected":false,"reason":"only the user knows"}`} {
		dispatch := &stub{}
		_, err := repair.Execute(t.Context(), &repair.Executor{Strict: true, Model: &oracle{answer: answer}}, bookTrip, json.RawMessage(inWords), dispatch.run)
		var f *fault.Fault
		if !errors.As(err, &f) || f.Code != fault.ArgumentsInvalid || len(f.Report) == 0 || dispatch.got != nil {
			t.Errorf("%v, dispatched %q", err, dispatch.got)
		}
		contains(t, err.Error(), "The call to `book_trip` was not run", "days")
	}
}

func TestInvalidPolicyOfAnExecutor(t *testing.T) {
	for want, policy := range map[string]repair.Policy{
		`gauze: Executor.Policy: invalid MaxRetries "2": must be 0 or 1`:                      {MaxRetries: new(2)},
		`gauze: Executor.Policy: invalid Timeout "-1s": must be `:                             {Timeout: -time.Second},
		`gauze: Executor.Policy: invalid CorrectableErrors "permission": permission is never`: {CorrectableErrors: []repair.RejectionKind{"permission"}},
	} {
		dispatch := &stub{}
		if _, err := repair.Execute(t.Context(), &repair.Executor{Policy: policy}, readWeather, json.RawMessage(inFives), dispatch.run); err == nil || !strings.HasPrefix(err.Error(), want) || dispatch.got != nil {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// A strict Executor dispatches no call that it cannot check, whoever corrects it.
func TestStrictDispatchesNothingUnchecked(t *testing.T) {
	pattern := repair.Tool{Name: "pat", ReadOnly: true,
		Schema: json.RawMessage(`{"type":"object","properties":{"days":{"type":"integer"},"n":{"type":"string","pattern":"("}}}`)}
	for _, c := range []struct {
		tool      repair.Tool
		sent, why string
	}{
		{readWeather, `{"city":"Oslo","days":5,"days":5}`, "the key days occurs twice"},
		{pattern, `{"n":"x"}`, "the pattern ( cannot be checked safely"},
		{pattern, `{"n":"x","days":"5"}`, "the pattern ( cannot be checked safely"},
		{pattern, `{"days":"2 + 3"}`, "the pattern ( cannot be checked safely"},
		{pattern, `{"days":2 + 3}`, "not JSON"},
	} {
		for _, strict := range []bool{true, false} {
			var tool stub
			e := &repair.Executor{Strict: strict, Model: &oracle{answer: `{"arguments":{"days":5}}`}}
			_, err := repair.Execute(t.Context(), e, c.tool, json.RawMessage(c.sent), tool.run)
			f, ok := errors.AsType[*fault.Fault](err)
			if strict && (!ok || f.Code != fault.ArgumentsInvalid || !strings.Contains(err.Error(), c.why) || len(tool.got) > 0) {
				t.Errorf("%s: dispatched %q, %v", c.sent, tool.got, err)
			}
			if !strict && (err != nil || len(tool.got) != 1) {
				t.Errorf("%s, not strict: dispatched %q, %v", c.sent, tool.got, err)
			}
		}
	}
}

// A schema that is null is none: there is nothing that a call must match.
func TestStrictDispatchesACallOfAToolWithoutSchema(t *testing.T) {
	for _, schema := range []string{"", "null", " null ", "{}"} {
		var tool stub
		e := &repair.Executor{Strict: true}
		free := repair.Tool{Name: "free", ReadOnly: true, Schema: json.RawMessage(schema)}
		if _, err := repair.Execute(t.Context(), e, free, json.RawMessage(`{"a":1}`), tool.run); err != nil || len(tool.got) != 1 {
			t.Errorf("schema %q: dispatched %q, %v", schema, tool.got, err)
		}
	}
}
