package authserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// world is a provider, a server that trusts it, and a user's machine.
type world struct {
	*testing.T
	provider *Provider
	resource *Resource
	env      []string // environment of every gauze
}

// newWorld returns a world whose provider says when access tokens expire and whose tool takes work.
func newWorld(t *testing.T, expiresIn, work time.Duration) *world {
	t.Helper()
	p, err := NewProvider(expiresIn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	r, err := NewResource(p, work)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	env := append(os.Environ(), "HOME="+home, "GAUZE_STATE_DIR="+home+"/state", "GAUZE_KEYRING=off", "BROWSER="+self, envBrowser+"=1")
	return &world{t, p, r, env}
}

// limit returns how long a test waits for one event: more on a machine that the check found slow.
func limit() time.Duration {
	pace, _ := strconv.Atoi(os.Getenv("GAUZE_TEST_PACE"))
	return time.Duration(max(pace, 1)) * 2 * time.Minute
}

// login runs `gauze login`.
func (w *world) login() {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), limit())
	defer cancel()
	cmd := exec.CommandContext(ctx, gauze(w.T), "login", w.resource.URL, "--client-id", ClientID)
	cmd.Env = w.env
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("gauze login: %v\n%s", err, out)
	}
}

// wrap is one `gauze run` with its client.
type wrap struct {
	*mcp.ClientSession
	world  *world
	name   string
	cmd    *exec.Cmd
	stderr *tail
	calls  atomic.Int32
	failed int // calls that failed as they must
}

// start starts `gauze run --url` and connects a client to it. The server is asked before each call, as it
// is by default after a pause of some seconds.
func (w *world) start(name string) *wrap {
	w.Helper()
	cmd := exec.Command(gauze(w.T), "run", "--confirm-after=-1ns", "--url", w.resource.URL)
	cmd.Env = w.env
	stderr := &tail{}
	cmd.Stderr = stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
	session, err := client.Connect(w.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		w.Fatalf("%s: %v\n%s", name, err, stderr)
	}
	w.Cleanup(func() { session.Close() })
	return &wrap{ClientSession: session, world: w, name: name, cmd: cmd, stderr: stderr}
}

// add calls the tool with a key of its own, which it returns with the text of a failure.
func (g *wrap) add(ctx context.Context) (key string, err error) {
	key = fmt.Sprintf("%s-%d", g.name, g.calls.Add(1))
	res, err := g.CallTool(ctx, &mcp.CallToolParams{Name: Tool, Arguments: map[string]any{"key": key}})
	if err != nil {
		return key, err
	}
	var text strings.Builder
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text.WriteString(c.Text)
		}
	}
	if res.IsError || text.String() != "added "+key {
		return key, errors.New(text.String())
	}
	return key, nil
}

// adds calls the tool n times. Each call must succeed, except those that meet the end of a token between
// the question and the call: they are reported, and not sent again.
func (g *wrap) adds(n int) {
	for range n {
		key, err := g.add(g.world.Context())
		if err != nil && strings.Contains(err.Error(), "[gauze: outcome-unknown] The server rejected this call because the session or the login had expired") {
			g.failed++
			continue
		}
		if err != nil {
			g.world.Errorf("%s: %v\n%s", key, err, g.stderr)
			return
		}
	}
}

// once checks that each call of the wraps that succeeded had its effect exactly once, and no other, in
// one session per wrap.
func (w *world) once(wraps ...*wrap) {
	w.Helper()
	effects := w.resource.Effects()
	for key, n := range effects {
		if n != 1 {
			w.Errorf("%s took effect %d times", key, n)
		}
	}
	sum := 0
	for _, g := range wraps {
		sum += int(g.calls.Load()) - g.failed
	}
	if len(effects) != sum {
		w.Errorf("%d effects of %d calls that succeeded", len(effects), sum)
	}
	if sessions := w.resource.Sessions(); len(sessions) != len(wraps) {
		w.Errorf("%d sessions, want %d: %v", len(sessions), len(wraps), sessions)
	}
}

// tail keeps the end of what was written.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	t.kept = t.kept[max(0, len(t.kept)-4000):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
