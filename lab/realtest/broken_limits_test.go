//go:build linux

package realtest

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// waiting is something to wait for; reached hears when it has come to that.
type waiting struct {
	name  string
	build func(b *bench, reached func())
}

// endless are servers that keep a client waiting, each in a way of its own.
var endless = []waiting{
	{"says nothing", func(b *bench, reached func()) { b.node1("setInterval(() => {}, 1000)", reached) }},
	{"is busy", func(b *bench, reached func()) { b.node1("for (;;) {}", reached) }},
	{"writes to stderr", func(b *bench, reached func()) {
		b.node1("setInterval(() => console.error('Downloading packages'), 50)", reached)
	}},
	{"writes to stdout", func(b *bench, reached func()) { b.node1("setInterval(() => console.log('still at it'), 50)", reached) }},
	{"does not want to end", func(b *bench, reached func()) {
		b.node1("for (const s of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(s, () => {}); setInterval(() => {}, 1000)", reached)
	}},
	{"npx, and the download stands still", func(b *bench, reached func()) {
		b.npxFrom(b.answering(func(_ http.ResponseWriter, r *http.Request) {
			reached()
			<-r.Context().Done()
		}))
	}},
	{"npx, and the download trickles", func(b *bench, reached func()) {
		b.npxFrom(b.answering(trickle("application/json", strings.Repeat(" ", 2<<10), reached)))
	}},
	{"an address that does not answer", func(b *bench, reached func()) {
		b.url(b.answering(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // or its end is not noticed
			reached()
			<-r.Context().Done()
		}))
	}},
	{"an address that trickles", func(b *bench, reached func()) {
		b.url(b.answering(trickle("text/event-stream", ": wait\n\n", reached)))
	}},
}

// looking is gauze itself, which looks for a fix and gets no answer.
var looking = []waiting{
	{"while other paths are asked", func(b *bench, reached func()) {
		b.url(b.answering(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && r.URL.Path != "/mcp" {
				reached()
				<-r.Context().Done()
			}
			w.WriteHeader(http.StatusNotFound)
		}))
	}},
	{"while the login shell is asked", func(b *bench, reached func()) {
		there := b.answering(func(http.ResponseWriter, *http.Request) { reached() })
		b.env = append(b.env, "SHELL="+b.script("bin/bash", "#!"+b.node()+"\nfetch("+quoted(there)+"); setInterval(() => {}, 1000)\n"))
		b.command("no-such-program-at-all", "--stdio")
	}},
}

// trickle sends the same again and again.
func trickle(kind, text string, reached func()) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or its end is not noticed
		w.Header().Set("Content-Type", kind)
		reached()
		for tick := time.Tick(20 * time.Millisecond); ; {
			select {
			case <-r.Context().Done():
				return
			case <-tick:
				_, _ = io.WriteString(w, text) // who asked may be gone
				w.(http.Flusher).Flush()
			}
		}
	}
}

// node1 is a server of one line, which says first that it is there.
func (b *bench) node1(line string, reached func()) {
	there := b.answering(func(http.ResponseWriter, *http.Request) { reached() })
	b.onPath("node", b.node())
	b.command("node", b.file("project/server.mjs", "await fetch("+quoted(there)+");\n"+line+"\n"))
}

// npxFrom is a package of a registry of our own.
func (b *bench) npxFrom(registry string) {
	b.onPath("node", b.node())
	b.onPath("npx", b.npx())
	b.env = append(b.env, "npm_config_registry="+registry, "npm_config_update_notifier=false")
	b.command("npx", "-y", "a-package-of-ours")
}

// grace is what there may be beyond a limit: to end a server that does not want to, on a machine with other things to do.
var grace = patience.Limit()

// Whatever a server does, the limit that was given is one.
func TestBrokenSetupsEndInTime(t *testing.T) {
	const limit = 2 * time.Second
	for _, e := range endless {
		t.Run(strings.ReplaceAll(e.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			b.timeout = limit.String()
			e.build(b, func() {})
			began := time.Now()
			r := b.gauze()
			if took := time.Since(began); took > limit+grace || r.Works {
				t.Errorf("it took %v\n%s", took, r.raw)
			}
		})
	}
}

// Ctrl-C ends gauze test and gauze doctor, whatever they wait for, with status 130.
func TestBrokenSetupsAreInterrupted(t *testing.T) {
	for _, e := range sample.Some(sample.Seed(t, gauzeBinary()), slices.Concat(endless, looking), 5) {
		for _, command := range []string{"test", "doctor"} {
			t.Run(strings.ReplaceAll(command+" "+e.name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, nil)
				there := make(chan struct{}, 100)
				e.build(b, func() {
					select {
					case there <- struct{}{}:
					default:
					}
				})
				argv := slices.Concat([]string{gauzeBinary(), "test", "--heal", "--timeout", "60s"}, b.args)
				if command == "doctor" {
					argv = []string{gauzeBinary(), "doctor", "--heal", "--timeout", "60s", strings.Join(b.args[1:], " ")}
				}
				cmd := exec.Command(argv[0], argv[1:]...)
				cmd.Dir, cmd.Env, cmd.WaitDelay = b.project, b.environ(), time.Second
				var said strings.Builder
				cmd.Stdout, cmd.Stderr = &said, &said
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				select {
				case <-there:
				case err := <-ended:
					t.Fatalf("it ended by itself: %v\n%s", err, said.String())
				case <-time.After(testPatience):
					cmd.Process.Kill()
					t.Fatal("there was nothing to wait for")
				}
				if err := cmd.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
				// The server would never end.
				if <-ended; cmd.ProcessState.ExitCode() != 130 {
					t.Errorf("after Ctrl-C: %v\n%s", cmd.ProcessState, said.String())
				}
			})
		}
	}
}

// A mistake on the command line has a status of its own.
func TestBrokenCommandLines(t *testing.T) {
	for _, line := range []string{"test --tiemout 5s -- x", "doctor --tiemout 5s x", "diagnose --jsn", "test", "doctor --yes", "test --timeout -5s -- x"} {
		cmd := exec.Command(gauzeBinary(), strings.Fields(line)...)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || !strings.HasPrefix(string(out), "gauze "+strings.Fields(line)[0]+": ") {
			t.Errorf("gauze %s: %v\n%s", line, cmd.ProcessState, out)
		}
	}
}
