package repair

import (
	"strings"
	"testing"
)

// What a server is not known to enforce is changed only if that cannot hurt.
func TestLenientServersGetOnlyHarmlessRepairs(t *testing.T) {
	schema := Compile([]byte(`{"type":"object","properties":{"n":{"type":"integer"},"unit":{"enum":["km","degree-days","celsius"]},` +
		`"tags":{"type":"array","items":{"type":"string"}},"size":{"type":"integer","default":3},"note":{"type":"string"},"on":{"type":"string","format":"date-time"},` +
		`"either":{"anyOf":[{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a"]},{"type":"boolean"}]}},` +
		`"required":["size"],"additionalProperties":false}`))
	const all = Keys | Values
	for _, test := range []struct {
		lenient         Aspect
		arguments, want string // want is empty: not repaired
	}{
		{all, `{"size":1,"n":"5"}`, `{"size":1,"n":5}`},
		{all, `{"size":1,"n":5,"unit":"Celsius"}`, `{"size":1,"n":5,"unit":"celsius"}`},
		{all, `{"Size":1}`, `{"size":1}`},
		{all, `{"params":{"size":1}}`, `{"size":1}`},
		{all, `{"size":1,"note":7}`, `{"size":1,"note":"7"}`},
		{all, `{"size":1,"n":null}`, ``},
		{Keys, `{"size":1,"n":null}`, `{"size":1}`},
		{0, `{"size":1,"n":null}`, `{"size":1}`},
		{all, `{"size":1,"unit":"degree days"}`, ``},
		{Keys, `{"size":1,"unit":"degree days"}`, `{"size":1,"unit":"degree-days"}`},
		{Values, `{"size":1,"tags":"a"}`, ``},
		{Keys, `{"size":1,"tags":"a"}`, `{"size":1,"tags":["a"]}`},
		{Keys, `{"n":1}`, ``},
		{Values, `{"n":1}`, `{"n":1,"size":3}`},
		{Values, `{"size":1,"extra":""}`, ``},
		{0, `{"size":1,"extra":""}`, `{"size":1}`},
		{all, `{"size":1,"either":{"a":1,"b":null}}`, ``}, // in a branch also
		{Keys, `{"size":1,"either":{"a":1,"b":null}}`, `{"size":1,"either":{"a":1}}`},
		{all, `{"size":1,"n":"5","tags":null}`, ``}, // all or nothing
		{Formats, `{"size":1,"on":""}`, ``},         // it may clear the date
		{0, `{"size":1,"on":""}`, `{"size":1}`},
		{Formats, `{"size":1,"on":"","n":null}`, `{"size":1}`}, // the server rejects it as it is
	} {
		out := schema.Arguments([]byte(test.arguments), Options{Tier: Told, Lenient: test.lenient})
		switch {
		case test.want == "" && (out.Verdict != Refused || string(out.Arguments) != test.arguments):
			t.Errorf("%s, lenient %b: %v, %s", test.arguments, test.lenient, out.Verdict, out.Arguments)
		case test.want != "" && string(out.Arguments) != test.want:
			t.Errorf("%s, lenient %b: %v, %s, want %s", test.arguments, test.lenient, out.Verdict, out.Arguments, test.want)
		}
	}
}

// Only a server that complains about a format is known to check formats.
func TestWhatARejectionProves(t *testing.T) {
	for said, want := range map[string]Aspect{
		`Input validation error: 'x' is not of type 'integer'`:               Keys | Values,
		`Input validation error: '' is not a 'date-time'`:                    Keys | Values | Formats,
		`[{"code": "invalid_format", "format": "datetime", "path": ["on"]}]`: Formats,
		`[{"code":"invalid_type","expected":"number","received":"string"}]`:  Keys | Values,
		`on: Input should be a valid datetime or date, input is too short`:   Values | Formats,
		`data/on must match format "date-time"`:                              Formats,
		`Invalid email`:                                                      Formats,
		`2 validation errors for call[f]: n: Field required`:                 Keys,
		`the report is not a 'summary', and invalid dates are left out`:      0,
	} {
		if got := Enforced(said); got != want {
			t.Errorf("%q: %b, want %b", said, got, want)
		}
	}
}

func TestAToolIsRejectedInKnownWords(t *testing.T) {
	for said, want := range map[string]bool{
		"MCP error -32602: Tool get_wether not found": true,
		"Unknown tool: get_wether":                    true,
		`unknown tool "get_wether"`:                   true,
		"tool not found":                              true,
		"No such tool":                                true,
		"no such city":                                false,
		"the file was not found":                      false,
		"Unknown tool: " + strings.Repeat("x", 1000):  false,
	} {
		if got := RejectsTool(said); got != want {
			t.Errorf("%.60q: %v", said, got)
		}
	}
}

// A message about a call that was sent must not say that it was not.
func TestARejectedCallIsNotSaidToBeUnsent(t *testing.T) {
	schema := Compile([]byte(`{"type":"object","properties":{"n":{"type":"integer"}}}`))
	for _, arguments := range []string{`{"n":"x"}`, `{`} {
		out := schema.Arguments([]byte(arguments), Options{})
		for times := 1; times <= 3; times++ {
			m := schema.explain(message{schema: schema, tool: "f", times: times, found: rejectedCall}, out)
			if !strings.HasPrefix(m.Text, "The server rejected the call to `f`: ") || strings.Contains(m.Text+string(m.Data), "not run") {
				t.Errorf("%s", m.Text)
			}
		}
	}
	if m := unknownTool("f", []string{"g"}, 1, true); strings.Contains(m.Text+string(m.Data), "was not run") || !strings.Contains(m.Text, "`g`") {
		t.Errorf("%s", m.Text)
	}
}
