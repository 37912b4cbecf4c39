package wire

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// payloads are messages of a kind, about size bytes long.
var payloads = []struct {
	name string
	make func(size int) []byte
}{
	{"ascii", func(size int) []byte { return callOf(strings.Repeat("abcdefgh ", size/9)) }},
	{"escapes", func(size int) []byte { return callOf(strings.Repeat(`line \"one\"\n\tline two of it\n`, size/31)) }},
	{"chinese", func(size int) []byte { return callOf(strings.Repeat("请求恰好有一个响应", size/27)) }},
	{"members", func(size int) []byte {
		items := strings.Repeat(`{"id":17,"name":"a name","tags":["one","two"],"done":true,"size":-1.5e3},`, max(1, size/73))
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":17,"result":{"structuredContent":[%s]}}`, strings.TrimSuffix(items, ","))
	}},
}

func callOf(text string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":"g1-17","method":"tools/call","params":{"name":"echo","arguments":{"text":"` + text + `"}}}`)
}

func benchmarkPayloads(b *testing.B, run func(b *testing.B, line []byte)) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		for _, payload := range payloads {
			line := payload.make(size)
			b.Run(fmt.Sprintf("%s/%d", payload.name, size), func(b *testing.B) {
				b.SetBytes(int64(len(line)))
				b.ReportAllocs()
				run(b, line)
			})
		}
	}
}

func BenchmarkScan(b *testing.B) {
	benchmarkPayloads(b, func(b *testing.B, line []byte) {
		for b.Loop() {
			if _, _, err := Scan(line); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkFields(b *testing.B) {
	benchmarkPayloads(b, func(b *testing.B, line []byte) {
		m, _, _ := Scan(line)
		for b.Loop() {
			var values [6][]byte
			if Fields(m.Params, values[:], "name", "_meta", "task", "inputResponses", "requestState", "arguments") != nil {
				b.Fatal()
			}
		}
	})
}

// repeated is a stream of the same line, in pieces as a pipe delivers them.
type repeated struct {
	line []byte
	at   int
}

func (r *repeated) Read(b []byte) (int, error) {
	n := copy(b[:min(len(b), 64<<10)], r.line[r.at:])
	r.at = (r.at + n) % len(r.line)
	return n, nil
}

func BenchmarkReader(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000, 16 << 20} {
		line := append(callOf(strings.Repeat("x", size)), '\n')
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			r := NewReader(&repeated{line: line}, 0)
			for b.Loop() {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
				r.Buffered()
			}
		})
	}
	b.Run("burst", func(b *testing.B) {
		line := append(callOf(strings.Repeat("x", 10_000)), '\n')
		b.SetBytes(int64(len(line)))
		r := NewReader(io.Reader(&repeated{line: bytes.Repeat(line, 32)}), 0)
		for b.Loop() {
			if _, err := r.Next(); err != nil {
				b.Fatal(err)
			}
			r.Buffered()
		}
	})
}
