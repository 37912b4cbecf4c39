package differential

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// journal is a server whose tools have an order: append, clear and put write, count and read tell
// what was written before them. It handles one call after the other, or, if it is concurrent,
// starts each call in the order of arrival and answers whenever it is done. If it has a file, what
// is written survives it.
type journal struct {
	concurrent bool
	file       string
	dieAfter   int // calls until the process exits in the middle of one; 0: never

	mu      sync.Mutex
	entries []string
	calls   int
}

func (j *journal) serve(in io.Reader, out, _ io.Writer) {
	var writing sync.Mutex
	write := func(m message, result string) {
		writing.Lock()
		defer writing.Unlock()
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
	lines := bufio.NewReaderSize(in, 1<<16)
	var running sync.WaitGroup
	defer running.Wait()
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		switch m.Method {
		case "initialize":
			write(m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"journal","version":"1"}}`)
		case "tools/list":
			write(m, `{"tools":[{"name":"append","inputSchema":{"type":"object"}},{"name":"clear","inputSchema":{"type":"object"}},`+
				`{"name":"put","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}},`+
				`{"name":"count","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},`+
				`{"name":"read","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)
		case "tools/call":
			text := j.call(m)
			answer := func() { write(m, `{"content":[{"type":"text","text":`+quote(text)+`}]}`) }
			if j.concurrent {
				running.Go(answer)
			} else {
				answer()
			}
		default:
			write(m, "{}")
		}
	}
}

// call has its effect before the next call is read, whichever response comes first.
func (j *journal) call(m message) string {
	var params struct {
		Name      string
		Arguments struct{ Key string }
	}
	json.Unmarshal(m.Params, &params)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.load()
	switch params.Name {
	case "append":
		j.entries = append(j.entries, params.Arguments.Key)
	case "put":
		j.entries = []string{params.Arguments.Key}
	case "clear":
		j.entries = nil
	case "count":
		return fmt.Sprint(len(j.entries))
	case "read":
		return strings.Join(j.entries, " ")
	}
	j.save()
	if j.calls++; j.calls == j.dieAfter {
		os.Exit(1)
	}
	return "done"
}

func (j *journal) load() {
	if j.file == "" {
		return
	}
	text, _ := os.ReadFile(j.file)
	j.entries = strings.Fields(string(text))
}

func (j *journal) save() {
	if j.file != "" {
		os.WriteFile(j.file, []byte(strings.Join(j.entries, "\n")), 0o644)
	}
}

// journalVariable makes this test binary a journal: serial or concurrent, after how many writes
// each process dies, and the file.
const journalVariable = "DIFFERENTIAL_JOURNAL"

func journalIfAsked() {
	kind, rest, ok := strings.Cut(os.Getenv(journalVariable), ",")
	if !ok {
		return
	}
	after, file, _ := strings.Cut(rest, ",")
	j := &journal{concurrent: kind == "concurrent", file: file}
	j.dieAfter, _ = strconv.Atoi(after)
	j.serve(os.Stdin, os.Stdout, os.Stderr)
	os.Exit(0)
}

func journalCommand(t testing.TB, kind string, dieAfter int, file string) command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return command{argv: []string{self}, env: []string{fmt.Sprintf("%s=%s,%d,%s", journalVariable, kind, dieAfter, file)}}
}

// orderScript is one pipelined script: calls that are sent together.
func orderScript(w *writer, random *rand.Rand, n int) {
	for i := range 2 + random.IntN(9) {
		tool := []string{"append", "append", "append", "put", "clear", "count", "read"}[random.IntN(7)]
		w.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"key":"%d.%d"}}`, tool, n, i))
	}
	w.request("tools/call", `{"name":"read","arguments":{}}`)
	w.flush()
}

func orderWriter(seed uint64) *writer {
	w := &writer{random: sample.Random(seed, 3), integers: true}
	w.initialize("2025-06-18")
	w.request("tools/list", "{}")
	w.flush()
	return w
}

// What a pipelined read sees, and what is left at the end, is the same as directly: with a server
// that handles one call after the other, and with one that answers in any order.
func TestPipelinedCallsKeepTheirOrder(t *testing.T) {
	for _, kind := range []string{"serial", "concurrent"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := orderWriter(sample.Seed(t, gauzeBinary()))
			for n := range sample.Size(5000) {
				orderScript(w, w.random, n)
			}
			direct := &journal{concurrent: kind == "concurrent"}
			first := play(inProcess(direct.serve), w.steps)
			got := play(journalCommand(t, kind, 0, "").session(), w.steps)
			wrong := 0
			answers := got.answers()
			for _, m := range first.messages {
				if m.Method == "" && answers[string(m.ID)].raw != m.raw {
					if wrong++; wrong <= 5 {
						t.Errorf("call %s: directly %s, wrapped %s", m.ID, m.Result, answers[string(m.ID)].raw)
					}
				}
			}
			if wrong > 0 || len(got.lost) > 0 {
				t.Errorf("%d of %d answers differ, lost %v", wrong, len(first.messages), got.lost)
			}
		})
	}
}

// Six appends, a count and a clear in one write: the count is 6, and nothing is left.
func TestSixAppendsACountAndAClear(t *testing.T) {
	for _, kind := range []string{"serial", "concurrent"} {
		t.Run(kind, func(t *testing.T) {
			w := orderWriter(1)
			for i := range 6 {
				w.request("tools/call", fmt.Sprintf(`{"name":"append","arguments":{"key":"%d"}}`, i))
			}
			w.request("tools/call", `{"name":"count","arguments":{}}`)
			count := w.last
			w.request("tools/call", `{"name":"clear","arguments":{}}`)
			w.flush()
			w.request("tools/call", `{"name":"read","arguments":{}}`)
			w.flush()
			answers := play(journalCommand(t, kind, 0, "").wrapped().start(t), w.steps).answers()
			for id, want := range map[int]string{count: "6", w.last: ""} {
				if got := text(answers[fmt.Sprint(id)]); got != want {
					t.Errorf("call %d answered %q, want %q", id, got, want)
				}
			}
		})
	}
}

// The server dies again and again in the middle of what was pipelined. What it did is in its file:
// the effects that happened did so in the order sent, and none twice.
func TestEffectsKeepTheirOrderWhenTheServerDies(t *testing.T) {
	for _, kind := range []string{"serial", "concurrent"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			file := t.TempDir() + "/journal"
			w := orderWriter(1)
			const appends = 60
			for n := range appends {
				w.request("tools/call", fmt.Sprintf(`{"name":"append","arguments":{"key":"%d"}}`, n))
				if n%3 == 0 {
					w.request("tools/call", `{"name":"count","arguments":{}}`)
				}
				if n%10 == 9 {
					w.flush()
				}
			}
			got := play(journalCommand(t, kind, 7, file).session(), w.steps)
			if len(got.lost) > 0 {
				t.Errorf("lost %v", got.lost)
			}
			left, _ := os.ReadFile(file)
			last := -1
			for _, entry := range strings.Fields(string(left)) {
				n, _ := strconv.Atoi(entry)
				if n <= last {
					t.Errorf("%d happened after %d", n, last)
				}
				last = n
			}
			if last < appends/2 {
				t.Errorf("only %d of %d appends happened: %s", last+1, appends, left)
			}
		})
	}
}

func text(m message) string {
	var r struct{ Content []struct{ Text string } }
	if json.Unmarshal(m.Result, &r) != nil || len(r.Content) == 0 {
		return m.raw
	}
	return r.Content[0].Text
}
