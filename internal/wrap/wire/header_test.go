package wire

import (
	"strings"
	"testing"
)

func TestHeaderValuesSurviveTheWay(t *testing.T) {
	for _, raw := range []string{`"plain"`, `""`, `" lead"`, `"tail\t"`, `"a\r\nSet-Cookie: x"`, `"Grüße"`, `"=?base64?eA==?="`, `7`, `-3`, `1e2`, `true`, `false`, `9007199254740991`} {
		value, ok := HeaderValue([]byte(raw))
		if !ok {
			t.Errorf("%s has no header value", raw)
		}
		if strings.ContainsAny(value, "\r\n") || !SameValue(value, []byte(raw)) {
			t.Errorf("%s became %q", raw, value)
		}
	}
	for _, raw := range []string{`1.5`, `9007199254740993`, `{}`, `[1]`, `null`, ``} {
		if value, ok := HeaderValue([]byte(raw)); ok {
			t.Errorf("%s became %q", raw, value)
		}
	}
	for header, raw := range map[string]string{"eu": `"us"`, "=?base64?%%?=": `"%%"`, "42": `"43"`, "x": `4`, "true": `false`, "1.5": `1.5`} {
		if SameValue(header, []byte(raw)) {
			t.Errorf("%q counts as %s", header, raw)
		}
	}
}

func TestMirrorsFollowTheRules(t *testing.T) {
	schema := func(properties string) []byte { return []byte(`{"type":"object","properties":{` + properties + `}}`) }
	found := Mirrors(schema(`"region":{"type":"string","x-mcp-header":"Region"},"in":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}`))
	if len(found) != 2 {
		t.Fatalf("%v", found)
	}
	for _, m := range found {
		want := map[string]string{"Region": `"eu"`, "N": `4`}[m.Header]
		if got := m.Value([]byte(`{"in":{"n":4},"region":"eu"}`)); string(got) != want {
			t.Errorf("%s is %s, want %s", m.Header, got, want)
		}
		if got := m.Value([]byte(`{"region":null}`)); got != nil {
			t.Errorf("%s is %s", m.Header, got)
		}
	}
	for _, bad := range []string{
		`"a":{"type":"string","x-mcp-header":"a b"}`,
		`"a":{"type":"string","x-mcp-header":""}`,
		`"a":{"type":"object","x-mcp-header":"A"}`,
		`"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}`,
		`"a":{"type":"string","x-mcp-header":"A\r\nB"}`,
	} {
		if got := Mirrors(schema(bad)); got != nil {
			t.Errorf("%s gave %v", bad, got)
		}
	}
}
