//go:build linux

package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/gauze-mcp/gauze/internal/faultyserver/faultyhttp"
)

// A wrong path is found out with the first request, and the client notices nothing.
func TestRunFindsTheEndpointOfAURL(t *testing.T) {
	server := httpServer(t, faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
	wrong := strings.TrimSuffix(server.URL(), "/mcp") + "/wrong"
	w := startRun(t, nil, "--url", wrong)
	fmt.Fprintln(w.in, hello)
	if line, _ := w.out.ReadString('\n'); !strings.Contains(line, `"result"`) {
		t.Errorf("%s", line)
	}
	w.in.Close()
	w.cmd.Wait()
	if said := w.stderr.String(); !strings.Contains(said, "gauze: healed the server: asks at "+server.URL()+" instead") {
		t.Errorf("%s", said)
	}
}

// Who wants no healing is told the cause, what to do, and nothing is looked for.
func TestARefusedServerIsExplained(t *testing.T) {
	server := httpServer(t, faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
	wrong := strings.TrimSuffix(server.URL(), "/mcp") + "/wrong"
	w := startRun(t, nil, "--no-heal", "--url", wrong)
	for range 2 { // every time
		fmt.Fprintln(w.in, hello)
		line, _ := w.out.ReadString('\n')
		for _, want := range []string{`"error"`, "http-refused", "HTTP 404", "What to do:"} {
			if !strings.Contains(line, want) {
				t.Errorf("no %s in %s", want, line)
			}
		}
	}
}

// The path is mended for all sessions, also those that come later.
func TestServeFindsTheEndpointForAllItsSessions(t *testing.T) {
	server := httpServer(t, faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
	wrong := strings.TrimSuffix(server.URL(), "/mcp") + "/wrong"
	s := startServe(t, "--url", wrong)
	for range 3 {
		if status, answer, _ := s.post("", hello); status != http.StatusOK || !strings.Contains(answer, `"result"`) {
			t.Errorf("%d %s", status, answer)
		}
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	said, _ := io.ReadAll(s.err)
	if strings.Count(string(said), "healed the server") != 1 {
		t.Errorf("%s", said)
	}
}
