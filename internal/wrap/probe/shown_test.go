package probe

import (
	"strings"
	"testing"
)

// What a person approves is all that a model reads.
func TestShownIsAllThatAModelReads(t *testing.T) {
	for name, c := range map[string]struct{ entry, want string }{
		"escapes":                          {`{"description":"\u0045\u0056\u0049\u004c <b>"}`, "\"description\": \"EVIL <b>\""},
		"a control sequence":               {"{\"description\":\"a\u009dEVIL\u009cb\"}", "EVIL"},
		"tag characters":                   {"{\"description\":\"a\U000e0045\U000e0056b\"}", `\udb40\udc45\udb40\udc56`},
		"many spaces":                      {`{"description":"a` + strings.Repeat(" ", 500) + `EVIL"}`, "‹500 spaces›EVIL"},
		"a letter that looks like another": {`{"description":"p` + "а" + `y"}`, "p‹U+0430›y"},
		"a name twice":                     {`{"description":"EVIL","description":"good"}`, "\"description\": \"EVIL\",\n  \"description\": \"good\""},
		"escapes, and a name twice":        {`{"x":1,"x":2,"description":"\u0045\u0056\u0049\u004c"}`, `"description": "EVIL"`},
		"escapes in the second":            {`{"name":"a"}` + "\n" + `{"description":"\u0045\u0056\u0049\u004c"}`, `"description": "EVIL"`},
		"two entries":                      {`{"name":"a"}` + "\n" + `{"name":"EVIL"}`, "EVIL"},
		"more than JSON":                   {`{"name":"a"}} EVIL`, "EVIL"},
		"no JSON":                          {`{"name":`, `{"name":`},
		"long":                             {`{"description":"` + strings.Repeat("word", 5000) + `EVIL"}`, "EVIL"},
	} {
		if got := Shown([]byte(c.entry)); !strings.Contains(got, c.want) {
			t.Errorf("%s: shown as %.300q, want %q in it", name, got, c.want)
		}
	}
}

// A hash belongs to one meaning.
func TestADefinitionWithANameTwiceIsADifferentOne(t *testing.T) {
	good := Definition([]byte(`{"name":"a","inputSchema":{"type":"object"},"description":"good"}`))
	if same := Definition([]byte(`{ "description": "good", "inputSchema": {"type": "object"}, "name": "a" }`)); same != good {
		t.Error("order and spacing count")
	}
	for _, entry := range []string{
		`{"name":"a","inputSchema":{"type":"object"},"description":"EVIL","description":"good"}`,
		`{"name":"a","inputSchema":{"type":"EVIL","type":"object"},"description":"good"}`,
		`{"name":"a","inputSchema":{"type":"object"},"description":"good"}{}`,
	} {
		if Definition([]byte(entry)) == good {
			t.Errorf("%s is taken for the good one", entry)
		}
	}
}
