package gateway

import (
	"net"
	"net/http/httptest"
	"strings"
	"testing"
)

// Who is refused hears what is wrong with the request, and which flag would allow it.
func TestRefusalsSayWhatToDo(t *testing.T) {
	g := newGuard(Options{Tokens: []string{"token-of-a-client-1234567890"}}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7300})
	for _, c := range []struct{ host, name, value, want string }{
		{"evil.example:7300", "", "", `the Host header "evil.example:7300" is not allowed: if clients may reach gauze by this name, start it with --allow-host and the name`},
		{"127.0.0.1:7300", "Origin", "https://evil.example", `the Origin header "https://evil.example" is not allowed: if this page may connect, start gauze with --allow-origin and its origin`},
		{"127.0.0.1:7300", "Sec-Fetch-Site", "cross-site", "a browser sent this request for a page of another site: a page may connect only with one Origin header, which --allow-origin names"},
		{"127.0.0.1:7300", "", "", "a token is required: send it as Authorization: Bearer TOKEN"},
		{"127.0.0.1:7300", "Authorization", "Bearer wrong", "the Authorization header has no token that is accepted at this address: send one as Authorization: Bearer TOKEN"},
	} {
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader("{}"))
		r.Host = c.host
		if c.name != "" {
			r.Header.Set(c.name, c.value)
		}
		refused := g.check(r)
		if refused == nil {
			_, _, refused = g.identify(r)
		}
		if refused == nil || refused.text != c.want {
			t.Errorf("%+v: %+v", c, refused)
		}
	}
}
