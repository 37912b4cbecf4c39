package gateway

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// What an address has to stand, whatever is behind it.

func TestFaultD01TokensAreNotGuessed(t *testing.T) {
	t.Parallel()
	o := quickly()
	o.Tokens = []string{"0123456789abcdef"}
	f := serve(t, o)
	refused, burst := map[int]int{}, f.g.guard.tokens.Load().Guesses.Burst()
	f.g.guard.tokens.Load().Guesses.SetLimit(rate.Every(time.Hour)) // none is added, however long the machine takes
	for i := range 2 * burst {
		response := f.rawExchange(crafted{text: to(fmt.Sprintf("Host: HOST\nAuthorization: Bearer guess-number-%04d\n", i))}.wired(f.addr))
		if response == nil {
			t.Fatal("no answer")
		}
		refused[response.StatusCode]++
	}
	if refused[401] != burst || refused[429] != burst {
		t.Errorf("answered %v", refused)
	}
	// In the URL it would be in every log, so it does not count there.
	if response := f.rawExchange(crafted{text: strings.Replace(to("Host: HOST\n"), "/mcp", "/mcp?token=0123456789abcdef&access_token=0123456789abcdef", 1)}.wired(f.addr)); response == nil || response.StatusCode < 400 {
		t.Errorf("%v", response)
	}
	// Who has it is not slowed down by those who have not.
	f.client("Authorization", "Bearer 0123456789abcdef").initialize("2025-06-18")
}

var everyPath = []string{"/", "/mcp", "/healthz", "/readyz", "/nothing", "/mcp/../healthz"}

func TestFaultD02ForeignHostOnEveryPathAndMethod(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	for _, path := range everyPath {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"} {
			for _, more := range []string{"", "Accept: text/event-stream\n", "Connection: Upgrade\nUpgrade: websocket\n"} {
				response := f.rawExchange(crafted{text: method + " " + path + " HTTP/1.1\nHost: attacker.example:PORT\n" + more + "Content-Length: 0\n\n"}.wired(f.addr))
				if response == nil || response.StatusCode != 403 {
					t.Errorf("%s %s: %v", method, path, response)
				}
			}
		}
	}
	f.wantNothingStarted()
}

// wantNothingStarted checks that no server was reached.
func (f *front) wantNothingStarted() {
	f.t.Helper()
	if _, began := f.g.Counters(); began != 0 || f.executed() != "" {
		f.t.Errorf("%d servers were started, and executed %q", began, f.executed())
	}
}

// What a page elsewhere can make a browser send without asking first.
func TestFaultD03CrossSiteRequests(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		for _, from := range []string{"Origin: https://evil.example.com\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: no-cors\n", "Origin: null\n", "Sec-Fetch-Site: cross-site\n", ""} {
			response := f.rawExchange(crafted{text: posted("Host: HOST\nAccept: */*\nContent-Type: "+kind+"\n"+from, initialize)}.wired(f.addr))
			if response == nil || response.StatusCode != 403 && response.StatusCode != 415 || response.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s from %q: %v", kind, from, response)
			}
		}
	}
	f.wantNothingStarted()
}

func TestFaultD04StreamsFromAnotherOrigin(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	for _, path := range everyPath {
		for _, kind := range []string{"Accept: text/event-stream\n", "Connection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\n"} {
			response := f.rawExchange(crafted{text: "GET " + path + " HTTP/1.1\nHost: HOST\nOrigin: https://evil.example.com\n" + kind + "\n"}.wired(f.addr))
			if response == nil || response.StatusCode != 403 {
				t.Errorf("%s: %v", path, response)
			}
		}
	}
}

// Connections that say nothing take places, but not all of them.
func TestFaultD08ManyConnections(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	for range 1000 {
		conn, err := net.Dial("tcp", f.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	f.client().initialize("2025-06-18").call("1", "echo", `{"text":"hello"}`).want(200).result().wantText(t, "hello")
}

func TestFaultD09GetHasNoEffect(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	for _, path := range append(everyPath, "/mcp?method=initialize", "/mcp?action=restart", "/api/servers") {
		for _, override := range []string{"", "X-HTTP-Method-Override: POST\n", "X-HTTP-Method: DELETE\nX-Method-Override: PUT\n"} {
			f.rawExchange(crafted{text: "GET " + path + " HTTP/1.1\nHost: HOST\nAccept: */*\n" + override + "\n"}.wired(f.addr))
		}
	}
	f.wantNothingStarted()
}
