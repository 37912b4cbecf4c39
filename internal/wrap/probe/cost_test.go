package probe

import "testing"

// The numbers are those of the tokenizer o200k_base. An estimate may be wrong by a tenth.
func TestEstimatedTokens(t *testing.T) {
	for text, real := range map[string]int{
		`{"type":"object","properties":{"path":{"type":"string"},"head":{"type":"number","description":"If provided, returns only the first N lines of the file"}},"required":["path"]}`: 41,
		`Read the complete contents of a file from the file system as text. Handles various text encodings and provides detailed error messages if the file cannot be read.`:             31,
	} {
		if n := Tokens([]byte(text)); n*10 < real*9 || n*10 > real*11 {
			t.Errorf("%d tokens, want about %d: %s", n, real, text)
		}
	}
	for text, want := range map[string]int{"": 0, "a": 1, " ": 0, "12345678": 3, "日本語": 3, "get_file": 3, "internationalization": 2, "\xff\xfe": 2} {
		if n := Tokens([]byte(text)); n != want {
			t.Errorf("%q has %d tokens, want %d", text, n, want)
		}
	}
}

// Only what clients pass to models counts.
func TestReadTools(t *testing.T) {
	plain := ReadTools([]byte(`{"tools":[{"name":"get","description":"Gets it","inputSchema":{"type":"object"}}]}`))
	more := ReadTools([]byte(`{"tools":[{"name":"get","title":"Get","description":"Gets it","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"_meta":{"x":1}}]}`))
	if len(plain) != 1 || len(more) != 1 || plain[0].Name != "get" || plain[0].Tokens != more[0].Tokens || plain[0].Bytes != more[0].Bytes {
		t.Errorf("%+v and %+v", plain, more)
	}
	if want := len(`"get""Gets it"{"type":"object"}`); plain[0].Bytes != want {
		t.Errorf("%d bytes, want %d", plain[0].Bytes, want)
	}
	for _, none := range []string{"", "null", `{"tools":5}`, `{"tools":[]}`} {
		if tools := ReadTools([]byte(none)); len(tools) > 0 {
			t.Errorf("%s has %v", none, tools)
		}
	}
}
