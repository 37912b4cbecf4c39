package proxy

import (
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
	"github.com/gauze-mcp/gauze/internal/wrap/stages/gate"
)

// kept is a shelf in memory.
type kept map[string][]byte

func (k kept) Get(whose string) []byte          { return k[whose] }
func (k kept) Put(whose string, content []byte) { k[whose] = content }

// A model may read either of two tools with one name, so together they are neither.
func TestTwoToolsOfOneNameAreNotTheAcceptedOne(t *testing.T) {
	const good, evil = `{"name":"echo","description":"returns text"}`, `{"name":"echo","description":"EVIL"}`
	shelf, spec := kept{}, launch.Spec{Command: "notes"}
	l := &lock{kept: shelf, whose: []string{acceptedBy(spec, ""), acceptedBy(spec, "")}}
	one := probe.ReadTools([]byte(`{"tools":[` + good + `]}`))
	Accept(shelf, spec, one)
	if left := NotAccepted(shelf, spec, one); len(left) != 0 {
		t.Errorf("%d tools are not accepted", len(left))
	}
	for _, list := range []string{good + "," + evil, evil + "," + good, good + "," + good} {
		tools := probe.ReadTools([]byte(`{"tools":[` + list + `]}`))
		if left := NotAccepted(shelf, spec, tools); len(left) != 2 {
			t.Errorf("%s: %d of them are shown, want both", list, len(left))
		}
		both := readLocked(tools[1].Raw, readLocked(tools[0].Raw, nil)).(*gate.Tool)
		now := map[string]string{"echo": both.Hash}
		if l.accepted(now)["echo"] == both.Hash || now["echo"] != hashes(tools)["echo"] {
			t.Errorf("%s: accepted %q, now %q", list, l.accepted(now), now)
		}
	}
}

// Nor is one whose entry readers disagree on.
func TestAnAmbiguousEntryIsNotTheAcceptedOne(t *testing.T) {
	const good = `{"name":"echo","description":"good","inputSchema":{"type":"object"}}`
	for _, entry := range []string{
		`{"name":"echo","description":"EVIL","description":"good","inputSchema":{"type":"object"}}`,
		`{"name":"echo","Description":"EVIL","description":"good","inputSchema":{"type":"object"}}`,
		`{"name":"echo","description":"good","inputSchema":{"type":"object"},"inputSchema":{"type":"object"}}`,
	} {
		accepted := readLocked([]byte(good), nil).(*gate.Tool)
		for name, before := range map[string]any{"alone": nil, "after the good one": accepted} {
			tool, ok := readLocked([]byte(entry), before).(*gate.Tool)
			if !ok || tool.Hash == accepted.Hash || tool.Hash == "" {
				t.Errorf("%s, %s: %+v", entry, name, tool)
				continue
			}
			gate.Prepare([]any{tool}) // as the kernel does
		}
	}
}

// A user who was shown the first list and did not accept it has accepted nothing, and neither has one whose record is damaged.
func TestWhatWasNotAccepted(t *testing.T) {
	spec, now := launch.Spec{Command: "notes"}, map[string]string{"echo": "hash"}
	for name, c := range map[string]struct {
		before func(kept)
		want   string
	}{
		"nobody was asked":  {func(kept) {}, "hash"},
		"the user declined": {func(k kept) { Reject(k, spec) }, ""},
		"a damaged record":  {func(k kept) { k.Put(acceptedBy(spec, ""), []byte("{")) }, ""},
		"declined later":    {func(k kept) { keepAccepted(k, acceptedBy(spec, ""), now); Reject(k, spec) }, "hash"},
	} {
		shelf := kept{}
		c.before(shelf)
		l := &lock{kept: shelf, whose: []string{acceptedBy(spec, "someone"), acceptedBy(spec, "")}}
		if got := l.accepted(now)["echo"]; got != c.want {
			t.Errorf("%s: accepted %q, want %q", name, got, c.want)
		}
	}
}
