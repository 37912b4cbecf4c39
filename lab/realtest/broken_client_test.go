//go:build linux

package realtest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// toldLess are the set-ups of which a client is not told what gauze test says, and why.
var toldLess = map[string]string{
	"initialize-refused":         "the server itself answers, and its answer is the client's",
	"initialize-without-version": "the server itself answers, and its answer is the client's",
	"answers-another-id":         "the answer is not the client's, and gauze keeps none of another id",
	"json-that-is-not-mcp":       "the answer is not a message, which is all that gauze says of it in passing",
}

// clientsOfBroken are real clients, each with what it says when it cannot connect.
var clientsOfBroken = map[string]func(*testing.T, context.Context, []string) (client, error){
	"ts-v1": func(t *testing.T, ctx context.Context, at []string) (client, error) {
		return dialTS(t, ctx, "v1", nil, at)
	},
	"go-sdk": func(t *testing.T, ctx context.Context, at []string) (client, error) {
		return dialGoSDK(t, ctx, "2025-11-25", nil, at)
	},
}

// What a client is told of a server that fails is what gauze test says of it: the same cause, the same thing to do.
func TestBrokenSetupsInARealClient(t *testing.T) {
	web := &neighbours{http: everythingHTTP.start(t), sse: everythingSSE.start(t)}
	causes := map[string]bool{}
	var failing []brokenSetup
	for _, s := range brokenSetups() {
		if s.cope || s.later || len(s.heals) > 0 {
			continue
		}
		failing = append(failing, s)
		if toldLess[s.name] == "" {
			causes[s.cause] = true
		}
	}
	if len(causes) < 25 {
		t.Errorf("only %d causes", len(causes))
	}
	turn := ownSeed(t)
	for i, s := range some(t, failing, 20) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, web)
			s.build(b)
			seen := b.gauze().Report
			want := []string{redact.Quote(seen.Diagnosis.Explanation), plaintext.Clean(seen.Todo)}
			for name, connect := range clientsOfBroken {
				if name == "ts-v1" && (turn+uint64(i))%3 > 0 {
					continue // what gauze says is the same for all; a third of them shows that this client passes it on
				}
				ctx, cancel := context.WithTimeout(t.Context(), testPatience)
				defer cancel()
				var missing []string
				var err error
				for ask := range 3 { // gauze does not hold an answer for long, so on a busy machine a cause may come too late for it
					c, failed := connect(t, ctx, b.running())
					if err = failed; err == nil {
						t.Fatalf("%s is connected: %v", name, c.close())
					}
					missing = slices.DeleteFunc(slices.Clone(want), func(text string) bool { return text != "" && strings.Contains(err.Error(), text) })
					if len(missing) == 0 || toldLess[s.name] != "" {
						break
					}
					t.Logf("%s, asked %d times, is not told: %q", name, ask+1, missing)
				}
				if len(missing) > 0 && toldLess[s.name] == "" {
					t.Errorf("%s is not told: %q\nbut: %v", name, missing, err)
				}
				if len(missing) == 0 && toldLess[s.name] != "" {
					t.Errorf("%s is told all, which is news: toldLess has it", name)
				}
			}
		})
	}
}

// running is the command line of gauze run for the set-up, in the set-up's own folder and environment and no other.
func (b *bench) running() []string {
	flags := []string{"--start-timeout", b.timeout}
	if !slices.Contains(b.args, "--") {
		flags = append(flags, "--patience", "3s") // somebody who is not there is waited for
	}
	return slices.Concat([]string{"/usr/bin/env", "-i", "-C", b.project}, b.environ(), []string{gauzeBinary(), "run"}, flags, b.args)
}
