package gateway

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
)

const logLine = `{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"of the first client\"}}`

// logging posts a modern tools/call that asks for log messages.
func (c *client) logging(tool, arguments string) *answer {
	c.t.Helper()
	body, headers := modernRequest("1", "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments),
		`"io.modelcontextprotocol/logLevel":"debug"`)
	return c.request("POST", body, headers...).want(200)
}

// A log message over stdio names no request. It may be a late one of a client
// that has its answer, so the next client must not get it.
func TestALateLogMessageReachesNoOtherClient(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	first, second := f.client(), f.client()
	if m := first.logging("notify", `{"message":"`+logLine+`"}`).next(); m.Method != "notifications/message" {
		t.Fatalf("the only client was told %s, want its log message", m.raw)
	}
	first.logging("echo", `{"text":"x"}`).result()
	a := second.logging("notify", `{"message":"`+logLine+`"}`)
	if m := a.next(); m.Method != "" {
		t.Errorf("the second client was told %s", m.raw)
	}
	// From now on it is not known whose a message is, whoever calls.
	if m := first.logging("notify", `{"message":"`+logLine+`"}`).next(); m.Method != "" {
		t.Errorf("the first client was told %s", m.raw)
	}
}

func TestAProxyHidesWhoTheClientIs(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	c := f.client("X-Forwarded-For", "192.0.2.1")
	if m := c.logging("notify", `{"message":"`+logLine+`"}`).next(); m.Method != "" {
		t.Errorf("told %s", m.raw)
	}
}

func TestARequestNamedLikeANotificationIsNotForwarded(t *testing.T) {
	t.Parallel()
	for _, era := range []faultyhttp.Era{faultyhttp.Legacy, faultyhttp.Modern} {
		t.Run(fmt.Sprint(era), func(t *testing.T) {
			server := faultyhttp.New(faultyhttp.Config{Era: era})
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { server.Close() })
			f := serveURL(t, quickly(), server.URL())
			c := f.client()
			if era == faultyhttp.Legacy {
				c.initialize("2025-06-18")
			}
			for _, method := range []string{"notifications/cancelled", "notifications/progress", "notifications/made-up"} {
				var a *answer
				if era == faultyhttp.Modern {
					a = c.modern("7", method, `{"requestId":1}`)
				} else {
					a = c.request("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{"requestId":7}}`, method))
				}
				if m := a.result(); m.Error == nil || m.Error.Code != codeInvalidRequest || string(m.ID) != "7" {
					t.Errorf("%s: told %s", method, m.raw)
				}
				for _, r := range server.Requests() {
					if r.Method == method {
						t.Errorf("the server got %s", method)
					}
				}
			}
		})
	}
}

// Ids towards a server that clients share cannot be guessed, nor can progress
// tokens.
func TestIDsTowardsASharedServerCannotBeGuessed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 2 {
		f := serve(t, quickly())
		f.client().modernCall("1", "append", `{"key":"k","value":"v"}`).want(200).result()
		body, headers := modernRequest("2", "tools/call", `{"name":"echo_raw_params","arguments":{}}`, `"progressToken":"p"`)
		said := f.client().request("POST", body, headers...).want(200).result().raw
		for name, text := range map[string]string{"id": f.executed(), "token": said} {
			found := regexp.MustCompile(`\b1[0-9]{15}\b|\b2[0-9]{15}\b`).FindString(text)
			if found == "" || seen[found] {
				t.Errorf("the %s is %q in %s", name, found, strings.TrimSpace(text))
			}
			seen[found] = true
		}
	}
}
