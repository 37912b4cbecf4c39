package hub

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
)

// A profile that is removed is gone for new clients and for those that it has, until it comes back.
func TestARemovedProfile(t *testing.T) {
	t.Parallel()
	one := faulty(t, "one")
	with := file(t, one, "profiles:\n  look: {servers: [one]}\n  other: {servers: [one]}\n")
	h, base := serveHTTP(t, Options{Front: gateway.Options{Drain: patience.Limit()}}, with)
	client := &web{t: t, url: base + "/mcp/p/look"}
	client.open()
	pid := client.call("one__pid")
	if !strings.Contains(pid, `"result"`) {
		t.Fatal(pid)
	}
	stream := listenTo(t, client)
	busy := (&web{t: t, url: client.url, id: client.id}).send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one__progress","arguments":{"n":3,"interval_ms":50},"_meta":{"progressToken":1}}}`)
	defer busy.Body.Close()
	lines := bufio.NewScanner(busy.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), "notifications/progress") {
	}
	if err := h.Change(file(t, one, "profiles:\n  other: {servers: [one]}\n")); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() && !strings.Contains(lines.Text(), `"result"`) {
	}
	if !strings.Contains(lines.Text(), `"id":7`) {
		t.Errorf("the call that it had: %q", lines.Text())
	}
	for name, c := range map[string]*web{"a session that it has": client, "a new client": {t: t, url: client.url}} {
		status, text := c.post(`{"jsonrpc":"2.0","id":1,` + callOf("one__pid") + `}`)
		if want := `the profile "look" was removed from the file of gauze up`; status != 404 || said(text) != want {
			t.Errorf("%s: status %d, %s", name, status, text)
		}
	}
	select {
	case <-stream:
	case <-time.After(patience.Limit()):
		t.Error("the stream of its session stays open")
	}
	h.retired.Wait()
	h.mu.Lock()
	if len(h.open) > 0 || len(h.faces) != 2 {
		t.Errorf("%d sessions and %d gateways stay", len(h.open), len(h.faces))
	}
	h.mu.Unlock()
	if other := (&web{t: t, url: base + "/mcp/p/other"}); other.open() != 200 {
		t.Error("the other profile is gone as well")
	}
	if err := h.Change(with); err != nil {
		t.Fatal(err)
	}
	if status, _ := client.post(`{"jsonrpc":"2.0","id":2,` + callOf("one__pid") + `}`); status != 404 {
		t.Errorf("a session of the profile as it was: status %d", status)
	}
	client.id = ""
	if status := client.open(); status != 200 || !strings.Contains(client.call("one__pid"), `"result"`) {
		t.Errorf("the profile does not come back: status %d", status)
	}
}

// listenTo opens the stream of a client's session. The channel is closed when it ends.
func listenTo(t *testing.T, c *web) <-chan struct{} {
	t.Helper()
	r, _ := http.NewRequest(http.MethodGet, c.url, nil)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Mcp-Session-Id", c.id)
	response, err := http.DefaultClient.Do(r)
	if err != nil || response.StatusCode != 200 {
		t.Fatal(response, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer response.Body.Close()
		io.Copy(io.Discard, response.Body)
	}()
	return ended
}

// said returns the text of a response that is no success.
func said(text string) string {
	var m struct{ Error struct{ Message string } }
	if json.Unmarshal([]byte(text), &m) != nil {
		return strings.TrimSpace(text)
	}
	return m.Error.Message
}

// Whoever asks for something that is not there hears what is, and what to do.
func TestNotFound(t *testing.T) {
	t.Parallel()
	f := file(t, "  notes: {command: [notes]}\n  theirs: {command: [theirs]}\n  some: {command: [some], tools: {deny: [x]}}\nprofiles:\n  review: {servers: [notes]}\n")
	f.Server("theirs").Pending = "nobody has confirmed it. To review and confirm it: gauze up --confirm theirs"
	h, _ := serveHTTP(t, Options{}, f)
	const endpoints = "not found: the endpoints are /mcp, /mcp/SERVER and /mcp/p/PROFILE"
	for path, want := range map[string]string{
		"/":            endpoints,
		"/sse":         endpoints,
		"/mcp/":        endpoints,
		"/mcp/p":       endpoints,
		"/mcp/p/":      endpoints,
		"/mcp/notes/x": endpoints,
		"/mcp/p/a/b":   endpoints,
		"/mcp/note":    `the file of gauze up does not have a server "note"; did you mean "notes"?`,
		"/mcp/xyz":     `the file of gauze up does not have a server "xyz"`,
		"/mcp/review":  `the file of gauze up does not have a server "review", but a profile: use /mcp/p/review`,
		"/mcp/p/reviw": `the file of gauze up does not have a profile "reviw"; did you mean "review"?`,
		"/mcp/p/xyz":   `the file of gauze up does not have a profile "xyz"`,
		"/mcp/p/notes": `the file of gauze up does not have a profile "notes", but a server: use /mcp/notes`,
		"/mcp/theirs":  `the server "theirs" is not started: nobody has confirmed it. To review and confirm it: gauze up --confirm theirs`,
		"/readyz/note": `the file of gauze up does not have a server "note"; did you mean "notes"?`,
		"/mcp/some":    `only some tools of the server "some" are allowed, and /mcp/some would have all of them: use /mcp or /mcp/p/PROFILE`,
		"/mcp/Notes":   `the file of gauze up does not have a server "Notes"; did you mean "notes"?`,
	} {
		if got := h.notFound(path); got != want {
			t.Errorf("%s: got  %s\nwant %s", path, got, want)
		}
	}
}
