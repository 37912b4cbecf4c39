package process

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/census"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// startScript starts a shell with a script, and returns what it writes.
func startScript(t *testing.T, script string) (*process, *bufio.Reader) {
	t.Helper()
	p, err := start(launch.Spec{Command: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=/usr/bin:/bin", census.Mark(t)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		<-p.exited
		p.close()
	})
	return p, bufio.NewReader(p.stdout)
}

// The work of a child that has ended still counts: otherwise the sum would
// fall, and a busy server would look idle until it had caught up.
func TestTheWorkOfAChildThatEndedStillCounts(t *testing.T) {
	t.Parallel()
	p, out := startScript(t, `sh -c 'i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done'; echo done; read -r line`)
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	// Half a million turns of a shell's loop are a good deal more than this.
	if v := p.vitals(); !v.Known || v.CPU < 50*time.Millisecond {
		t.Errorf("the group used %v of CPU", v.CPU)
	}
}

// A server is stopped if nothing runs that reads its messages. Its launchers and its helpers do not.
func TestAServerIsStopped(t *testing.T) {
	t.Parallel()
	// Each script starts cat, the server, and first what is named: its launcher is the shell, which
	// leads the group, or its helper is sleep, whose id is written.
	const (
		alone    = `echo 0; exec cat`
		launcher = `echo 0; cat; true`
		helper   = `sleep 1000 & echo $!; exec cat`
		heir     = `exec 3<&0; sleep 1000 <&3 3<&- & echo $!; exec cat 3<&-` // a helper with the server's stdin
	)
	type family struct{ leader, server, helper int }
	for name, test := range map[string]struct {
		script string
		stop   func(family) []int
		want   bool
	}{
		"the server":                             {alone, func(f family) []int { return []int{f.server} }, true},
		"nothing":                                {alone, func(f family) []int { return nil }, false},
		"the server below a launcher":            {launcher, func(f family) []int { return []int{f.server} }, true},
		"the launcher and the server":            {launcher, func(f family) []int { return []int{f.leader, f.server} }, true},
		"the launcher only":                      {launcher, func(f family) []int { return []int{f.leader} }, false},
		"the helper only":                        {helper, func(f family) []int { return []int{f.helper} }, false},
		"the server, with a helper that runs":    {helper, func(f family) []int { return []int{f.server} }, true},
		"the server and its helper":              {helper, func(f family) []int { return []int{f.server, f.helper} }, true},
		"the helper only, with the same stdin":   {heir, func(f family) []int { return []int{f.helper} }, false},
		"the server and a helper with its stdin": {heir, func(f family) []int { return []int{f.server, f.helper} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, out := startScript(t, test.script)
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			f := family{leader: p.pid()}
			if f.helper, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
				t.Fatal(err)
			}
			f.server = p.echoes(t, out)
			for _, pid := range test.stop(f) {
				if err := faultyserver.Suspend(pid); err != nil {
					t.Fatal(err)
				}
			}
			if v := p.vitals(); !v.Known || v.Stopped != test.want || v.Held {
				t.Errorf("%+v, want stopped: %v", v, test.want)
			}
			pipes := &Pipes{proc: p}
			if got := pipes.Halted(); got != test.want || len(pipes.family.known()) > 0 {
				t.Errorf("halted: %v, want %v; it remembers %v, which may not be all yet", got, test.want, pipes.family.known())
			}
			pipes.family.count(&p.group)
			if got := pipes.Halted(); got != test.want {
				t.Errorf("with its processes remembered: halted: %v, want %v", got, test.want)
			}
		})
	}
}

// echoes returns the id of the cat in the group, which has echoed a line, so it runs and has all
// that it was started with.
func (p *process) echoes(t *testing.T, out *bufio.Reader) (server int) {
	t.Helper()
	if _, err := io.WriteString(p.stdin, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := out.ReadString('\n'); line != "hello\n" {
		t.Fatalf("echoed %q, %v", line, err)
	}
	p.each(func(pid int, _ [][]byte) {
		if commandName(argsOf(pid)) == "cat" {
			server = pid
		}
	})
	return server
}

// A process that a debugger holds is not stopped: its user continues it.
func TestADebuggerHoldsAServer(t *testing.T) {
	t.Parallel()
	p, out := startScript(t, `exec cat`)
	p.echoes(t, out)
	release, err := faultyserver.Hold(p.pid())
	if err != nil {
		t.Skip("a process may not be traced here: ", err)
	}
	if v := p.vitals(); !v.Known || v.Stopped || !v.Held {
		t.Errorf("%+v, want held and not stopped", v)
	}
	release()
	if v := p.vitals(); v.Held {
		t.Errorf("%+v after the debugger left", v)
	}
}

func TestLaunchers(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"/bin/sh -c x": true, "npx -y x": true, "/usr/bin/node /usr/lib/node_modules/npm/bin/npx-cli.js x": true, "/home/ada/.local/bin/uvx x": true,
		"go run .": true, "op run -- x": true,
		"node server.js": false, "python3 -m server": false, "docker run -i x": false, "": false,
	} {
		if got := launches(strings.Fields(command)); got != want {
			t.Errorf("%s: %v", fmt.Sprintf("%q", command), got)
		}
	}
}
