package kernel_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
	"github.com/gauze-mcp/gauze/llm"
)

// A healthy call costs nothing, whether or not a model and a doctor are configured: no stage holds it, and
// asking them allocates nothing.
func TestASuccessfulCallIsNotHeld(t *testing.T) {
	s := New(Options{Spec: launch.Spec{Command: "x"}, Calls: &callQuack{}, Models: func(string, Sampler) llm.Model { panic("asked") }})
	m, _, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("words ", 40) + `"}],"isError":false}}`))
	if err != nil {
		t.Fatal(err)
	}
	c := kernel.CallOf("find")
	answer := func() {
		if s.AskStages(c, &m) {
			t.Fatal("held")
		}
	}
	for range 1000 {
		answer() // the places of the last calls are filled
	}
	if n := testing.AllocsPerRun(100, answer); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkASuccessfulCallAtTheStages(b *testing.B) {
	s := New(Options{Calls: &callQuack{}, Spec: launch.Spec{Command: "x"}})
	m, _, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("words ", 40) + `"}]}}`))
	if err != nil {
		b.Fatal(err)
	}
	c := kernel.CallOf("say")
	b.ReportAllocs()
	for b.Loop() {
		if s.AskStages(c, &m) {
			b.Fatal("held")
		}
	}
}

// A call that is forwarded, checked against its schema and counted allocates nothing on its way there and back.
func TestAForwardedCallAllocatesNothing(t *testing.T) {
	windowstest.Skip(t)
	path, args, env := faultyserver.Command()
	s := New(Options{Spec: launch.Spec{Command: path, Args: args, Env: append(os.Environ(), env...)}, Lazy: true, Idle: time.Hour})
	s.Unchecked() // the check allocates
	in, toSession := io.Pipe()
	answered := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(t.Context(), in, lineCounter(answered)) }()
	say := func(line []byte) {
		toSession.Write(line)
		<-answered
	}
	say([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n"))
	toSession.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"))
	say([]byte(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"))

	const calls = 2_000
	var lines [][]byte
	for i := range calls + 200 {
		lines = append(lines, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"Bonn"}}}`+"\n", i+3))
	}
	for _, line := range lines[calls:] {
		say(line) // buffers grow, the schema is compiled
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, line := range lines[:calls] {
		say(line)
	}
	runtime.ReadMemStats(&after)
	// The race detector lets a sync.Pool forget one in four, and there is a little in the background.
	if n := float64(after.Mallocs-before.Mallocs) / calls; n > 0.5 {
		t.Errorf("%.2f allocations for each call", n)
	}
	toSession.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// lineCounter gets a message for each line that is written.
type lineCounter chan struct{}

func (c lineCounter) Write(b []byte) (int, error) {
	for range bytes.Count(b, []byte{'\n'}) {
		c <- struct{}{}
	}
	return len(b), nil
}
