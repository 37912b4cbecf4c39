package gauze_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/repair"
)

// office is a real MCP server without middleware. ran lists what its tools did.
func office(t *testing.T) (session *mcp.ClientSession, ran *[]string) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "office", Version: "1"}, nil)
	ran = new([]string)
	typed := func(name string, hints *mcp.ToolAnnotations, fail error) {
		mcp.AddTool(server, &mcp.Tool{Name: name, Annotations: hints}, func(_ context.Context, _ *mcp.CallToolRequest, in forecast) (*mcp.CallToolResult, any, error) {
			*ran = append(*ran, fmt.Sprint(name, " ", in.City, " ", in.Days))
			return text("booked"), nil, fail
		})
	}
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	typed("book", nil, nil)
	typed("closed", reads, errors.New("the office is closed"))
	raw := func(name string, hints *mcp.ToolAnnotations, fail error) {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: hints},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				*ran = append(*ran, name+" "+string(req.Params.Arguments))
				if !strings.Contains(string(req.Params.Arguments), "2 + 3") {
					return text("done"), nil
				}
				var rpc *jsonrpc.Error
				if errors.As(fail, &rpc) {
					return nil, fail
				}
				failed := text(fail.Error())
				failed.IsError = true
				return failed, nil
			})
	}
	raw("params", reads, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "days must be a number"})
	raw("internal", reads, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "out of chairs"})
	raw("value", reads, errors.New("ValueError: days must be a number"))
	raw("pay", nil, errors.New("ValueError: days must be a number"))
	raw("odd", reads, errors.New("it did not work"))
	near, far := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), far, nil); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session, ran
}

// toolNamed returns a tool as the server lists it.
func toolNamed(t *testing.T, session *mcp.ClientSession, name string) repair.Tool {
	t.Helper()
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if tool.Name == name {
			return gauze.ToolOf(tool)
		}
	}
	t.Fatalf("no tool %s", name)
	return repair.Tool{}
}

func TestExecuteCallsOfAnMCPServer(t *testing.T) {
	for _, c := range []struct {
		tool    string
		asked   int64
		ran     []string
		isError bool
		said    []string // by the result or the error
	}{
		// The SDK rejected the arguments before the tool ran, so even a write is sent again.
		{"book", 1, []string{"book Oslo 5"}, false, []string{"booked", `days: "2 + 3" became 5 (corrected by a model)`}},
		{"closed", 1, []string{"closed Oslo 5"}, true, []string{`validating \"arguments\"`, `days: "2 + 3" became 5`, "the office is closed"}},
		{"params", 1, []string{"params " + inWords, "params " + inFives}, false, []string{"done"}},
		{"value", 1, []string{"value " + inWords, "value " + inFives}, false, []string{"done"}},
		// The tool ran, so it may have had an effect.
		{"pay", 1, []string{"pay " + inWords}, true, []string{"ValueError", "may have had an effect", "Call that would pass: " + inFives}},
		{"odd", 0, []string{"odd " + inWords}, true, []string{"it did not work"}},
		{"internal", 0, []string{"internal " + inWords}, true, []string{"out of chairs"}},
	} {
		t.Run(c.tool, func(t *testing.T) {
			session, ran := office(t)
			model := &oracle{answer: fixed}
			var first *mcp.CallToolResult
			result, err := repair.Execute(t.Context(), &repair.Executor{Model: model}, toolNamed(t, session, c.tool), json.RawMessage(inWords),
				func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
					result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: c.tool, Arguments: arguments})
					if first == nil {
						first = result
					}
					return result, err
				})
			if fmt.Sprint(*ran) != fmt.Sprint(c.ran) || model.asked.Load() != c.asked {
				t.Errorf("ran %q, asked %d", *ran, model.asked.Load())
			}
			var rpc *jsonrpc.Error
			switch {
			case errors.As(err, &rpc):
				contains(t, err.Error(), c.said...)
			case err != nil || result.IsError != c.isError:
				t.Fatalf("%+v, %v", result, err)
			default:
				contains(t, said(result), c.said...)
			}
			if c.asked == 0 && result != first {
				t.Errorf("the result was changed: %+v", result)
			}
			if receipt, _ := json.Marshal(result); c.asked == 1 && !c.isError && !strings.Contains(string(receipt), `"model":"oracle"`) {
				t.Errorf("no receipt: %s", receipt)
			}
		})
	}
}

// One error after another: a result that is an error, and then a protocol error.
func TestResultAndErrorAreBothFound(t *testing.T) {
	failed := text("ValueError: days must be a number")
	failed.IsError = true
	rpc := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "out of chairs"}
	calls := 0
	_, err := repair.Execute(t.Context(), &repair.Executor{Model: &oracle{answer: fixed}}, readWeather, json.RawMessage(inWords),
		func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			if calls++; calls == 1 {
				return failed, nil
			}
			return nil, rpc
		})
	var both *repair.CorrectionError
	if !errors.As(err, &both) || !errors.Is(err, rpc) || !strings.Contains(both.First.Error(), "ValueError") || calls != 2 {
		t.Errorf("%v", err)
	}
}
