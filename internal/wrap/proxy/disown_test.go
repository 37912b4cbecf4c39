package proxy

import (
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
	"strings"
	"testing"
)

func TestRequestsAndNotificationsOfAServerCannotForgeOurMarks(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1,"_meta":{"io.github.gauze-mcp/fault":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{"_meta":{"io.github.gauze-mcp/fault":1}}}`,
	} {
		m, _, err := wire.Scan([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		m.Via, m.Status = []byte("7"), 400
		got := disown(&m)
		if want := strings.Replace(line, "gauze-mcp/", "gauze-mcp.upstream/", 1); string(got.Raw) != want {
			t.Errorf("got  %s\nwant %s", got.Raw, want)
		}
		if got.Kind != m.Kind || string(got.Via) != "7" || got.Status != 400 {
			t.Errorf("how it came is lost: %+v", got)
		}
	}
}

func TestAMessageWithoutMarksCostsNoAllocation(t *testing.T) {
	m, _, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` +
		strings.Repeat(`lazy\n \u003cb\u003e dozen \"`, 1000) + `"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if disown(&m) != &m {
			t.Fatal("changed")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDisownNothing(b *testing.B) {
	for name, text := range map[string]string{
		"short":  `done`,
		"prose":  strings.Repeat(`The lazy dog jumps over a dozen foxes.\n`, 2000),
		"base64": strings.Repeat(`iVBORw0KGgoAAAANSUhEUgAAzzQAAAEsCAYAAAB5fY51`, 2000),
	} {
		m, _, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + text + `"}]}}`))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(m.Raw)))
			b.ReportAllocs()
			for b.Loop() {
				disown(&m)
			}
		})
	}
}
