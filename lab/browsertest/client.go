package browsertest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/views/live"
)

// Wrap is a client and the faulty server that gauze wraps for it.
type Wrap struct {
	Name   string
	Ledger string // Ledger is what the server really did.

	run    *Run
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr buffer

	mu      sync.Mutex
	lastID  int
	waiting map[int]chan Answer
	failed  error // why no more answers come
}

// Answer is the response to a call.
type Answer struct {
	Text  string
	Fault string // Fault is the code of gauze's fault, if there is one.
}

// WrapOptions are the settings of a wrap.
type WrapOptions struct {
	Name, Client string
	Gauze        []string // Gauze are flags of gauze run.
	Server       []string // Server are flags of the faulty server.
	Env          []string
}

// answerTimeout limits what is waited for: without it a fault would look like a test that hangs.
const answerTimeout = 2 * time.Minute

// Wrap starts a client's server as clients do, and lists its tools.
func (r *Run) Wrap(ctx context.Context, o WrapOptions) (*Wrap, error) {
	w := &Wrap{Name: o.Name, Ledger: filepath.Join(r.Dir, o.Name+".ledger"), run: r, waiting: map[int]chan Answer{}}
	server := o.Name + "-server"
	if err := r.script(server, append([]string{"-ledger", w.Ledger, "-state", filepath.Join(r.Dir, o.Name+".state")}, o.Server...)); err != nil {
		return nil, err
	}
	argv := append(append([]string{"run", "--name", o.Name}, o.Gauze...), "--", server)
	w.cmd = r.Command(context.WithoutCancel(ctx), argv...)
	w.cmd.Env = append(w.cmd.Env, o.Env...)
	w.cmd.Stderr = &w.stderr
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	r.ended = append(r.ended, w.Close)
	go w.listen(out)
	hello, err := json.Marshal(o.Client)
	if err != nil {
		return nil, err
	}
	initialize := fmt.Sprintf(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":%s,"version":"1"}}`, hello)
	if _, err := w.ask(ctx, "initialize", initialize); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(w.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		return nil, err
	}
	_, err = w.ask(ctx, "tools/list", `{}`)
	return w, err
}

// Close ends the session as a client does. A second time it does nothing.
func (w *Wrap) Close() {
	if w.in.Close() != nil {
		return
	}
	late := time.AfterFunc(answerTimeout, func() { w.cmd.Process.Kill() })
	defer late.Stop()
	w.cmd.Wait()
}

// Call makes one tool call and waits for its response.
func (w *Wrap) Call(ctx context.Context, tool, arguments string) (Answer, error) {
	a, err := w.ask(ctx, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
	if err != nil {
		return a, fmt.Errorf("%s: %s: %w", w.Name, tool, err)
	}
	return a, nil
}

// Kill waits until the server runs and kills its process, which gauze then restarts.
func (w *Wrap) Kill(ctx context.Context) error {
	s, err := w.Await(ctx, func(s live.Server) bool { return s.ServerPID != 0 })
	if err != nil {
		return err
	}
	process, err := os.FindProcess(s.ServerPID)
	if err != nil {
		return err
	}
	return process.Kill()
}

// Await waits until what the wrap says about itself is as wanted.
func (w *Wrap) Await(ctx context.Context, wanted func(live.Server) bool) (live.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		s, err := w.Server(ctx)
		if err != nil {
			return s, fmt.Errorf("%s: %w", w.Name, err)
		}
		if wanted(s) {
			return s, nil
		}
		<-look.C
	}
}

// Server returns what the wrap says about itself.
func (w *Wrap) Server(ctx context.Context) (live.Server, error) {
	all, err := live.All(ctx, w.run.State)
	for _, s := range all {
		if s.PID == w.cmd.Process.Pid {
			return s, err
		}
	}
	return live.Server{}, errors.Join(err, fmt.Errorf("%s is not announced", w.Name))
}

func (w *Wrap) ask(ctx context.Context, method, params string) (Answer, error) {
	answer := make(chan Answer, 1)
	w.mu.Lock()
	if w.failed != nil {
		w.mu.Unlock()
		return Answer{}, w.failed
	}
	w.lastID++
	w.waiting[w.lastID] = answer
	_, err := fmt.Fprintf(w.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", w.lastID, method, params)
	w.mu.Unlock()
	if err != nil {
		return Answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	select {
	case a, open := <-answer:
		if !open {
			return a, w.failed
		}
		return a, nil
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("no response to %s: %w", method, ctx.Err())
	}
}

// listen passes responses on until gauze closes its output.
func (w *Wrap) listen(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		w.take(line)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = fmt.Errorf("%s: gauze run ended: %s", w.Name, w.stderr.String())
	for _, answer := range w.waiting {
		close(answer)
	}
}

func (w *Wrap) take(line []byte) {
	var m struct {
		ID     int
		Method string
		Result struct {
			Content []struct{ Text string }
			Meta    struct {
				Fault struct{ Code string } `json:"io.github.gauze-mcp/fault"`
			} `json:"_meta"`
		}
		Error *struct{ Message string }
	}
	if json.Unmarshal(line, &m) != nil || m.Method != "" {
		return
	}
	a := Answer{Fault: m.Result.Meta.Fault.Code}
	for _, c := range m.Result.Content {
		a.Text += c.Text
	}
	if m.Error != nil {
		a.Text, a.Fault = m.Error.Message, "error"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if answer := w.waiting[m.ID]; answer != nil {
		delete(w.waiting, m.ID)
		answer <- a
	}
}

// buffer is text that a process writes while it is read.
type buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
