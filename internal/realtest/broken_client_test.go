//go:build linux && !race

package realtest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/fault"
)

// withoutHealing are the flags of a gauze run that leaves a broken server as it is.
var withoutHealing = []string{"--no-heal"}

// clientsOfBroken are real clients, each with what it says when it cannot connect.
var clientsOfBroken = []struct {
	name    string
	connect func(t *testing.T, ctx context.Context, at []string) (client, error)
}{
	{"ts-v1", func(t *testing.T, ctx context.Context, at []string) (client, error) {
		return dialTS(t, ctx, "v1", nil, at)
	}},
	{"go-sdk", func(t *testing.T, ctx context.Context, at []string) (client, error) {
		return dialGoSDK(t, ctx, "2025-11-25", nil, at)
	}},
}

// What a client is told of a server that fails is what gauze test says of it: the same cause, the same thing to do.
func TestBrokenSetupsInARealClient(t *testing.T) {
	web := &neighbours{http: everythingHTTP.start(t), sse: everythingSSE.start(t)}
	causes := map[string]bool{}
	for _, s := range brokenSetups() {
		if s.cope || len(s.heals) > 0 {
			continue
		}
		causes[s.cause] = true
		for _, c := range clientsOfBroken {
			t.Run(c.name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, web)
				s.build(b)
				want := b.gauze().Report
				ctx, cancel := context.WithTimeout(t.Context(), testPatience)
				defer cancel()
				got, err := c.connect(t, ctx, b.running())
				if err == nil {
					t.Fatal("the client is connected: ", got.close())
				}
				for what, text := range map[string]string{"cause": want.Diagnosis.Explanation, "thing to do": want.Todo} {
					if text = fault.Quote(text); text == "" || !strings.Contains(err.Error(), text) {
						t.Errorf("the %s is not told: %s\nin: %v", what, text, err)
					}
				}
			})
		}
	}
	if len(causes) < 25 {
		t.Errorf("only %d causes", len(causes))
	}
}

// running is the command line of gauze run for the set-up, in the set-up's own folder and environment and no other.
func (b *bench) running() []string {
	return slices.Concat([]string{"/usr/bin/env", "-i", "-C", b.project}, b.environ(),
		[]string{gauzeBinary, "run", "--start-timeout", b.timeout}, withoutHealing, b.args)
}
