package kernel_test

import (
	"fmt"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/event"
)

// Whatever the client's ids are, the server gets integers. Clients read "5" and
// 5.0 as the answer to 5, so it is one here.
func TestAServerThatAcceptsIntegerIDsOnly(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"integers", "integers-as-strings", "integers-as-floats"} {
		t.Run(kind, func(t *testing.T) {
			s := beginPlain(t, kind, "")
			s.send(`{"jsonrpc":"2.0","id":"a string","method":"tools/call","params":{"name":"go","arguments":{}}}`)
			if got := s.text(s.answer(`"a string"`)); got != "went" {
				t.Errorf("answered %q", got)
			}
		})
	}
}

// A client counts its own streams as it likes: its numbers never meet ours.
func TestStreamsKeepTheClientsNumbers(t *testing.T) {
	t.Parallel()
	s := begin(t, quick(), "-era", "modern").discover()
	open := func(id int) {
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},%s}}`, id, modernMeta))
	}
	tagged := func(m message) string {
		return string(kernel.SubscriptionOf(m.Params))
	}
	const streams = 12 // more than the ids we have used by now
	for id := 1; id <= streams; id++ {
		open(id)
		if m := s.notice("notifications/subscriptions/acknowledged", id); tagged(m) != fmt.Sprint(id) {
			t.Fatalf("stream %d is acknowledged as %s", id, m.raw)
		}
		s.text(s.answer(s.startModern("echo", `{"text":"x"}`)))
	}
	changed := func(generation int) {
		t.Helper()
		s.text(s.answer(s.startModern("change_tools", "")))
		seen := map[string]int{}
		for n := 1 + (generation-1)*streams; n <= generation*streams; n++ {
			seen[tagged(s.notice("notifications/tools/list_changed", n))]++
		}
		for id := 1; id <= streams; id++ {
			if seen[fmt.Sprint(id)] != 1 {
				t.Errorf("generation %d: stream %d was told %d times (%v)", generation, id, seen[fmt.Sprint(id)], seen)
			}
		}
	}
	changed(1)
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,%s}}`, modernMeta))
	s.until("stream 3 is over", func() bool {
		return s.session.Inside().Calls == streams-1 && s.session.Inside().Opened == streams-1
	})
	s.text(s.answer(s.startModern("echo", `{"text":"x"}`)))
	if strings.Contains(s.told(), `"id":3,"result"`) {
		t.Error("a cancelled stream was answered")
	}
}

// Streams that are opened again have another id of ours, and the same of the
// client's.
func TestAReopenedStreamKeepsTheClientsID(t *testing.T) {
	t.Parallel()
	s := begin(t, quick(), "-era", "modern").discover()
	s.send(strings.Replace(listen, `"L"`, `2`, 1))
	s.notice("notifications/subscriptions/acknowledged", 1)
	s.kill()
	s.await(event.Restored, 1)
	s.text(s.answer(s.startModern("change_tools", "")))
	if m := s.notice("notifications/tools/list_changed", 1); string(kernel.SubscriptionOf(m.Params)) != "2" {
		t.Errorf("told %s", m.raw)
	}
	if n := s.session.Inside().Opened; n != 1 {
		t.Errorf("%d ids of streams are known, want 1", n)
	}
}
