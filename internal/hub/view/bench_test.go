package view

import (
	"context"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// instant is a server that answers every request immediately, without work of its own.
type instant struct {
	tell func(proxy.Told)
	line []byte
}

func (s *instant) Attend(ctx context.Context) error { <-ctx.Done(); return nil }
func (s *instant) Flush()                           {}
func (s *instant) Hurry()                           {}

func (s *instant) FromClient(line []byte) {
	m, _, err := wire.Scan(line)
	if err != nil || m.Kind != wire.Request {
		return
	}
	result := `{"content":[{"type":"text","text":"hello"}]}`
	if m.Method == "tools/list" {
		result = `{"tools":[{"name":"echo"}]}`
	}
	s.line = append(append(append(append(append(s.line[:0], `{"jsonrpc":"2.0","id":`...), m.ID...), `,"result":`...), result...), '}')
	s.tell(proxy.Told{Line: s.line, About: m.ID, Answer: true})
}

// BenchmarkACall measures what a view does for a call and its response.
func BenchmarkACall(b *testing.B) {
	var members []Member
	for _, key := range []string{"one", "two", "three"} {
		members = append(members, Member{Key: key, Open: func(tell func(proxy.Told)) Server { return &instant{tell: tell} }})
	}
	answers := make(chan bool, 1)
	v := New(Options{Members: members, Tell: func(t proxy.Told) { answers <- t.Answer }})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- v.Attend(ctx) }()
	ask := func(line string) {
		v.FromClient([]byte(line))
		<-answers
	}
	ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	call := []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"two__echo","arguments":{"text":"hello"}}}`)
	b.ReportAllocs()
	for b.Loop() {
		v.FromClient(call)
		<-answers
	}
	stop()
	<-ended
}
