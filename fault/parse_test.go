package fault_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/fault"
)

func TestNoFieldOfAFaultIsLostOnTheWire(t *testing.T) {
	at := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	sent := &fault.Fault{
		Code: fault.ServerExitsEarly, Delivery: fault.Unknown, Safe: true, Server: "s", Name: "s", Method: "tools/call", Tool: "t", Detail: "d", Status: 500,
		At: at, Since: at, NextTry: at, State: "dead", Closures: 2, Recoveries: 1, Attempts: 1, Waited: time.Second, Limit: time.Second, Report: []byte(`{"type":"x"}`),
		Cause:    fault.Cause{Code: "c", Explanation: "E.", Remedy: "R.", Changes: []string{"x"}},
		Evidence: &fault.Evidence{Exit: "exit status 1", Ran: time.Second, Stderr: []string{"e"}, Stdout: []string{"o"}},
	}
	var rpc struct{ Data json.RawMessage }
	if err := json.Unmarshal(sent.RPCError(), &rpc); err != nil {
		t.Fatal(err)
	}
	f := fault.Parse(rpc.Data)
	if f == nil {
		t.Fatalf("not a fault: %s", rpc.Data)
	}
	got, want := reflect.ValueOf(*f), reflect.ValueOf(*sent)
	for i := range got.NumField() {
		field := got.Type().Field(i)
		switch {
		case !field.IsExported() || field.Name == "Message": // the text for the model is not in the JSON
		case want.Field(i).IsZero():
			t.Errorf("set %s, to see that it is not lost", field.Name)
		case !reflect.DeepEqual(got.Field(i).Interface(), want.Field(i).Interface()):
			t.Errorf("%s: got %v, want %v", field.Name, got.Field(i), want.Field(i))
		}
	}
	if f.Title() != sent.Title() || f.Advice() != sent.Advice() || f.Error() != sent.Error() {
		t.Errorf("got  %s, %s, %s\nwant %s, %s, %s", f.Title(), f.Advice(), f.Error(), sent.Title(), sent.Advice(), sent.Error())
	}
}

// A newer gauze may report what this one does not know.
func TestAFaultOfANewerGauzeKeepsItsTitleAndAdvice(t *testing.T) {
	f := fault.Parse([]byte(`{"source":"gauze","code":"later","title":"the moon is full","delivery":"eaten","retry":"retry-later","detail":"d"}`))
	if f == nil || f.Title() != "the moon is full" || f.Advice() != fault.RetryLater || f.Delivery != fault.Unknown || f.Error() != "gauze: later: the moon is full: d" {
		t.Errorf("%+v", f)
	}
	if f.Shown() != f {
		t.Error("it is not parsed again")
	}
}

func TestOnlyWhatGauzeSaysIsAFault(t *testing.T) {
	for _, data := range []string{``, `null`, `5`, `{}`, `{"code":"outcome-unknown"}`, `{"source":"server","code":"outcome-unknown"}`, `{"source":"gauze"}`} {
		if f := fault.Parse([]byte(data)); f != nil {
			t.Errorf("%s: %v", data, f)
		}
	}
}

// Programs may make a Fault of their own, for a test or by mistake.
func TestAFaultWithoutACodeDoesNotPanic(t *testing.T) {
	f := &fault.Fault{Detail: "password=hunter2"}
	_, _, _, _ = f.Model(), f.Terminal(false), f.Error(), f.Advice()
	_, _ = f.ToolResult(true), f.JSON()
	if shown := f.Shown(); shown == nil || shown.Detail != "" {
		t.Errorf("%v", shown)
	}
}
