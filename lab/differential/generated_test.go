package differential

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// scriptCalls is how many calls a script has at least.
const scriptCalls = 50

// script makes the calls for a generated server.
func (s recipe) script() *writer {
	w := &writer{random: sample.Random(s.seed, 11), integers: s.integerIDs}
	w.initialize(s.version)
	if s.listsWhen == 0 {
		s.listAll(w)
	}
	listed := s.listsWhen != 1
	for w.calls < scriptCalls {
		if !listed && w.calls > scriptCalls/2 {
			s.listAll(w)
			listed = true
		}
		s.someStep(w)
	}
	w.call("count the rest", "{}")
	w.flush()
	return w
}

// listAll asks for the tools, page by page.
func (s recipe) listAll(w *writer) {
	w.request("tools/list", "{}")
	w.flush()
	if s.pageSize == 0 || !s.lists {
		return
	}
	for from := s.pageSize; from < len(s.tools); from += s.pageSize {
		w.request("tools/list", fmt.Sprintf(`{"cursor":"%d"}`, from))
		w.flush()
	}
}

func (s recipe) someStep(w *writer) {
	switch w.random.IntN(12) {
	case 0: // pipelined
		for range 2 + w.random.IntN(7) {
			s.someCall(w)
		}
	case 1:
		for i := range 1 + w.random.IntN(20) {
			w.notify("notifications/roots/list_changed", fmt.Sprintf(`{"n":%d}`, i))
		}
		w.notify("notifications/cancelled", `{"requestId":"never","reason":"é"}`)
		s.someCall(w)
	case 2:
		method := []string{"ping", "prompts/list", "resources/read", "example/unknown", "completion/complete", "logging/setLevel", "resources/list"}[w.random.IntN(7)]
		w.request(method, []string{"", "{}", `{"uri":"mem://x","level":"info"}`}[w.random.IntN(3)])
	case 3:
		w.call("no such tool", `{"a": 1}`)
	case 4: // large
		t := s.tools[w.random.IntN(len(s.tools))]
		w.call(t.name, arguments(w.random, t.schema, 0, strings.Repeat("large é ", 4000)))
	default:
		s.someCall(w)
	}
	// A late answer comes after the next call's. The last call of a step is to a tool that the
	// server does not have, which is never late.
	w.call("no such tool", "{}")
	w.flush()
}

func (s recipe) someCall(w *writer) {
	t := s.tools[w.random.IntN(len(s.tools))]
	kind := 0
	if w.random.IntN(2) == 0 {
		kind = w.random.IntN(argumentKinds)
	}
	w.call(t.name, arguments(w.random, t.schema, kind, texts[w.random.IntN(len(texts))]))
}

// command starts this test binary as the generated server.
func (s recipe) command(t testing.TB) command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return command{argv: []string{self}, env: []string{seedVariable + "=" + fmt.Sprint(s.seed)}}
}

// seedVariable makes this test binary a generated server. It does not begin with GAUZE_: gauze keeps
// those variables from servers.
const seedVariable = "DIFFERENTIAL_SEED"

func serveIfAsked() {
	seed, err := strconv.ParseUint(os.Getenv(seedVariable), 10, 64)
	if err != nil {
		return
	}
	newRecipe(seed).serve(os.Stdin, os.Stdout, os.Stderr)
	os.Exit(0)
}

// failedSeeds are seeds of TestGeneratedServers that failed once.
var failedSeeds = []uint64{0x4101f2c2094c3acb, 0x8360d9af4beb852a, 0xb86c43ffc09dc2e6, 0x447261c5f31c95db, 0x447261c5f31c95d8}

// tally adds up what the runs found.
type tally struct {
	mu           sync.Mutex
	compared     int
	random       int
	improvements map[string]int
}

func (a *tally) add(v *verdict) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.compared += v.compared
	a.random += v.random
	for name, n := range v.improvements {
		a.improvements[name] += n
	}
}

func (a *tally) log(t *testing.T) {
	text, _ := json.MarshalIndent(a.improvements, "", "  ")
	t.Logf("%d answers compared, %d random, improvements: %s", a.compared, a.random, text)
}

// Servers that a seed made, each with fifty calls, directly and behind gauze run.
func TestGeneratedServers(t *testing.T) {
	seeds := sample.SeedsOf(sample.Seed(t, gauzeBinary()), sample.Part(1_000, 50), failedSeeds...)
	all := &tally{improvements: map[string]int{}}
	t.Run("seeds", func(t *testing.T) {
		for _, seed := range seeds {
			t.Run(fmt.Sprintf("%#x", seed), func(t *testing.T) {
				t.Parallel()
				sample.Try(t, seed, func(seed uint64) {
					s := newRecipe(seed)
					script := s.script()
					steps := script.steps
					direct := []transcript{play(inProcess(s.serve), steps), play(inProcess(s.serve), steps)}
					v := compare(direct, play(s.command(t).wrapped().start(t), steps), script.bare, true)
					all.add(v)
					v.report(t)
				})
			})
		}
	})
	all.log(t)
	if !t.Failed() && all.compared < len(seeds)*scriptCalls/2 {
		t.Errorf("only %d answers were compared", all.compared)
	}
}
