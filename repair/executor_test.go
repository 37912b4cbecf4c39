package repair_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/llm"
	"github.com/gauze-mcp/gauze/repair"
)

// oracle is a model that always gives the same answer.
type oracle string

func (o oracle) Ask(context.Context, llm.Question) (llm.Answer, error) {
	return llm.Answer{JSON: json.RawMessage(o), Model: "oracle"}, nil
}

// A tool of an agent rejects its arguments. The model of the Executor corrects them, and the tool is
// called once more.
func ExampleExecute() {
	search := func(_ context.Context, arguments json.RawMessage) (string, error) { // stands for any tool
		var in struct{ Limit any }
		if err := json.Unmarshal(arguments, &in); err != nil {
			return "", repair.ArgumentError(err)
		}
		if _, ok := in.Limit.(float64); !ok {
			return "", repair.ArgumentError(fmt.Errorf("limit must be a number, not %v", in.Limit))
		}
		return fmt.Sprintf("%v results", in.Limit), nil
	}
	executor := &repair.Executor{
		Model:   oracle(`{"arguments":{"limit":5}}`), // stands for llm.OpenAI, llm.Anthropic or llm.Gemini
		OnEvent: func(e event.Event) { fmt.Println(e.Kind, e.Detail) },
	}
	tool := repair.Tool{Name: "search", ReadOnly: true}
	result, err := repair.Execute(context.Background(), executor, tool, json.RawMessage(`{"limit":"2 + 3"}`), search)
	fmt.Println(result, err)
	// Output:
	// corrected limit: "2 + 3" became 5
	// 5 results <nil>
}

// Without package gauze, which knows the results of the MCP SDK, errors are what counts. The other
// tests of Execute are those of package gauze, with and without results of the SDK.
func TestAnErrorIsAFailureWithoutTheSDK(t *testing.T) {
	tool := repair.Tool{Name: "get_weather", Schema: json.RawMessage(weatherSchema)}
	called := 0
	_, err := repair.Execute(t.Context(), &repair.Executor{Strict: true}, tool, json.RawMessage(`{"days":"some"}`),
		func(context.Context, json.RawMessage) (string, error) { called++; return "", nil })
	if f, ok := errors.AsType[*fault.Fault](err); !ok || f.Code != fault.ArgumentsInvalid || len(f.Report) == 0 || called != 0 {
		t.Errorf("called %d times: %v", called, err)
	}
	first := repair.ArgumentError(errors.New("limit must be a number"))
	second := errors.New("the disk is full")
	failures := []error{first, second}
	executor := &repair.Executor{Model: oracle(`{"arguments":{"limit":5}}`)}
	_, err = repair.Execute(t.Context(), executor, repair.Tool{Name: "search", ReadOnly: true}, json.RawMessage(`{"limit":"2 + 3"}`),
		func(context.Context, json.RawMessage) (string, error) {
			failure := failures[0]
			failures = failures[1:]
			return "", failure
		})
	corrected, ok := errors.AsType[*repair.CorrectionError](err)
	if !ok || !errors.Is(err, first) || !errors.Is(err, second) || corrected.First != first || corrected.Second != second || corrected.Error() != fmt.Sprint(err) {
		t.Errorf("%v", err)
	}
}
