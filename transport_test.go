package gauze_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

func TestMain(m *testing.M) {
	faultyserver.RunIfAsked()
	os.Exit(m.Run())
}

// faulty are the options of a transport to the scripted server.
func faulty(dir, era string) gauze.Options {
	path, args, env := faultyserver.Command("-era", era, "-ledger", filepath.Join(dir, "ledger"), "-state", filepath.Join(dir, "state"))
	return gauze.Options{
		Command: append([]string{path}, args...), Env: append(os.Environ(), env...),
		Restart: gauze.Restart{Backoff: -1, Limit: -1},
	}
}

// newTransport returns a transport with valid options.
func newTransport(t *testing.T, o gauze.Options) *gauze.Transport {
	t.Helper()
	transport, err := gauze.NewTransport(o)
	if err != nil {
		t.Fatal(err)
	}
	return transport
}

// kill ends a process as the system would.
func kill(pid int) {
	if process, err := os.FindProcess(pid); err == nil {
		process.Kill()
	}
}

// An unmodified SDK client stays connected through kills, in both eras.
func TestAnSDKClientStaysConnectedThroughKills(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			ctx := patience.Context(t)
			dir := t.TempDir()
			options := faulty(dir, era)
			died := make(chan struct{}, 100)
			options.OnEvent = func(e event.Event) {
				if e.Kind == event.Died {
					died <- struct{}{}
				}
			}
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
			transport := newTransport(t, options)
			session, err := client.Connect(ctx, transport, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if _, err := session.ListTools(ctx, nil); err != nil {
				t.Fatal(err)
			}
			call := func(tool string, arguments map[string]any) string {
				t.Helper()
				result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
				if err != nil {
					t.Fatalf("%s: %v", tool, err)
				}
				return result.Content[0].(*mcp.TextContent).Text
			}
			pid := func() int {
				var who struct{ PID int }
				if err := json.Unmarshal([]byte(call("pid", nil)), &who); err != nil {
					t.Fatal(err)
				}
				return who.PID
			}
			last := pid()
			for n := range 10 {
				kill(last)
				if n%2 == 0 {
					<-died // otherwise the call races with the death
				}
				if got := call("echo", map[string]any{"text": "still here"}); got != "still here" {
					t.Fatalf("echo answered %q", got)
				}
				call("append", map[string]any{"key": fmt.Sprint("key-", n)})
				next := pid()
				if next == last {
					t.Fatal("the server was not replaced")
				}
				last = next
			}
			entries, _, err := faultyserver.ReadLedger(filepath.Join(dir, "ledger"))
			if err != nil {
				t.Fatal(err)
			}
			if len(entries) != 10 {
				t.Errorf("%d effects, want 10", len(entries))
			}
		})
	}
}

func TestAClosedConnectionLeavesNothingBehind(t *testing.T) {
	ctx := t.Context()
	options := faulty(t.TempDir(), "both")
	var mu sync.Mutex
	var pids []int
	options.OnEvent = func(e event.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == event.Started {
			pids = append(pids, e.PID)
		}
	}
	transport := newTransport(t, options)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(pids) == 0 {
		t.Fatal("no server was started")
	}
	for _, pid := range pids {
		process, err := os.FindProcess(pid)
		if err == nil && process.Signal(syscall.Signal(0)) == nil {
			t.Errorf("process %d is still there", pid)
		}
	}
}

func TestAMissingCommandIsExplainedToTheProgram(t *testing.T) {
	_, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), newTransport(t, gauze.Options{Command: []string{"no-such-bin-xyz"}}), nil)
	if err == nil || !strings.Contains(err.Error(), "no-such-bin-xyz") || !strings.Contains(err.Error(), "on the client's PATH") {
		t.Errorf("error: %v", err)
	}
}

func TestTransportFindsTheEndpointOfAURL(t *testing.T) {
	server := faultyhttp.New(faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	wrong := strings.TrimSuffix(server.URL(), "/mcp") + "/wrong"
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), newTransport(t, gauze.Options{URL: wrong}), nil)
	if err != nil {
		t.Fatal(err)
	}
	session.Close()
	if _, err := client.Connect(t.Context(), newTransport(t, gauze.Options{URL: wrong, NoHeal: true}), nil); err == nil || !strings.Contains(err.Error(), "Tell the user") {
		t.Error(err)
	}
}

func TestNoCommandIsAnErrorThatSaysWhatToDo(t *testing.T) {
	if _, err := gauze.New(gauze.Options{}); err == nil || !strings.Contains(err.Error(), "set Command") {
		t.Errorf("error: %v", err)
	}
}

// The same client, the same code, a server behind a URL: it is restarted, its
// session is gone, and the client does not notice.
func TestTransportHealsAServerBehindAURL(t *testing.T) {
	server := faultyhttp.New(faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), newTransport(t, gauze.Options{URL: server.URL()}), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for i := range 3 {
		key := fmt.Sprint("k", i)
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "append", Arguments: map[string]any{"key": key}})
		if err != nil || result.IsError || server.Effects()[key] != 1 {
			t.Errorf("%v, %+v, done %d times", err, result, server.Effects()[key])
		}
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOptionsNameOneServer(t *testing.T) {
	for words, o := range map[string]gauze.Options{
		"use one of them":   {URL: "http://localhost/mcp", Command: []string{"x"}},
		"http://":           {URL: "localhost/mcp"},
		"gauze itself sets": {URL: "http://localhost/mcp", Header: http.Header{"Mcp-Session-Id": {"x"}}},
		"control character": {URL: "http://localhost/mcp", Header: http.Header{"X-A": {"a\nb"}}},
		"has no host":       {URL: "http:///mcp"},
		"has a fragment":    {URL: "http://localhost/mcp#x"},
	} {
		if _, err := gauze.New(o); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%+v: %v, want %q", o, err, words)
		}
	}
}

// A Wrap that has stopped, or serves a client, does not answer another one.
func TestAWrapServesOnce(t *testing.T) {
	wrap, err := gauze.New(faulty(t.TempDir(), "legacy"))
	if err != nil {
		t.Fatal(err)
	}
	if err := wrap.Serve(t.Context(), strings.NewReader(""), io.Discard); err != nil {
		t.Fatal(err)
	}
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	unread := in.Len()
	var out strings.Builder
	err = wrap.Serve(t.Context(), in, &out)
	if err == nil || !strings.Contains(err.Error(), "was called before") || in.Len() != unread || out.Len() > 0 {
		t.Errorf("%v, %q", err, out.String())
	}
}
