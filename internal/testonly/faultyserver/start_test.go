package faultyserver

import (
	"strings"
	"testing"
)

// BenchmarkGeneration measures the whole life of a server: start, legacy handshake, one call, end
// of stdin. It uses the test binary, which includes the SDK; a small binary starts faster.
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
