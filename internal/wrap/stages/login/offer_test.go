package login

import (
	"encoding/json"
	"testing"
)

func TestDialogueIsReplaced(t *testing.T) {
	for _, c := range []struct{ params, responses, state, want string }{
		{`{"inputResponses":{},"requestState":"x"}`, ``, ``, `{}`},
		{`{"requestState" : "x" , "a":1 , "inputResponses" : {} }`, ``, ``, `{"a":1 }`},
		{`{"a":1,"requestState":"x"}`, ``, ``, `{"a":1}`},
		{`{"a":1,"requestState":"x","b":2}`, `{"s":1}`, `"y"`, `{"inputResponses":{"s":1},"a":1,"requestState":"y","b":2}`},
		{`{"a":1,"inputResponses":{},"requestState":"x"}`, `{"s":1}`, ``, `{"a":1,"inputResponses":{"s":1}}`},
		{"{\"a\":1,\r\"requestState\":\"x\"\r,\"b\":2}", ``, ``, "{\"a\":1,\r\"b\":2}"},
	} {
		value := func(raw string) []byte {
			if raw == "" {
				return nil
			}
			return []byte(raw)
		}
		got := withDialogue([]byte(c.params), "inputResponses", value(c.responses))
		got = withDialogue(got, "requestState", value(c.state))
		if string(got) != c.want || !json.Valid(got) {
			t.Errorf("%s: got %s, want %s", c.params, got, c.want)
		}
	}
}
