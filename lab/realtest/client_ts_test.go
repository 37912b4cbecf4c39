//go:build linux

package realtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// tsSession drives testdata/client.cjs, a TypeScript SDK client, by JSON lines: orders in, reports out.
type tsSession struct {
	process *exec.Cmd
	orders  io.WriteCloser
	hello   tsReport
	updated updateBox
	ended   chan struct{} // closed when it has no more to say

	mu      sync.Mutex
	next    int
	waiting map[int]*tsOrder
}

type tsOrder struct {
	ID       int            `json:"id"`
	Do       string         `json:"do"`
	Tool     string         `json:"tool,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
	Progress bool           `json:"progress,omitempty"`
	URI      string         `json:"uri,omitempty"`

	progressed func()
	done       chan tsReport
}

// tsReport answers an order; the first, with the id 0, says that the session is ready.
type tsReport struct {
	ID       int             `json:"id"`
	Progress bool            `json:"progress"` // not yet the answer
	Updated  string          `json:"updated"`  // no answer at all: a resource changed
	Error    string          `json:"error"`
	Result   json.RawMessage `json:"result"`

	Pid     int    `json:"pid"`
	Version string `json:"version"`
}

// tsClient starts the SDK of the given version: v1, v2, or v2-auto, which asks for the server's era first.
func tsClient(version string) func(*testing.T, context.Context, []string, []string) client {
	return func(t *testing.T, ctx context.Context, env, at []string) client {
		s, err := dialTS(t, ctx, version, env, at)
		if err != nil {
			t.Fatalf("the TypeScript SDK %s cannot connect: %v", version, err)
		}
		return s
	}
}

// dialTS returns what the SDK says if it cannot connect.
func dialTS(t *testing.T, ctx context.Context, version string, env, at []string) (*tsSession, error) {
	t.Helper()
	script, err := filepath.Abs("testdata/client.cjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(realparts.Node(t), append([]string{script, version}, at...)...)
	cmd.Env = append(environment(env), "NODE_PATH="+realparts.Modules(t))
	cmd.Stderr = stderrOf(t)
	orders, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	reports, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hello := &tsOrder{done: make(chan tsReport, 1)}
	s := &tsSession{process: cmd, orders: orders, updated: newUpdateBox(), ended: make(chan struct{}), waiting: map[int]*tsOrder{0: hello}}
	go s.listen(reports)
	s.hello, err = s.await(ctx, hello)
	if err == nil && s.hello.Error != "" {
		err = errors.New(s.hello.Error)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *tsSession) listen(reports io.Reader) {
	defer close(s.ended)
	lines := bufio.NewReader(reports)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var r tsReport
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		if r.Updated != "" {
			s.updated.put(r.Updated)
			continue
		}
		s.mu.Lock()
		order := s.waiting[r.ID]
		if !r.Progress {
			delete(s.waiting, r.ID)
		}
		s.mu.Unlock()
		switch {
		case order == nil:
		case r.Progress:
			order.progressed()
		default:
			order.done <- r
		}
	}
}

func (s *tsSession) order(ctx context.Context, o *tsOrder) (json.RawMessage, error) {
	o.done = make(chan tsReport, 1)
	s.mu.Lock()
	s.next++
	o.ID = s.next
	s.waiting[o.ID] = o
	b, err := json.Marshal(o)
	if err == nil {
		_, err = s.orders.Write(append(b, '\n')) // inside the lock: lines must not mix
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	r, err := s.await(ctx, o)
	if err != nil {
		return nil, err
	}
	if r.Error != "" {
		return nil, errors.New(r.Error)
	}
	return r.Result, nil
}

func (s *tsSession) await(ctx context.Context, o *tsOrder) (tsReport, error) {
	select {
	case r := <-o.done:
		return r, nil
	case <-s.ended:
		return tsReport{}, errors.New("the client script ended")
	case <-ctx.Done():
		return tsReport{}, ctx.Err()
	}
}

func (s *tsSession) tools(ctx context.Context) ([]string, error) {
	result, err := s.order(ctx, &tsOrder{Do: "tools"})
	if err != nil {
		return nil, err
	}
	var listed struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(result, &listed); err != nil {
		return nil, err
	}
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (s *tsSession) call(ctx context.Context, c call) (answer, error) {
	result, err := s.order(ctx, &tsOrder{Do: "call", Tool: c.tool, Args: c.args, Progress: c.progressed != nil, progressed: c.progressed})
	if err != nil {
		return answer{}, err
	}
	var raw struct {
		Content []struct{ Text string }
		IsError bool
		Meta    map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(result, &raw); err != nil {
		return answer{}, fmt.Errorf("%w in %s", err, result)
	}
	a := answer{IsError: raw.IsError, Meta: raw.Meta}
	for _, content := range raw.Content {
		a.Text += content.Text
	}
	return a, nil
}

func (s *tsSession) subscribe(ctx context.Context, uri string) error {
	_, err := s.order(ctx, &tsOrder{Do: "subscribe", URI: uri})
	return err
}

func (s *tsSession) updates() <-chan string { return s.updated }
func (s *tsSession) pid() int               { return s.hello.Pid }
func (s *tsSession) version() string        { return s.hello.Version }

// close lets the script close its session as an application would, and waits for it.
func (s *tsSession) close() error {
	s.orders.Close()
	<-s.ended // before Wait, which would take the rest of the output away
	return s.process.Wait()
}
