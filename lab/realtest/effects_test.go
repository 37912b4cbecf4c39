//go:build linux

package realtest

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
	"github.com/gauze-mcp/gauze/lab/programs"
)

// remember makes the memory server keep an entity: not safe to repeat, says the server.
func remember(name string) call {
	return call{tool: "create_entities", args: map[string]any{
		"entities": []any{map[string]any{"name": name, "entityType": "thing", "observations": []any{"seen"}}},
	}}
}

// The server dies at four exact moments of a call that must not be repeated.
func TestEffectHappensOnceOrIsSaidToBeUnknown(t *testing.T) {
	for _, c := range some(t, eachLibrary, 4) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, pair{c, memory}, setup{launch: witnessed})
			s.list()
			s.must(remember("plain"))
			for _, moment := range []struct {
				fate    string
				unknown bool
				kept    int
			}{
				{"die-on-receipt", true, 0},
				{"die-before-answer", true, 1},
				{"die-mid-answer", true, 1},
				{"die-after-answer", false, 1},
			} {
				a, err := s.call(s.ctx, remember(moment.fate))
				if err != nil {
					t.Fatalf("%s: %v", moment.fate, err)
				}
				if a.saysUnknown() != moment.unknown || a.IsError != moment.unknown {
					t.Errorf("%s: the answer is %+v; unknown outcome wanted: %v", moment.fate, a, moment.unknown)
				}
				s.wantRead() // the session goes on
				if n := s.at.arrivals(t, moment.fate); n != 1 {
					t.Errorf("%s: the call reached the server %d times", moment.fate, n)
				}
				if n := s.at.remembered(t, moment.fate); n != moment.kept {
					t.Errorf("%s: the entity is there %d times, want %d", moment.fate, n, moment.kept)
				}
			}
		})
	}
}

// The same moments for calls the server declares safe: the caller never notices.
func TestSafeCallIsRepeated(t *testing.T) {
	seed := ownSeed(t)
	for i, c := range []struct {
		name string
		serverKind
		safe func(fate string) call
	}{
		{"reads", memory, func(fate string) call {
			return call{tool: "search_nodes", args: map[string]any{"query": fate}}
		}},
		{"idempotent", filesystem, func(fate string) call {
			return call{tool: "write_file", args: map[string]any{"path": "{dir}/written.txt", "content": fate}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, pair{goSDK, c.serverKind}, setup{launch: witnessed})
			s.list()
			last := ""
			for n, fate := range []string{dieOnReceipt, dieBeforeAnswer, dieMidAnswer} {
				if !programs.Everything() && (seed+uint64(n)+uint64(i))%2 > 0 {
					continue // the other kind of call is made at this moment
				}
				last = fate
				s.must(c.safe(fate))
				if n := s.at.arrivals(t, fate); n != 2 {
					t.Errorf("%s: the call reached the server %d times, want once before and once after its death", fate, n)
				}
			}
			if c.name == "idempotent" {
				if b, err := os.ReadFile(s.at.path("written.txt")); err != nil || string(b) != last {
					t.Errorf("the file holds %q, %v", b, err)
				}
			}
		})
	}
}

// Kills at no particular moment, under one caller and under many.
func TestEffectsUnderKills(t *testing.T) {
	for _, callers := range []int{1, 8} {
		t.Run(fmt.Sprintf("%d-callers", callers), func(t *testing.T) {
			t.Parallel()
			s := open(t, pair{goSDK, memory}, setup{launch: witnessed})
			s.list()

			const every = 45
			calls := sample.Part(200, 2) // two kills, four in a run of everything: a fifth within a minute would rightly make gauze pause
			answers := make([]answer, calls)
			var next, done atomic.Int64
			kill := make(chan struct{}, calls)
			var killer, wg sync.WaitGroup
			kills := 0
			killer.Go(func() {
				for range kill {
					server := serverBelow(t, s.pid(), string(memory.part))
					signalEach(t, server, syscall.SIGKILL)
					if len(server) > 0 { // else it is down already
						kills++
					}
				}
			})
			for range callers {
				wg.Go(func() {
					for i := next.Add(1) - 1; i < int64(calls); i = next.Add(1) - 1 {
						a, err := s.call(s.ctx, remember(entity(i)))
						if err != nil {
							t.Errorf("%s: %v", entity(i), err)
							return
						}
						answers[i] = a
						if done.Add(1)%every == 0 {
							kill <- struct{}{}
						}
					}
				})
			}
			wg.Wait()
			close(kill)
			killer.Wait()
			s.wantRead()

			unknown := 0
			for i, a := range answers {
				name := entity(int64(i))
				arrived, kept := s.at.arrivals(t, name), s.at.remembered(t, name)
				switch {
				case arrived > 1 || kept > 1:
					t.Errorf("%s reached the server %d times and is there %d times", name, arrived, kept)
				case a.saysUnknown():
					unknown++
				case a.IsError && a.fromGauze():
					if arrived != 0 {
						t.Errorf("%s was said not to have been sent, and arrived: %s", name, a.Text)
					}
				case a.IsError:
					t.Errorf("%s: the server says %s", name, a.Text)
				case arrived != 1:
					t.Errorf("%s succeeded and never reached the server", name)
				case kept != 1 && callers == 1: // several at once overwrite one another inside this server, gauze or not
					t.Errorf("%s succeeded and is not there", name)
				}
			}
			t.Logf("%d calls, %d kills: %d outcomes unknown", calls, kills, unknown)
			if kills == 0 || unknown > kills*callers {
				t.Errorf("%d outcomes unknown after %d kills under %d callers", unknown, kills, callers)
			}
		})
	}
}

// entity names are of one length, so that none is part of another.
func entity(i int64) string { return fmt.Sprintf("entity-%04d", i) }
