package wire

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkScan(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		line := []byte(`{"jsonrpc":"2.0","id":"g1-17","method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("abcdefgh ", size/9) + `"}}}`)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if _, _, err := Scan(line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFields(b *testing.B) {
	params := []byte(`{"name":"echo","arguments":{"text":"` + strings.Repeat("abcdefgh ", 1000) + `"}}`)
	var values [6][]byte
	for b.Loop() {
		clear(values[:])
		Fields(params, values[:], "name", "_meta", "task", "inputResponses", "requestState", "arguments")
	}
}
