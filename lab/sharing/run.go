package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// patience is how long an answer may take on a busy machine.
const patience = 30 * time.Second

const (
	noAnswer  = "no answer"
	maxSilent = 3 // steps without an answer: the server waits for a network
)

// compareServer compares a server for two clients with its processes shared and not.
func compareServer(ctx context.Context, s realparts.Found) row {
	r := row{Found: s}
	w, err := newWorkplace(s)
	if err != nil {
		r.failed = err.Error()
		return r
	}
	defer w.remove()
	tools, err := w.tools(ctx)
	if err != nil {
		r.failed = err.Error()
		return r
	}
	scripts := [2][]request{script(tools, 0, w), script(tools, 1, w)}
	var apart [2]transcript
	for i := range apart {
		if apart[i], err = w.play(ctx, "session", scripts); err != nil {
			r.failed = err.Error()
			return r
		}
	}
	together, err := w.play(ctx, "principal", scripts)
	if err != nil {
		r.failed = err.Error()
		return r
	}
	r.asked = apart[0].asked
	r.compare(apart, together)
	if len(r.differences) > 0 { // an answer with the time of day may be the same twice and then change
		if again, err := w.play(ctx, "session", scripts); err == nil {
			r.compare([2]transcript{apart[0], again}, together)
		}
	}
	return r
}

// compare counts what is equal in the runs apart and together.
func (r *row) compare(apart [2]transcript, together transcript) {
	r.compared, r.results, r.random, r.differences = 0, 0, 0, nil
	for key, answer := range apart[0].answers {
		if apart[1].answers[key] != answer {
			r.random++
			continue
		}
		r.compared++
		if strings.HasPrefix(answer, `"result"`) && !strings.Contains(answer, `"isError":true`) && !isError.MatchString(answer) {
			r.results++
		}
		if got := together.answers[key]; got != answer {
			at := 0
			for at < min(len(answer), len(got)) && answer[at] == got[at] {
				at++
			}
			at = max(0, at-40)
			r.differences = append(r.differences, fmt.Sprintf("%s: apart %.150s\n    together %.150s", key, answer[min(at, len(answer)):], got[min(at, len(got)):]))
		}
	}
}

// isError finds errors that a server does not mark as such.
var isError = regexp.MustCompile(`(?i)"text":"(error|failed|\{.{0,40}\\"error\\":)`)

// workplace is where a server works: the same directory in the same state before each run.
type workplace struct {
	server realparts.Found
	root   string
	web    *httptest.Server
}

func newWorkplace(s realparts.Found) (*workplace, error) {
	root, err := os.MkdirTemp("", "gauze-sharing-")
	if err != nil {
		return nil, err
	}
	w := &workplace{server: s, root: root, web: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<html><body><h1>%s</h1><p>A page about it.</p></body></html>", r.URL.Path)
	}))}
	return w, w.reset()
}

func (w *workplace) remove() {
	w.web.Close()
	os.RemoveAll(w.root)
}

func (w *workplace) dir() string { return filepath.Join(w.root, "dir") }

