//go:build linux

package realtest

import (
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// serverKind is one real server with a read that has a known answer.
type serverKind struct {
	part realparts.Part
	args []string // {dir} stands for the test's folder
	read call     // safe to repeat: the server says so
	want string   // in the answer of read
}

const knownText = "the text that was there before"

var (
	everything = serverKind{
		part: realparts.Everything,
		read: call{tool: "echo", args: map[string]any{"message": knownText}},
		want: "Echo: " + knownText,
	}
	filesystem = serverKind{
		part: realparts.Filesystem,
		args: []string{"{dir}"},
		read: call{tool: "read_text_file", args: map[string]any{"path": "{dir}/known.txt"}},
		want: knownText,
	}
	memory = serverKind{
		part: realparts.Memory,
		read: call{tool: "search_nodes", args: map[string]any{"query": knownText}},
		want: knownText,
	}
	sequentialThinking = serverKind{
		part: realparts.SequentialThinking,
		read: call{tool: "sequentialthinking", args: map[string]any{
			"thought": knownText, "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": false,
		}},
		want: `"thoughtNumber": 1`,
	}
	timeServer = serverKind{
		part: realparts.Time,
		args: []string{"--local-timezone", "UTC"},
		read: call{tool: "get_current_time", args: map[string]any{"timezone": "UTC"}},
		want: `"timezone": "UTC"`,
	}

	everyServer = []serverKind{everything, filesystem, memory, sequentialThinking, timeServer}
)

// pair is one client in front of one server.
type pair struct {
	clientKind
	serverKind
}

func (p pair) name() string { return p.clientKind.name + "/" + string(p.part) }

// everyPair is the whole matrix: the go-sdk with every server; each other client with a server that only reads and one
// that keeps something; and those that can speak the modern era, and the go-sdk kept from it, also with the server that
// can.
func everyPair() []pair {
	var all []pair
	for _, c := range everyClient {
		servers := []serverKind{everything, memory}
		switch c.name {
		case goSDK.name:
			servers = everyServer
		case goSDKLegacy.name, mcpGo.name, tsV2Auto.name:
			servers = append(servers, timeServer)
		}
		for _, s := range servers {
			all = append(all, pair{c, s})
		}
	}
	return all
}

// oneOfEach returns a server for every client of pairs, chosen by what is tested, or all pairs in a run of
// everything.
func oneOfEach(t *testing.T, pairs []pair) []pair {
	t.Helper()
	seed := seedOfAll(t)
	var some []pair
	for len(pairs) > 0 {
		client := pairs[0].clientKind.name
		last := len(pairs)
		if i := slices.IndexFunc(pairs, func(p pair) bool { return p.clientKind.name != client }); i > 0 {
			last = i
		}
		some = append(some, sample.Some(seed, pairs[:last], last)...)
		pairs = pairs[last:]
	}
	return some
}

// half returns half of all, chosen by what is tested, or all in a run of everything.
func half[T any](t *testing.T, all []T) []T {
	t.Helper()
	return some(t, all, 2)
}

// some returns a part of all in the same way. Different tests choose differently.
func some[T any](t *testing.T, all []T, part int) []T {
	t.Helper()
	return sample.Some(ownSeed(t), all, part)
}

// ownSeed is the seed of one test.
func ownSeed(t *testing.T) uint64 {
	t.Helper()
	seed := seedOfAll(t)
	t.Logf("%s=%#x", sample.EnvSeed, seed)
	name := fnv.New64a()
	name.Write([]byte(t.Name()))
	return seed ^ name.Sum64()
}

var seedOnce struct {
	sync.Once
	seed uint64
}

// seedOfAll is the seed of all tests. It is a hash of all of gauze, which takes its time.
func seedOfAll(t *testing.T) uint64 {
	t.Helper()
	seedOnce.Do(func() { seedOnce.seed = sample.Seed(t, gauzeBinary()) })
	return seedOnce.seed
}

// mostPairs is every server with one client, and every client library with two servers.
func mostPairs() []pair {
	var all []pair
	for _, s := range everyServer {
		all = append(all, pair{goSDK, s})
	}
	for _, c := range eachLibrary[1:] {
		all = append(all, pair{c, everything}, pair{c, memory})
	}
	return all
}

// workplace is a folder with what the servers expect to find: a file, a memory, a ledger to write.
type workplace struct{ dir string }

func newWorkplace(t *testing.T) workplace {
	t.Helper()
	w := workplace{t.TempDir()}
	w.write(t, "known.txt", knownText)
	w.write(t, "memory.jsonl", `{"type":"entity","name":"known","entityType":"thing","observations":["`+knownText+`"]}`)
	return w
}

func (w workplace) path(name string) string { return filepath.Join(w.dir, name) }

func (w workplace) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(w.path(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// environment tells the servers where their files are.
func (w workplace) environment() []string {
	return []string{"MEMORY_FILE_PATH=" + w.path("memory.jsonl"), "REALTEST_LEDGER=" + w.path("ledger.jsonl")}
}
