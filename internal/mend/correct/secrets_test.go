package correct

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/llm"
)

// A secret may be in any form of argument, and the server may repeat it in its error.
func TestNoSecretIsShownToTheModel(t *testing.T) {
	const s = "hunter2-Zq8x"
	b64 := base64.StdEncoding.EncodeToString([]byte("user:" + s))
	for _, tt := range []struct{ name, schema, args, text string }{
		{"plain echoed", `{}`, `{"password":"` + s + `","n":"x"}`, "Input validation error: " + s},
		{"nested json echoed", `{}`, `{"body":"{\"password\":\"` + s + `\"}","n":"x"}`, "Input validation error: " + s},
		{"nested json twice", `{}`, `{"body":"{\"a\":\"{\\\"password\\\":\\\"` + s + `\\\"}\"}","n":"x"}`, "Input validation error: x"},
		{"json with trailing", `{}`, `{"body":"body={'password': '` + s + `'}","n":"x"}`, "Input validation error: x"},
		{"python literal echoed", `{}`, `{"body":"{'password': '` + s + `'}","n":"x"}`, "Input validation error: got " + s},
		{"query string", `{}`, `{"body":"user=a&password=` + s + `","n":"x"}`, "Input validation error: x"},
		{"query string echoed", `{}`, `{"body":"user=a&password=` + s + `","n":"x"}`, "Input validation error: got " + s},
		{"url userinfo", `{}`, `{"url":"postgres://u:` + s + `@h/db","n":"x"}`, "Input validation error: x"},
		{"url userinfo echoed", `{}`, `{"url":"postgres://u:` + s + `@h/db","n":"x"}`, "Input validation error: bad pw " + s},
		{"header", `{}`, `{"headers":{"X-Api-Key":"` + s + `"},"n":"x"}`, "Input validation error: x"},
		{"header list", `{}`, `{"headers":["Authorization: Bearer ` + s + `"],"n":"x"}`, "Input validation error: x"},
		{"header pair", `{}`, `{"headers":[{"name":"Authorization","value":"` + s + `"}],"n":"x"}`, "Input validation error: x"},
		{"header tuple", `{}`, `{"headers":[["X-Api-Key","` + s + `"]],"n":"x"}`, "Input validation error: x"},
		{"env pair", `{}`, `{"env":[{"key":"DB_PASSWORD","value":"` + s + `"}],"n":"x"}`, "Input validation error: x"},
		{"env line", `{}`, `{"env":["DB_PASSWORD=` + s + `"],"n":"x"}`, "Input validation error: x"},
		{"echo upper", `{}`, `{"password":"` + s + `","n":"x"}`, "Input validation error: " + strings.ToUpper(s)},
		{"echo urlenc", `{}`, `{"password":"a/` + s + `","n":"x"}`, "Input validation error: " + url.QueryEscape("a/"+s)},
		{"echo b64", `{}`, `{"password":"` + s + `","n":"x"}`, "Input validation error: " + base64.StdEncoding.EncodeToString([]byte(s))},
		{"basic b64 arg", `{}`, `{"auth":"Basic ` + b64 + `","n":"x"}`, "Input validation error: x"},
		{"cmd flag", `{}`, `{"args":["--password","` + s + `"],"n":"x"}`, "Input validation error: x"},
		{"cmd line", `{}`, `{"cmd":"mysql -u a --password ` + s + `","n":"x"}`, "Input validation error: x"},
		{"schema default", `{"type":"object","properties":{"password":{"type":"string","default":"` + s + `"},"n":{"type":"integer"}}}`, `{"n":"x"}`, "Input validation error: x"},
		{"schema example", `{"type":"object","properties":{"password":{"type":"string","examples":["` + s + `"]},"n":{"type":"integer"}}}`, `{"n":"x"}`, "Input validation error: x"},
		{"JSON in the error", `{}`, `{"n":"x"}`, `Input validation error: {"password":"` + s + `"}`},
		{"error url", `{}`, `{"n":"x"}`, `Input validation error: https://u:` + s + `@h/`},
		{"as key", `{}`, `{"passwords":{"` + s + `":1},"n":"x"}`, `Input validation error`},
		{"number pin", `{}`, `{"pin":482913,"n":"x"}`, `Input validation error 482913`},
		{"secret inside longer text", `{}`, `{"password":"` + s + `","script":"login(` + s + `)","n":"x"}`, "Input validation error: x"},
	} {
		var q llm.Question
		c := Call{Tool: "x", Schema: repair.Compile([]byte(tt.schema)), Arguments: []byte(tt.args), Rejection: Rejection{Text: tt.text}, Safe: true}
		Ask(context.Background(), modelFunc(func(got llm.Question) (string, error) { q = got; return `{"corrected":false}`, nil }), c, Policy{})
		all := q.Text + string(q.Schema)
		for _, leak := range []string{s, strings.ToUpper(s), url.QueryEscape("a/" + s), base64.StdEncoding.EncodeToString([]byte(s)), b64, "482913"} {
			if strings.Contains(all, leak) {
				t.Errorf("%s: %q is in %s", tt.name, leak, q.Text)
			}
		}
		if (q.Text == "") != (tt.name == "as key") {
			t.Errorf("%s: the question is %q", tt.name, q.Text)
		}
	}
}
