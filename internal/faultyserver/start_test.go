package faultyserver

import (
	"strings"
	"testing"
)

// BenchmarkGeneration is the whole life of a server: start, legacy handshake, one call, end of
// stdin. The binary here is the test's, with the SDK linked in: a small binary starts faster still.
func BenchmarkGeneration(b *testing.B) {
	talk := strings.Join([]string{hello, helloDone, toolCall("1", "echo", `{"text":"x"}`), ""}, "\n")
	for b.Loop() {
		cmd := command()
		cmd.Stdin = strings.NewReader(talk)
		if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), `"text":"x"`) {
			b.Fatalf("%s, %v", out, err)
		}
	}
}