func (w *workplace) reset() error {
	repo := filepath.Join(w.root, "repo")
	for _, dir := range []string{w.dir(), repo} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	init := exec.Command("git", "init", "-q")
	init.Dir = repo
	init.Run() // only one server needs it, and says so itself
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(w.dir(), name+".txt"), []byte("the text of "+name+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// write writes the file of gauze up with the server.
func (w *workplace) write(share string) (path string, err error) {
	fill := strings.NewReplacer("{dir}", w.dir(), "{repo}", filepath.Join(w.root, "repo"))
	env := map[string]string{"HOME": w.root, "XDG_CONFIG_HOME": w.root, "BROWSER": "true"}
	for _, pair := range w.server.Env {
		name, value, _ := strings.Cut(fill.Replace(pair), "=")
		env[name] = value
	}
	var command []string
	for _, word := range slices.Concat(w.server.Argv, further[w.server.Package]) {
		command = append(command, fill.Replace(word))
	}
	text, err := json.Marshal(map[string]any{"servers": map[string]any{"it": map[string]any{"command": command, "env": env, "cwd": w.root, "share": share}}})
	if err != nil {
		return "", err
	}
	path = filepath.Join(w.root, "up.yaml")
	return path, os.WriteFile(path, text, 0o600)
}

// transcript is what two clients were answered.
type transcript struct {
	answers map[string]string // by client and step
	asked   string
}

// play runs both scripts: step by step, both clients at the same time.
func (w *workplace) play(ctx context.Context, share string, scripts [2][]request) (t transcript, err error) {
	if err := w.reset(); err != nil {
		return t, err
	}
	u, err := w.up(ctx, share)
	if err != nil {
		return t, err
	}
	defer u.stop()
	t.answers = map[string]string{}
	var clients [2]*client
	for i := range clients {
		if clients[i], err = u.dial(ctx); err != nil {
			return t, err
		}
		defer clients[i].close()
		if _, err := clients[i].tools(); err != nil {
			return t, err
		}
	}
	silent := 0
	for step := range scripts[0] {
		var got [2]string
		var running sync.WaitGroup
		for i, c := range clients {
			running.Go(func() { got[i] = c.ask(scripts[i][step]) })
		}
		running.Wait()
		if got[0] == noAnswer && got[1] == noAnswer {
			if silent++; silent == maxSilent {
				return t, errors.New("calls get no answer here")
			}
		}
		for i, answer := range got {
			t.answers[fmt.Sprintf("client %d, step %d, %s %.200s", i, step, scripts[i][step].method, scripts[i][step].params)] = answer
		}
	}
	for _, c := range clients {
		if asked, _ := c.asked.Load().(string); asked != "" {
			t.asked = asked
		}
	}
	return t, nil
}

// up is a gauze up with the server.
type up struct {
	w    *workplace
	cmd  *exec.Cmd
	file string
}

func (w *workplace) up(ctx context.Context, share string) (*up, error) {
	file, err := w.write(share)
	if err != nil {
		return nil, err
	}
	u := &up{w: w, file: file, cmd: exec.CommandContext(ctx, gauze, "up", "--no-token", "--no-dashboard", "--listen", "127.0.0.1:0", file)}
	u.cmd.Env = w.environ()
	stderr, err := u.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := u.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "listening on") {
			go io.Copy(io.Discard, stderr)
			return u, nil
		}
	}
	return nil, errors.Join(errors.New("gauze up did not start"), u.cmd.Wait())
}

// environ is that of gauze: a state of its own.
func (w *workplace) environ() []string {
	return append(os.Environ(), "GAUZE_STATE_DIR="+filepath.Join(w.root, "state"), "GAUZE_JOURNAL=off")
}

func (u *up) stop() {
	u.cmd.Process.Signal(os.Interrupt)
	u.cmd.Wait()
}

// client is a client that answers what it is asked.
type client struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	dir     string
	answers chan message
	ended   chan struct{}
	asked   atomic.Value // method of its last question
	last    int
}

func (u *up) dial(ctx context.Context) (c *client, err error) {
	c = &client{dir: u.w.dir(), answers: make(chan message, 100), ended: make(chan struct{})}
	c.cmd = exec.CommandContext(ctx, gauze, "connect", "--file", u.file)
	c.cmd.Env = u.w.environ()
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go c.read(out)
	c.ask(request{"initialize", `{"protocolVersion":"2025-06-18","capabilities":{"roots":{},"sampling":{},"elicitation":{}},"clientInfo":{"name":"sharing","version":"1"}}`})
	io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return c, nil
}

func (c *client) close() {
	c.in.Close()
	<-c.ended
	c.cmd.Wait()
}

// read passes answers on and answers questions.
func (c *client) read(from io.Reader) {
	defer close(c.ended)
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		if m.Method != "" {
			c.asked.Store(m.Method)
		}
		switch m.Method {
		case "":
			c.answers <- m
		case "roots/list":
			fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file://%s","name":"it"}]}}`+"\n", m.ID, filepath.ToSlash(c.dir))
		default:
			fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"no"}}`+"\n", m.ID)
		}
	}
}

// message is what a client gets.
type message struct {
	ID, Result, Error json.RawMessage
	Method            string
}

// ask returns the answer to a request, without its id.
func (c *client) ask(r request) string {
	c.last++
	fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.last, r.method, r.params)
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case m := <-c.answers:
			switch {
			case string(m.ID) != fmt.Sprint(c.last):
			case m.Error != nil:
				return `"error":` + string(m.Error)
			default:
				return `"result":` + string(ofServer(m.Result))
			}
		case <-late.C:
			return noAnswer
		case <-c.ended:
			return "the session ended"
		}
	}
}

// ofServer returns a result without what gauze adds to it, which depends on the calls before.
func ofServer(result json.RawMessage) json.RawMessage {
	var whole map[string]any
	if !strings.Contains(string(result), "gauze") || json.Unmarshal(result, &whole) != nil {
		return result
	}
	delete(whole, "_meta")
	if content, ok := whole["content"].([]any); ok {
		whole["content"] = slices.DeleteFunc(content, func(item any) bool {
			one, _ := item.(map[string]any)
			text, _ := one["text"].(string)
			return strings.HasPrefix(text, "[gauze")
		})
	}
	rest, _ := json.Marshal(whole) // cannot fail: it was JSON
	return rest
}
