package hub

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/disk/remembered"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
)

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}`

// ofEra is faulty for a server of one era.
func ofEra(t *testing.T, era, key string, more ...string) string {
	t.Helper()
	return strings.Replace(faulty(t, key, more...), `"-ledger"`, `"-era","`+era+`","-ledger"`, 1)
}

// ask sends a request without a session. name is what Mcp-Name says; "": there is none.
func ask(t *testing.T, ctx context.Context, url, method, name, params string) *http.Response {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, meta, params)
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}}
	if name != "" {
		r.Header.Set("Mcp-Name", name)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

func answerTo(t *testing.T, url, method, name, params string) (int, string) {
	t.Helper()
	response := ask(t, t.Context(), url, method, name, params)
	var text bytes.Buffer
	text.ReadFrom(response.Body)
	return response.StatusCode, text.String()
}

func TestAllServersWithoutSessions(t *testing.T) {
	t.Parallel()
	_, base := serveHTTP(t, Options{Front: gateway.Options{Drain: -1}}, file(t, ofEra(t, "modern", "one"), ofEra(t, "both", "two"), ofEra(t, "legacy", "old"),
		"profiles:\n  new: {servers: [one, two]}\n"))
	url := base + "/mcp/p/new"
	if status, got := answerTo(t, url, "server/discover", "", ""); status != 200 || !strings.Contains(got, `"supportedVersions":["2026-07-28"]`) {
		t.Errorf("server/discover: %d %s", status, got)
	}
	if _, got := answerTo(t, url, "tools/list", "", ""); !strings.Contains(got, `"one__env"`) || !strings.Contains(got, `"two__env"`) || !strings.Contains(got, `"ttlMs":0,"cacheScope":"private"`) {
		t.Errorf("tools/list: %s", got)
	}
	if _, got := answerTo(t, url, "tools/call", "two__env", `,"name":"two__env","arguments":{}`); !strings.Contains(got, "GAUZE_TEST_KEY=two") || !strings.Contains(got, `"resultType":"complete"`) {
		t.Errorf("a call: %s", got)
	}
	if status, got := answerTo(t, url, "tools/call", "one__env", `,"name":"two__env","arguments":{}`); status != 400 || !strings.Contains(got, "-32020") {
		t.Errorf("another name in the header: %d %s", status, got)
	}
	stream := bufio.NewScanner(ask(t, t.Context(), url, "subscriptions/listen", "", `,"notifications":{"toolsListChanged":true}`).Body)
	for stream.Scan() && !strings.HasPrefix(stream.Text(), "data:") {
	}
	if got := stream.Text(); !strings.Contains(got, "notifications/subscriptions/acknowledged") || !strings.Contains(got, `subscriptionId":1}`) || !strings.Contains(got, `"notifications":{"toolsListChanged":true}`) {
		t.Errorf("subscriptions/listen: %s", got)
	}
	// With a server that has only sessions, clients have to use them.
	if status, got := answerTo(t, base+"/mcp", "server/discover", "", ""); status != 404 || !strings.Contains(got, "-32601") {
		t.Errorf("server/discover with an old server: %d %s", status, got)
	}
	client := &web{t: t, url: base + "/mcp"}
	client.open()
	if got := client.call("two__env"); !strings.Contains(got, "GAUZE_TEST_KEY=two") {
		t.Errorf("a server of both eras: %s", got)
	}
}

// A client that leaves cancels its call, and no other.
func TestLeavingCancels(t *testing.T) {
	t.Parallel()
	_, base := serveHTTP(t, Options{Front: gateway.Options{Drain: -1}}, file(t, ofEra(t, "modern", "one"), ofEra(t, "modern", "two")))
	url := base + "/mcp"
	ctx, leave := context.WithCancel(t.Context())
	const progress = `,"arguments":{"n":1000000,"interval_ms":5},"name":"one__progress"`
	body := strings.Replace(meta, `"_meta":{`, `"_meta":{"progressToken":7,`, 1)
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+body+progress+`}}`))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"},
		"Mcp-Method": {"tools/call"}, "Mcp-Name": {"one__progress"}}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), `"progressToken":7`) {
	}
	if !strings.Contains(lines.Text(), `"progressToken":7`) {
		t.Fatal("no progress under the client's token")
	}
	leave()
	response.Body.Close()
	if _, got := answerTo(t, url, "tools/call", "one__env", `,"name":"one__env","arguments":{}`); !strings.Contains(got, "GAUZE_TEST_KEY=one") {
		t.Errorf("the next call: %s", got)
	}
}

// speak sends requests over stdio without a session and returns the responses by their ids.
func speak(t *testing.T, h *Hub, requests ...string) map[string]string {
	t.Helper()
	in := ""
	for i, method := range requests {
		method, params, _ := strings.Cut(method, " ")
		in += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s%s}}`+"\n", i+1, method, meta, params)
	}
	var out bytes.Buffer
	if err := h.Serve(t.Context(), Client{}, "", "", strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{}
	for line := range strings.Lines(out.String()) {
		var m struct{ ID json.RawMessage }
		if json.Unmarshal([]byte(line), &m) == nil && m.ID != nil {
			answers[string(m.ID)] = line
		}
	}
	return answers
}

// What was remembered answers for servers that cannot even start.
func TestDiscoverNeedsNoServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "there")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f := file(t, ofEra(t, "modern", "one", fmt.Sprintf("cwd: %q", dir)))
	o := Options{}
	o.Session.Known.Shelf = remembered.In(t.TempDir())
	before := speak(t, start(t, o, f), "server/discover", "tools/list")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	after := speak(t, start(t, o, f), "server/discover", "tools/list", `tools/call ,"name":"one__env","arguments":{}`)
	if before["1"] != after["1"] || !strings.Contains(after["1"], "named faults") || before["2"] != after["2"] || !strings.Contains(after["2"], "one__env") {
		t.Errorf("before %v\nafter %v", before, after)
	}
	if !strings.Contains(after["3"], `"isError":true`) {
		t.Errorf("a call of a server that cannot start: %s", after["3"])
	}
}

// Servers that are not listed because of their version are known by what they answered.
func TestUnlistedServersAreKnown(t *testing.T) {
	t.Parallel()
	f := file(t, ofEra(t, "legacy", "old"), ofEra(t, "modern", "new"), ofEra(t, "both", "both"), "profiles:\n  mixed: {servers: [old, new]}\n  rest: {servers: [new, both]}\n")
	kept := remembered.In(t.TempDir())
	if got := UnlistedOf(f, kept); got != nil {
		t.Errorf("before anything is known: %v", got)
	}
	o := Options{}
	o.Session.Known.Shelf = kept
	h := start(t, o, f)
	if got := speak(t, h, "server/discover"); !strings.Contains(got["1"], "-32601") {
		t.Errorf("server/discover: %v", got)
	}
	got, err := talk(t, h, Client{}, "", "", `"method":"tools/list"`)
	if err != nil || !strings.Contains(got["1"], "old__env") || !strings.Contains(got["1"], "both__env") || strings.Contains(got["1"], "new__") {
		t.Errorf("listed %v, %v", got, err)
	}
	h.End() // what is remembered is written
	if got, want := UnlistedOf(f, kept), []Unlisted{{"new", "2026-07-28", []string{"/mcp", "/mcp/p/mixed"}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
