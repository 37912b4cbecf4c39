//go:build linux

package realtest

import (
	"os"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// One try to reach a real server climbs to its tools, whichever way it is reached.
func TestAttemptReachesARealServer(t *testing.T) {
	for _, way := range []struct {
		transport string
		spec      func(t *testing.T) launch.Spec
	}{
		{"stdio", func(t *testing.T) launch.Spec {
			argv := realparts.Need(t, realparts.Everything)
			return launch.Spec{Command: argv[0], Args: argv[1:]}
		}},
		{"http", func(t *testing.T) launch.Spec { return launch.Spec{URL: everythingHTTP.start(t).url()} }},
		{"sse", func(t *testing.T) launch.Spec { return launch.Spec{URL: everythingSSE.start(t).url()} }},
	} {
		t.Run(way.transport, func(t *testing.T) {
			t.Parallel()
			a := probe.Run(t.Context(), way.spec(t), probe.Options{Timeout: time.Minute, Progress: func(line string) { t.Log(line) }})
			if !a.OK() || a.Stage != upstream.Listed || len(a.Found.Tools) < 5 || a.Found.Transport != way.transport || a.Found.Era != "legacy" || a.Found.Name == "" {
				t.Errorf("%v %q %+v\n%s", a.Stage, a.Stopped, a.Found, a.StderrTail)
			}
		})
	}
}

// A real server that was made for HTTP, started as if it spoke over its stdout, is seen to listen on its port.
func TestAttemptSeesThatARealServerListens(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	argv, env := everythingHTTP.command(t, newWorkplace(t), port)
	a := probe.Run(t.Context(), launch.Spec{Command: argv[0], Args: argv[1:], Env: append(os.Environ(), env...)}, probe.Options{Timeout: 3 * time.Second, MaxWait: 30 * time.Second})
	if a.OK() || !a.Limit.Passed || len(a.Limit.Ports) != 1 || a.Limit.Ports[0] != port || a.Limit.Downloading != "" {
		t.Errorf("%v %q %+v\n%s", a.Stage, a.Stopped, a.Limit, a.StderrTail)
	}
}
