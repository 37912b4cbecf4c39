package gauze_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/fault"
)

// connect opens a client session over a transport.
func connect(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func TestFaultOfAResult(t *testing.T) {
	options := faulty(t.TempDir(), "both")
	options.Name = "ledger"
	transport := newTransport(t, options)
	session := connect(t, transport)
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "die", Arguments: map[string]any{"when": "after-effect"}})
	if err != nil {
		t.Fatal(err)
	}
	f := gauze.FaultOf(result)
	if f == nil || f.Code != fault.OutcomeUnknown || f.Delivery != fault.Unknown || f.Advice() != fault.VerifyFirst ||
		f.Safe || f.Server != "ledger" || f.Tool != "die" || f.Method != "tools/call" || f.At.IsZero() {
		t.Errorf("%+v", f)
	}
	result, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hello"}})
	if f := gauze.FaultOf(result); f != nil || err != nil {
		t.Errorf("a result of the server's is the fault %+v, %v", f, err)
	}
}

func TestFaultOfAnErrorOfTheClient(t *testing.T) {
	_, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), newTransport(t, gauze.Options{Command: []string{"no-such-bin-xyz"}}), nil)
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != fault.CommandNotFound || f.Delivery != fault.Unsent || f.Advice() != fault.TellUser {
		t.Errorf("%v: %+v", err, f)
	}
	if same := gauze.FaultOf(err); same != f {
		t.Errorf("FaultOf returned %+v, errors.As %+v", same, f)
	}
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) {
		t.Errorf("the JSON-RPC error is lost in %#v", err)
	}
}

// A client that does not use a Transport, but the gauze command, gets the same from the error's data.
func TestFaultOfAJSONRPCError(t *testing.T) {
	err := fmt.Errorf("calling: %w", &jsonrpc.Error{Code: -31001, Message: "m", Data: []byte(`{"source":"gauze","code":"crash-loop","retry":"retry-later"}`)})
	if f := gauze.FaultOf(err); f == nil || f.Code != fault.CrashLoop || f.Advice() != fault.RetryLater {
		t.Errorf("%+v", f)
	}
}

func TestFaultOfNothing(t *testing.T) {
	var result *mcp.CallToolResult
	var err error
	for _, v := range []any{nil, result, err, context.Canceled, &mcp.CallToolResult{}, "text", &jsonrpc.Error{Code: -32603}} {
		if f := gauze.FaultOf(v); f != nil {
			t.Errorf("%v: %+v", v, f)
		}
	}
}

func TestMiddlewareReportsAFaultToo(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	server.AddReceivingMiddleware(gauze.Middleware(gauze.MiddlewareOptions{}))
	type forecast struct {
		Days int `json:"days"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "forecast"}, func(context.Context, *mcp.CallToolRequest, forecast) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("the tool ran")
	})
	near, far := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), far, nil); err != nil {
		t.Fatal(err)
	}
	result, err := connect(t, near).CallTool(t.Context(), &mcp.CallToolParams{Name: "forecast", Arguments: map[string]any{"days": "many"}})
	if err != nil {
		t.Fatal(err)
	}
	if f := gauze.FaultOf(result); f == nil || f.Code != fault.ArgumentsInvalid || f.Advice() != fault.ChangeCall || len(f.Report) == 0 {
		t.Errorf("%+v", f)
	}
}
