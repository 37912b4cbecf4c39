package differential

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/lab/programs"
)

// slowServer takes longer than most clients expect, in one way.
type slowServer struct {
	name   string
	start  func()        // before it reads anything
	list   time.Duration // before each list
	call   func()        // before it answers a call; meanwhile it answers nothing else
	work   time.Duration // before it answers a call; meanwhile it answers everything else
	asks   bool          // a call puts a question to the client
	thinks time.Duration // how long the client takes to answer it
}

var slowServers = []slowServer{
	{name: "sleeps-20s-at-start", start: func() { time.Sleep(20 * time.Second) }},
	{name: "computes-20s-at-start", start: func() { compute(20 * time.Second) }},
	{name: "lists-after-12s", list: 12 * time.Second},
	{name: "silent-for-75s", work: 75 * time.Second},
	{name: "computes-for-72s", call: func() { compute(72 * time.Second) }},
	{name: "answered-after-75s", asks: true, thinks: 75 * time.Second},
}

// compute keeps a core busy.
func compute(d time.Duration) {
	for begin, n := time.Now(), 0; time.Since(begin) < d; n++ {
	}
}

const slowVariable = "DIFFERENTIAL_SLOW"

func slowIfAsked() {
	for _, s := range slowServers {
		if s.name == os.Getenv(slowVariable) {
			s.serve(os.Stdin, os.Stdout)
			os.Exit(0)
		}
	}
}

// serve answers one message after the other, except for a call that is work.
func (s slowServer) serve(in io.Reader, out io.Writer) {
	if s.start != nil {
		s.start()
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method == "" {
			continue
		}
		answer := func() { fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, slowResult(m.Method)) }
		switch {
		case m.Method == "tools/call" && s.work > 0:
			time.AfterFunc(s.work, answer)
			continue
		case m.Method == "tools/list":
			time.Sleep(s.list)
		case m.Method == "tools/call" && s.call != nil:
			s.call()
		case m.Method == "tools/call" && s.asks:
			fmt.Fprintln(out, `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"delete?","requestedSchema":{"type":"object","properties":{}}}}`)
			if !awaitAnswer(lines) {
				return
			}
		}
		answer()
	}
}

// awaitAnswer reads until the client has answered. Whatever else comes is dropped: this server does
// nothing while it waits.
func awaitAnswer(lines *bufio.Reader) bool {
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return false
		}
		var m message
		if json.Unmarshal(line, &m) == nil && m.Method == "" {
			return true
		}
	}
}

func slowResult(method string) string {
	switch method {
	case "initialize":
		return `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"slow","version":"1"}}`
	case "tools/list":
		return `{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		return `{"content":[{"type":"text","text":"worked"}]}`
	}
	return "{}"
}

func slowScript() []step {
	w := orderWriter(1)
	w.request("tools/call", `{"name":"work","arguments":{}}`)
	w.flush()
	return w.steps
}

// slowTimeout is how long the client waits: longer than anything here takes.
const slowTimeout = 3 * time.Minute

// What takes long directly takes as long wrapped, and succeeds.
func TestSlowServers(t *testing.T) {
	t.Parallel()
	some := slowServers
	if !programs.Everything() {
		some = slowServers[:1]
	}
	for _, s := range some {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			c := command{argv: []string{self}, env: []string{slowVariable + "=" + s.name}}
			run := func(c command) (tr transcript, took time.Duration) {
				begin := time.Now()
				return playSlowly(c.start(t), slowScript(), slowTimeout, s.thinks), time.Since(begin)
			}
			var direct, wrapped transcript
			var directTook, wrappedTook time.Duration
			var both sync.WaitGroup
			both.Go(func() { direct, directTook = run(c) })
			both.Go(func() { wrapped, wrappedTook = run(c.wrapped()) })
			both.Wait()
			t.Logf("directly %.1f s, wrapped %.1f s", directTook.Seconds(), wrappedTook.Seconds())
			compare([]transcript{direct, direct}, wrapped, nil, true).report(t)
		})
	}
}

// A server behind a URL that is started by the first request.
func TestColdStartBehindAURL(t *testing.T) {
	t.Parallel()
	if !programs.Everything() {
		t.Skip("part of a run of everything")
	}
	var start sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start.Do(func() { time.Sleep(20 * time.Second) })
		var m message
		json.NewDecoder(r.Body).Decode(&m)
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, slowResult(m.Method))
		}
	}))
	defer server.Close()
	c := command{argv: []string{gauzeBinary(), "run", "--url", server.URL}}
	tr := playSlowly(c.start(t), slowScript(), slowTimeout, 0)
	for id, method := range map[string]string{"1": "initialize", "2": "tools/list", "3": "tools/call"} {
		if got := tr.answers()[id]; string(got.Result) != slowResult(method) {
			t.Errorf("%s was answered %s", method, got.raw)
		}
	}
}
