package attach

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// skimmed returns what skim finds in a text that arrives in pieces.
func skimmed(text string, size int) (found []string) {
	var s skim
	for len(text) > 0 {
		n := min(size, len(text))
		s.feed([]byte(text[:n]), func(m message) { found = append(found, fmt.Sprintf("%s %s %s", m.id, m.method, m.cancelled)) })
		text = text[n:]
	}
	return found
}

func TestSkim(t *testing.T) {
	long := strings.Repeat(`\"{}[]:,`, 1000)
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                        `1 "ping" `,
		` { "id" : "a" , "method" : "x" } `:                               `"a" "x" `,
		`{"result":{"id":2,"method":"x"},"id":1}`:                         `1  `,
		`{"params":{"a":[{"id":3}],"id":4,"requestId":"r"},"method":"m"}`: ` "m" "r"`,
		`{"params":{"deep":{"requestId":5}},"id":6,"method":"m"}`:         `6 "m" `,
		`{"id":{"id":7},"method":"m"}`:                                    ` "m" `,
		`{"a":"` + long + `","id":8,"error":{"message":"` + long + `"}}`:  `8  `,
		`[{"id":9,"method":"a"},{"id":10,"method":"b"}]`:                  `9 "a" |10 "b" `,
		`{"id":11,"method":"cut off` + "\n" + `{"id":12}`:                 `12  `,
		`]}}{"id":13}`:           `13  `,
		`{"id":null,"error":{}}`: `null  `,
		`{"method":"a","params":["requestId",1]}` + "\n" + `{"id":14,"params":{},"x":[]}`: ` "a" |14  `,
	} {
		for _, size := range []int{1, 2, 7, len(text)} {
			if got := strings.Join(skimmed(text, size), "|"); got != want {
				t.Errorf("%.60s in pieces of %d: %q, want %q", text, size, got, want)
			}
		}
	}
}

// What skim finds in a valid message is what a decoder finds.
func FuzzSkim(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","requestId":[2]}}`, 3)
	f.Add(`{"id":"\u0061\\","params":{"requestId":"\""},"method":""}`, 1)
	f.Fuzz(func(t *testing.T, text string, size int) {
		if size < 1 || strings.Contains(text, "\n") {
			return
		}
		found := skimmed(text, size)
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method json.RawMessage `json:"method"`
		}
		if strings.Count(strings.ToLower(text), `"id"`) != 1 || strings.Count(text, `"id"`) != 1 || strings.Count(text, `\`) > 0 || !strings.HasPrefix(text, `{`) || json.Unmarshal([]byte(text), &m) != nil {
			return
		}
		id := strings.Trim(string(m.ID), " \t\r")
		if len(found) != 1 {
			t.Fatalf("%q in pieces of %d: %q", text, size, found)
		}
		if got, _, _ := strings.Cut(found[0], " "); id != "" && len(id) < maxWord && !strings.ContainsAny(id, "{[ ") && got != id {
			t.Errorf("%q in pieces of %d: %q, want %q", text, size, got, id)
		}
	})
}
