package plaintext

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEncodedJSONShowsEveryCharacter(t *testing.T) {
	value := map[string]any{"a\u202eb": "\u009b31m\u202e\u2066\u200b\ufeff\u00ad\x7f\u2028\U000e0041<&> ünïcödé 日本\n", "raw": json.RawMessage("\"\u009d\u202e\"")}
	for _, indent := range []string{"", "  "} {
		text, err := EncodeJSON(value, indent)
		if err != nil {
			t.Fatal(err)
		}
		if at := strings.IndexFunc(strings.ReplaceAll(string(text), "\n", ""), Unseen); at >= 0 {
			t.Errorf("an unseen character at %d of %q", at, text)
		}
		var back map[string]any
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if back["a\u202eb"] != value["a\u202eb"] || back["raw"] != "\u009d\u202e" {
			t.Errorf("%q decodes to %q", text, back)
		}
		if !strings.Contains(string(text), "<&> ünïcödé 日本") {
			t.Errorf("readable characters are escaped: %s", text)
		}
	}
}
