package differential

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// message is one line from the server, with the bytes of its parts.
type message struct {
	raw    string
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// key names what a message is, without what it contains.
func (m message) key() string {
	switch {
	case m.Method == "":
		return "answer " + string(m.ID)
	case m.ID != nil:
		return "request " + m.Method
	}
	return "notification " + m.Method
}

// transcript is everything a client was told, in order.
type transcript struct {
	messages []message
	lost     []string // ids of calls that were never answered
}

func (tr transcript) answers() map[string]message {
	all := map[string]message{}
	for _, m := range tr.messages {
		if m.Method == "" {
			all[string(m.ID)] = m
		}
	}
	return all
}

// peer is the other end of a client's pipes.
type peer struct {
	in    io.WriteCloser
	out   io.Reader
	close func() // waits until the peer is gone
}

// answerTimeout bounds the wait for the answers to one step of a script. Nothing in a script takes
// a tenth of it.
var answerTimeout = patience.Limit()

// client sends the steps of a script and records what comes back. It answers the server's
// questions.
type client struct {
	peer    peer
	timeout time.Duration
	thinks  time.Duration // before an answer to a question
	writing sync.Mutex

	mu      sync.Mutex
	heard   sync.Cond
	script  transcript
	waiting map[string]bool
	ended   bool
}

func newClient(p peer, timeout, thinks time.Duration) *client {
	c := &client{peer: p, timeout: timeout, thinks: thinks, waiting: map[string]bool{}}
	c.heard.L = &c.mu
	go c.listen()
	return c
}

func (c *client) listen() {
	lines := bufio.NewReaderSize(c.peer.out, 1<<16)
	for {
		line, err := lines.ReadString('\n')
		if m, ok := readMessage(line); ok {
			c.take(m)
		}
		if err != nil {
			c.mu.Lock()
			c.ended = true
			c.heard.Broadcast()
			c.mu.Unlock()
			return
		}
	}
}

// readMessage reads one line. Line ends, blank lines and a byte order mark are not part of a
// message.
func readMessage(line string) (m message, ok bool) {
	line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
	if line == "" || json.Unmarshal([]byte(line), &m) != nil {
		return m, false
	}
	m.raw = line
	return m, true
}

func (c *client) take(m message) {
	c.mu.Lock()
	c.script.messages = append(c.script.messages, m)
	if m.Method == "" {
		delete(c.waiting, string(m.ID))
	}
	c.heard.Broadcast()
	c.mu.Unlock()
	if m.Method != "" && m.ID != nil {
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, replies[m.Method]) + "\n"
		time.AfterFunc(c.thinks, func() { c.write(answer) })
	}
}

// replies are the client's answers to the server's questions.
var replies = map[string]string{
	"elicitation/create":     `{"action":"accept","content":{"name":"Ö \u00e9","n": 1.0}}`,
	"sampling/createMessage": `{"role":"assistant","content":{"type":"text","text":"sampled"},"model":"m","stopReason":"endTurn"}`,
	"roots/list":             `{"roots":[{"uri":"file:///r","name":"r"}]}`,
	"ping":                   `{}`,
}

func (c *client) write(text string) {
	c.writing.Lock()
	defer c.writing.Unlock()
	io.WriteString(c.peer.in, text)
}

// send writes all lines of a step in one write and waits for the responses to its requests.
func (c *client) send(s step) bool {
	c.mu.Lock()
	for _, id := range s.ids {
		c.waiting[id] = true
	}
	c.mu.Unlock()
	c.write(s.text)
	alarm := time.AfterFunc(c.timeout, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended = true
		c.heard.Broadcast()
	})
	defer alarm.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.waiting) > 0 && !c.ended {
		c.heard.Wait()
	}
	return !c.ended
}

// play sends a whole script and returns what the client was told.
func play(p peer, steps []step) transcript { return playSlowly(p, steps, answerTimeout, 0) }

// playSlowly is play for a client that waits and thinks as long as it is told.
func playSlowly(p peer, steps []step, timeout, thinks time.Duration) transcript {
	c := newClient(p, timeout, thinks)
	for _, s := range steps {
		if !c.send(s) {
			break
		}
	}
	c.mu.Lock()
	for id := range c.waiting {
		c.script.lost = append(c.script.lost, id)
	}
	tr := transcript{messages: append([]message(nil), c.script.messages...), lost: c.script.lost}
	c.mu.Unlock()
	p.in.Close()
	p.close()
	return tr
}

// command is a server as a client's configuration names it.
type command struct {
	argv []string
	env  []string // in addition to ours
	dir  string
}

// environment leaves out our own variables: gauze keeps them from servers. Only gauze itself gets the
// state directory of the tests.
func (c command) environment() []string {
	own := func(pair string) bool { return strings.HasPrefix(pair, "GAUZE_") }
	environ := append(slices.DeleteFunc(os.Environ(), own), "GORACE=atexit_sleep_ms=0")
	if c.argv[0] == gauzeBinary() {
		environ = append(environ, "GAUZE_STATE_DIR="+os.Getenv("GAUZE_STATE_DIR"))
	}
	return append(environ, c.env...)
}

// wrapped is the same command behind gauze run, without a flag.
func (c command) wrapped() command {
	c.argv = append([]string{gauzeBinary(), "run", "--"}, c.argv...)
	return c
}

// patience is how long the process may take to exit after its input has ended.
func (c command) patience() time.Duration {
	if c.argv[0] == gauzeBinary() {
		return 2 * time.Minute
	}
	return time.Second
}

// start runs the command as a process.
func (c command) start(t testing.TB) peer {
	t.Helper()
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Env, cmd.Dir = c.environment(), c.dir
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	said := &tail{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return peer{in, out, func() {
		// gauze stops a server that ignores the end of its input; nothing else stops it directly.
		kill := time.AfterFunc(c.patience(), func() { cmd.Process.Kill() })
		defer kill.Stop()
		cmd.Wait()
		out.Close()
		if t.Failed() || testing.Verbose() && os.Getenv("GAUZE_DIFFERENTIAL_STDERR") != "" {
			t.Logf("stderr of %v:\n%s", c.argv, said)
		}
	}}
}

// session runs the command behind a proxy session of this process, with default options.
func (c command) session() peer {
	toSession, in := io.Pipe()
	out, fromSession := io.Pipe()
	s := proxy.New(proxy.Options{Spec: launch.Spec{Command: c.argv[0], Args: c.argv[1:], Env: c.environment(), Dir: c.dir}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Serve(context.Background(), toSession, fromSession)
		fromSession.Close()
	}()
	return peer{in, out, func() { <-done }}
}

// inProcess runs a server function of this process.
func inProcess(serve func(in io.Reader, out, stderr io.Writer)) peer {
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve(toServer, fromServer, io.Discard)
		fromServer.Close()
	}()
	return peer{in, out, func() { <-done }}
}

// tail keeps the end of what a process writes to stderr.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (w *tail) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, b...)
	if extra := len(w.text) - 4000; extra > 0 {
		w.text = bytes.Clone(w.text[extra:])
	}
	return len(b), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.text)
}
