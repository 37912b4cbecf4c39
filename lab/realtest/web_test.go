//go:build linux

package realtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// webKind is a real server at a URL that forgets its sessions when it is restarted.
type webKind struct {
	name  string
	path  string // of its endpoint
	ready string // on stderr when it takes connections
	// command returns how to start it on a port.
	command func(t *testing.T, at workplace, port int) (argv, env []string)

	read call // safe to repeat: the server says so
	want string
	slow func(who string) call // safe to repeat, reports progress, and is in flight for a while
	// touch makes the server say to its caller that a resource changed.
	touch func(uri string) call
}

// everythingAt is server-everything in one of its ways to be reached over HTTP.
func everythingAt(mode, path, ready string) webKind {
	return webKind{
		name: "server-everything-" + mode, path: path, ready: ready,
		command: func(t *testing.T, _ workplace, port int) (argv, env []string) {
			return realparts.Need(t, realparts.Everything, mode), append(os.Environ(), fmt.Sprintf("PORT=%d", port))
		},
		read: everything.read,
		want: everything.want,
		slow: func(string) call {
			return call{tool: "trigger-long-running-operation", args: map[string]any{"duration": 2, "steps": 8}}
		},
		touch: func(string) call { return call{tool: "toggle-subscriber-updates", args: map[string]any{}} },
	}
}

var (
	everythingHTTP = everythingAt("streamableHttp", "/mcp", "listening on port")
	everythingSSE  = everythingAt("sse", "/sse", "running on port") // the transport of 2024-11-05
)

// webServer is one that runs, again and again on the same port.
type webServer struct {
	webKind
	t    *testing.T
	at   workplace
	port int
	*child
}

func (k webKind) start(t *testing.T) *webServer {
	t.Helper()
	w := &webServer{webKind: k, t: t, at: newWorkplace(t), port: freePort(t)}
	w.again()
	return w
}

func (w *webServer) url() string { return fmt.Sprintf("http://127.0.0.1:%d%s", w.port, w.path) }

// again starts it, or starts it again when it has died.
func (w *webServer) again() {
	w.t.Helper()
	if w.child != nil {
		<-w.ended
	}
	argv, env := w.command(w.t, w.at, w.port)
	w.child = start(w.t, argv, env, w.ready)
}

// restart kills it and waits until the next one takes connections.
func (w *webServer) restart() {
	w.t.Helper()
	w.kill()
	w.again()
}

func (w *webServer) signal(signal syscall.Signal) {
	w.t.Helper()
	if err := w.cmd.Process.Signal(signal); err != nil {
		w.t.Fatal(err)
	}
}

var portsTaken sync.Map

// freePort returns a port that stays free while the server is down: the kernel gives none below 32768 to anybody who
// does not name it.
func freePort(t *testing.T) int {
	t.Helper()
	for range 1000 {
		port := 20000 + rand.IntN(12000)
		listener, err := net.Listen("tcp", ":"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		listener.Close()
		if _, taken := portsTaken.LoadOrStore(port, true); !taken {
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}
