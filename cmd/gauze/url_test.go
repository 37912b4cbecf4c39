package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
)

// Tests of gauze run --url as a separate process.

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func httpServer(t *testing.T, cfg faultyhttp.Config) *faultyhttp.Server {
	t.Helper()
	s := faultyhttp.New(cfg)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// The proxy of the environment is used, except for this machine.
func TestTheProxyOfTheEnvironmentIsUsed(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.RequestURI)
		http.Error(w, "no", http.StatusForbidden)
	}))
	defer proxy.Close()
	environ := []string{"HTTP_PROXY=" + proxy.URL, "http_proxy=" + proxy.URL, "NO_PROXY=", "no_proxy="}
	w := startRun(t, environ, "--url", "http://mcp.invalid/mcp")
	fmt.Fprintln(w.in, hello)
	if line, _ := w.out.ReadString('\n'); !strings.Contains(line, "auth-denied") {
		t.Errorf("%s", line)
	}
	server := httpServer(t, faultyhttp.Config{})
	w = startRun(t, environ, "--url", server.URL())
	fmt.Fprintln(w.in, hello)
	if line, _ := w.out.ReadString('\n'); !strings.Contains(line, `"result"`) {
		t.Errorf("%s", line)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) == 0 {
		t.Error("the proxy was not asked")
	}
	for _, uri := range asked {
		if uri != "http://mcp.invalid/mcp" {
			t.Errorf("the proxy was asked for %s", uri)
		}
	}
}

// No output of gauze contains a credential, whatever goes wrong.
func TestTheCredentialIsNeverShown(t *testing.T) {
	t.Parallel()
	const secret = "canary-0d9f8e7c6b5a"
	server := httpServer(t, faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true, Token: secret})
	w := startRun(t, []string{"MY_TOKEN=Bearer " + secret}, "--header-env", "Authorization=MY_TOKEN", "--url", server.URL(), "--patience", "200ms")
	said := &strings.Builder{}
	ask := func(line string) {
		fmt.Fprintln(w.in, line)
		answer, _ := w.out.ReadString('\n')
		said.WriteString(answer)
	}
	ask(hello)
	fmt.Fprintln(w.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i, f := range []faultyhttp.Fault{faultyhttp.Status401, faultyhttp.Status403, faultyhttp.Status500, faultyhttp.HTML, faultyhttp.RSTAfterEffect, faultyhttp.RedirectOther} {
		ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"append","arguments":{"key":"k%d","fault":%q}}}`, i+2, i, f))
	}
	server.Stop()
	ask(`{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"echo","arguments":{}}}`)
	w.in.Close()
	w.cmd.Wait()
	if text := said.String() + w.stderr.String(); strings.Contains(text, secret) || !strings.Contains(text, "MY_TOKEN") {
		t.Errorf("%s", text)
	}
}

// The client disconnects, or gauze gets a signal, while the server hangs.
func TestRunOverAURLEndsAtOnce(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(w *wrapped) (answered bool){
		"client gone": func(w *wrapped) bool {
			w.in.Close()
			w.ear.Close()
			return false
		},
		"SIGTERM": func(w *wrapped) bool {
			w.cmd.Process.Signal(syscall.SIGTERM)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			windowstest.Skip(t)
			t.Parallel()
			server := httpServer(t, faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
			w := startRun(t, nil, "--quiet", "--url", server.URL())
			fmt.Fprintln(w.in, hello)
			w.out.ReadString('\n')
			fmt.Fprintln(w.in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","arguments":{"key":"never"}}}`)
			<-server.Reached("never")
			answered := leave(w)
			rest, _ := io.ReadAll(w.out)
			w.cmd.Wait()
			if strings.Contains(string(rest), `"id":2`) != answered {
				t.Errorf("answered with: %s", rest)
			}
			if !w.cmd.ProcessState.Exited() {
				t.Errorf("%v", w.cmd.ProcessState)
			}
		})
	}
}

// A long request and its answer pass a URL as a plain body, and as an event of a stream.
func TestALongAnswerOverHTTPPasses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 17<<20)
	for _, form := range []faultyhttp.Answers{faultyhttp.JSON, faultyhttp.SSE} {
		server := httpServer(t, faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true, Answers: form})
		w := startRun(t, nil, "--quiet", "--url", server.URL())
		fmt.Fprintln(w.in, hello)
		w.out.ReadString('\n')
		fmt.Fprintln(w.in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`+long+`"}}}`)
		w.in.Close()
		rest, _ := io.ReadAll(w.out)
		w.cmd.Wait()
		if !strings.Contains(string(rest), `"id":2`) || !strings.Contains(string(rest), long) {
			t.Errorf("%q: %d bytes were answered: %.300s", form, len(rest), rest)
		}
	}
}

// What is written and recorded about a URL at which nobody listens does not speak of a connection,
// and says once what happened again and again.
func TestAURLThatWasNeverReached(t *testing.T) {
	t.Parallel()
	server := httpServer(t, faultyhttp.Config{})
	server.Stop()
	environ := []string{"GAUZE_STATE_DIR=" + t.TempDir()}
	w := startRun(t, environ, "--name", "far", "--restart-backoff", "1ms", "--url", server.URL())
	fmt.Fprintln(w.in, hello)
	if line, _ := w.out.ReadString('\n'); !strings.Contains(line, "server-unreachable") {
		t.Error(line)
	}
	w.in.Close()
	w.cmd.Wait()
	history := func(flags ...string) string {
		cmd := program(t, "gauze", append([]string{"history"}, flags...)...)
		cmd.Env = append(os.Environ(), environ...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.Join(strings.Fields(string(out)), " ")
	}
	said := w.stderr.String()
	for name, text := range map[string]string{"history": history(), "history --all": history("--all"), "stderr": said} {
		for _, claim := range []string{"lost", "reconnected", "connected in", "ready", "healthy", "restored", "running again"} {
			if strings.Contains(text, claim) {
				t.Errorf("%s: %q in\n%s", name, claim, text)
			}
		}
	}
	if text := history(); !strings.Contains(text, "far: the server could not be reached: ") || !strings.Contains(text, " attempts failed, then gauze stopped") {
		t.Error(text)
	}
	if n := strings.Count(said, "next attempt in"); n != 1 || !strings.Contains(said, "another attempt failed: ") || !strings.Contains(said, " times, last ") {
		t.Errorf("%d times:\n%s", n, said)
	}
}
