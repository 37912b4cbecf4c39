package kernel_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

// Verbs about what is on the wire.

// syncBuffer is a log that several may write.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *syncBuffer) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Len()
}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// initializeAs does the legacy handshake in this version.
func (s *story) initializeAs(version string) *story {
	s.t.Helper()
	m := s.answer(s.request("initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`))
	if m.Error != nil || !strings.Contains(m.raw, version) {
		s.t.Fatalf("initialize: %s\n%s", m.raw, s.told())
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	s.answer(s.request("tools/list", ""))
	return s
}

// writeByServer makes the server write a line to its stdout, whatever it is.
func (s *story) writeByServer(line string) {
	s.t.Helper()
	s.call("notify", `{"message":`+quoted(line)+`}`)
}

// upstreamID is the id under which the server got its latest call of a tool.
func (s *story) upstreamID(tool string) (id string) {
	s.t.Helper()
	for _, seen := range s.state().Seen {
		if bytes.Contains(seen.Params, fmt.Appendf(nil, `"name":%q`, tool)) {
			id = string(seen.ID)
		}
	}
	if id == "" {
		s.t.Fatalf("the server has not seen %s\n%s", tool, s.told())
	}
	return id
}

// refusals are those of messages whose id could not be read.
func (s *story) refusals() (all []message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.lines {
		if m.Error != nil && string(m.ID) == "null" {
			all = append(all, m)
		}
	}
	return all
}

// memoryInUse is the heap after a collection: what is held.
func memoryInUse() int {
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return int(now.HeapInuse)
}

// memoryTaken is all that was ever allocated: what was held at any time is
// less.
func memoryTaken() int {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return int(now.TotalAlloc)
}

// stop freezes the server: it reads nothing until resume is called.
func (s *story) stop() {
	s.t.Helper()
	if err := faultyserver.Suspend(s.pid()); err != nil {
		s.t.Fatalf("suspending the server: %v", err)
	}
}

func (s *story) resume() {
	s.t.Helper()
	if err := faultyserver.Resume(s.pid()); err != nil {
		s.t.Fatalf("resuming the server: %v", err)
	}
}
