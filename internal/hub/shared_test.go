package hub

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
)

// resident is a client over stdio that stays.
type resident struct {
	t     *testing.T
	in    io.WriteCloser
	lines *bufio.Scanner
	seen  map[string]int // answers, by id
	ended chan error
}

func reside(t *testing.T, h *Hub, from Client) *resident {
	t.Helper()
	in, write := io.Pipe()
	read, out := io.Pipe()
	r := &resident{t: t, in: write, lines: bufio.NewScanner(read), seen: map[string]int{}, ended: make(chan error, 1)}
	go func() {
		r.ended <- h.Serve(t.Context(), from, "", "", in, out)
		out.Close()
	}()
	r.send(opening)
	r.until(`"id":0,`)
	return r
}

func (r *resident) send(text string) { io.WriteString(r.in, text) }

// begin sends a call with a progress token.
func (r *resident) begin(id int, tool, arguments string) {
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one__%s","arguments":%s,"_meta":{"progressToken":%d}}}`+"\n", id, tool, arguments, id))
}

// until reads until a line has a part, and returns it.
func (r *resident) until(part string) string {
	r.t.Helper()
	for r.lines.Scan() {
		line := r.lines.Text()
		if id, found := strings.CutPrefix(line, `{"jsonrpc":"2.0","id":`); found && !strings.Contains(line, `"method"`) {
			id, _, _ = strings.Cut(id, ",")
			r.seen[id]++
		}
		if strings.Contains(line, part) {
			return line
		}
	}
	r.t.Fatalf("the session ended before %q", part)
	return ""
}

func (r *resident) call(id int, tool, arguments string) string {
	r.begin(id, tool, arguments)
	return r.until(fmt.Sprintf(`"id":%d,`, id))
}

// pid returns the id and the generation of the process, as the server says it.
func (r *resident) pid(id int) string {
	_, text, _ := strings.Cut(r.call(id, "pid", "{}"), `"result":`)
	return text
}

// leave ends the session, and checks that every call was answered once.
func (r *resident) leave() {
	r.t.Helper()
	r.in.Close()
	for r.lines.Scan() {
	}
	<-r.ended
	for id, n := range r.seen {
		if n != 1 {
			r.t.Errorf("the call %s was answered %d times", id, n)
		}
	}
}

func TestSessionsOfAPrincipalShareAProcess(t *testing.T) {
	t.Parallel()
	h := start(t, Options{}, file(t, faulty(t, "one", "share: principal")))
	a, b := reside(t, h, Client{}), reside(t, h, Client{})
	pid := a.pid(1)
	if !strings.Contains(pid, `\"generation\":1`) {
		t.Fatalf("got %s", pid)
	}
	if other := b.pid(1); other != pid {
		t.Errorf("two processes: %s and %s", pid, other)
	}
	a.leave()
	if other := b.pid(2); other != pid {
		t.Errorf("the process ended with one of its clients: %s, then %s", pid, other)
	}
	c := reside(t, h, Client{Principal: "another"})
	if other := c.pid(1); !strings.Contains(other, `\"generation\":2`) {
		t.Errorf("another principal has %s, not the second process that was started", other)
	}
	b.leave()
	c.leave()
}

// Both calls are in progress when the process dies: each is repeated, and answered once to its own client.
func TestACrashDuringCallsOfTwoClients(t *testing.T) {
	t.Parallel()
	h := start(t, Options{}, file(t, faulty(t, "one", "share: principal")))
	a, b := reside(t, h, Client{}), reside(t, h, Client{})
	a.begin(1, "progress", `{"n":20,"interval_ms":100}`)
	if line := a.until("notifications/progress"); !strings.Contains(line, `"progressToken":1,`) {
		t.Errorf("progress under another token: %s", line)
	}
	if got := b.call(1, "die_read", `{"times":1}`); strings.Contains(got, "isError") {
		t.Errorf("b got %s", got)
	}
	if got := a.until(`"id":1,`); strings.Contains(got, "isError") || !strings.Contains(got, "20") {
		t.Errorf("a got %s", got)
	}
	if x, y := a.pid(2), b.pid(2); x != y || !strings.Contains(x, `\"generation\":2`) {
		t.Errorf("after the crash: %s and %s", x, y)
	}
	a.leave()
	b.leave()
}

func TestAServerWhoseQuestionsCannotBeAttributed(t *testing.T) {
	t.Parallel()
	o := Options{}
	o.Session.Events = event.New()
	events, stop := o.Session.Events.Subscribe(1000)
	defer stop()
	h := start(t, o, file(t, faulty(t, "one", "share: principal")))
	a, b := reside(t, h, Client{}), reside(t, h, Client{})
	a.begin(1, "progress", `{"n":-1,"interval_ms":100}`)
	a.until("notifications/progress")
	if got := b.call(1, "ask", `{"method":"sampling/createMessage"}`); !strings.Contains(got, "several clients use this server") {
		t.Errorf("the question got %s", got)
	}
	x, y := a.pid(2), b.pid(2)
	if x == y {
		t.Errorf("they still share %s", x)
	}
	for e := range events {
		if e.Kind == event.Dropped && e.Server == "one" && e.Method == "sampling/createMessage" {
			break
		}
	}
	a.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n")
	a.leave()
	b.leave()
}

// The same ids and tokens, at the same address.
func TestTokensShareNothing(t *testing.T) {
	t.Parallel()
	const mine, yours = "token-of-someone-1234567890", "token-of-another-1234567890"
	_, base := serveHTTP(t, Options{Front: gateway.Options{Tokens: []string{mine, yours}, Drain: patience.Limit()}}, file(t, faulty(t, "one", "share: principal")))
	pids := map[string][]string{}
	for _, token := range []string{mine, yours, mine, yours} {
		client := &web{t: t, url: base + "/mcp", token: token}
		client.open()
		pids[token] = append(pids[token], client.call("one__pid"))
	}
	if m, y := pids[mine], pids[yours]; m[0] != m[1] || y[0] != y[1] || m[0] == y[0] {
		t.Errorf("got %v", pids)
	}
}
