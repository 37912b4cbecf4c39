package main

import (
	"testing"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/lab/bench/history"
)

func TestReadAnswer(t *testing.T) {
	result := func(f *fault.Fault) string {
		return `{"jsonrpc":"2.0","id":1,"result":` + string(f.ToolResult(true)) + `}`
	}
	rpcError := func(f *fault.Fault) string { return `{"jsonrpc":"2.0","id":1,"error":` + string(f.RPCError()) + `}` }
	for name, test := range map[string]struct {
		line string
		want history.Event
	}{
		"an echo": {
			`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"text-1"}]}}`,
			history.Event{Kind: history.OK, ID: "1", Key: "text-1"}},
		"an effect, with a string for an id": {
			`{"jsonrpc":"2.0","id":"call-2","result":{"content":[{"type":"text","text":"appended key-2"}],"_meta":{}}}`,
			history.Event{Kind: history.OK, ID: `"call-2"`, Key: "key-2"}},
		"outcome unknown": {
			result(&fault.Fault{Code: fault.OutcomeUnknown, Delivery: fault.Unknown}),
			history.Event{Kind: history.Unknown, ID: "1", Code: "outcome-unknown"}},
		"not sent": {
			result(&fault.Fault{Code: fault.ServerUnavailable, Delivery: fault.Unsent}),
			history.Event{Kind: history.Fail, ID: "1", Code: "server-unavailable", Unsent: true}},
		"sent": {
			rpcError(&fault.Fault{Code: fault.CallTimeout, Delivery: fault.Unknown}),
			history.Event{Kind: history.Fail, ID: "1", Code: "call-timeout"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := readAnswer([]byte(test.line)); !ok || got != test.want {
				t.Errorf("read %+v, %v, want %+v", got, ok, test.want)
			}
		})
	}
}

func TestAnswersThatAreNotOursAreForeign(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"\"tools/call\" was sent before initialize"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"no"}],"isError":true}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`,
		`{"jsonrpc":"2.0","id":1}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`panic: oops`,
	} {
		if got, ok := readAnswer([]byte(line)); !ok || got.Kind != history.Foreign || got.Code != line {
			t.Errorf("%s was read as %+v, %v", line, got, ok)
		}
	}
}

func TestNotificationsAnswerNothing(t *testing.T) {
	if e, ok := readAnswer([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)); ok {
		t.Errorf("read as %+v", e)
	}
}
