package minimal

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestMinimalServerAnswersEveryRequestWithItsOwnID(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":"g1-1","method":"tools/list"}` + "\n" +
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":8,"method":"ping"}` + "\n" +
		`{"jsonrpc":"2.0","id":9,"method":"server/discover"}` + "\n"
	var out strings.Builder
	if err := Serve(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		var a struct {
			ID     json.RawMessage
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		kind := "result"
		if a.Error != nil {
			kind = "error"
		}
		got = append(got, string(a.ID)+" "+kind)
	}
	if want := `"init" result, "g1-1" result, 7 result, 8 result, 9 error`; strings.Join(got, ", ") != want {
		t.Errorf("answers %s, want %s", strings.Join(got, ", "), want)
	}
	if !strings.Contains(out.String(), `"text":"hello"`) {
		t.Error("the text was not echoed")
	}
}
