//go:build linux

package realtest

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// Real clients over HTTP, gauze, and for each session a real stdio server of its own, which is killed.
func TestClientsOverHTTPKeepTheirSessionsThroughDeathsOfTheirServers(t *testing.T) {
	t.Parallel()
	at := newWorkplace(t)
	gauze := serve(t, at.environment(), append([]string{"--"}, witnessed(t, realparts.Need(t, realparts.Everything))...)...)
	c := newCrowd(t)
	clients := some(t, withSession, 3) // one reads, one writes
	c.dial(gauze.url, clients...)
	c.all("before", func(m *member) error {
		if err := m.learnTools(); err != nil {
			return err
		}
		return m.subscribe(m.ctx, m.resource())
	})

	killed := gauze.killChildren(t, c, everything)
	if len(killed) < len(clients) {
		t.Errorf("%d clients with sessions share %d servers: %v", len(clients), len(killed), killed)
	}
	c.all("the first call after a kill", func(m *member) error { return m.must(everything.read, everything.want) })
	c.all("tools/list after a kill", (*member).sameTools)
	c.all("a notification after a kill", func(m *member) error {
		return m.updated(call{tool: "toggle-subscriber-updates", args: map[string]any{}})
	})

	// Every other client reads, and the rest write: a death for each is enough, servers take their time to start.
	reads := map[*member]bool{}
	turn := ownSeed(t)
	for i, m := range c.members {
		reads[m] = (turn+uint64(i))%2 == 0
	}
	c.all("a call that kills", func(m *member) error {
		if reads[m] {
			return m.readAndKill(t, at)
		}
		return m.writeAndKill(t, at)
	})
	c.all("a call after it", func(m *member) error { return m.must(everything.read, everything.want) })
	c.all("at the end", func(m *member) error { return m.front.oneSession() })
}

// readAndKill: the witness inside of the server reads from the arguments when to die. The call is made again.
func (m *member) readAndKill(t *testing.T, at workplace) error {
	word := dieMidAnswer + " read of " + m.name
	err := m.must(call{tool: "echo", args: map[string]any{"message": word}}, word)
	if n := at.arrivals(t, word+`"`); err == nil && n != 2 {
		err = fmt.Errorf("it reached the server %d times, want once before and once after its death", n)
	}
	return err
}

// writeAndKill: the same for a call that is not made again. The server does not mind an argument it does not know.
func (m *member) writeAndKill(t *testing.T, at workplace) error {
	word := dieBeforeAnswer + " write of " + m.name
	a, err := m.call(m.ctx, call{tool: "toggle-simulated-logging", args: map[string]any{"note": word}})
	if n := at.arrivals(t, word+`"`); err == nil && (n != 1 || !a.saysUnknown()) {
		err = fmt.Errorf("it reached the server %d times, and the answer is %+v", n, a)
	}
	return err
}

// Clients of the modern era share a server.
func TestModernClientsOverHTTPGoOnThroughDeathsOfTheirServer(t *testing.T) {
	t.Parallel()
	argv := realparts.Need(t, timeServer.part, timeServer.args...)
	gauze := serve(t, nil, append([]string{"--"}, argv...)...)
	c := newCrowd(t)
	c.dial(gauze.url, speakModern...)
	c.all("before", (*member).learnTools)
	gauze.killChildren(t, c, timeServer)
	c.all("the first call after a kill", func(m *member) error { return m.must(timeServer.read, timeServer.want) })
	c.all("tools/list after a kill", (*member).sameTools)
	c.all("at the end", func(m *member) error { return m.front.noSession() })
}

// killChildren kills all servers below gauze and waits until they are dead.
func (f *front) killChildren(t *testing.T, c *crowd, server serverKind) []process {
	t.Helper()
	all := serverBelow(t, f.pid(), string(server.part))
	if len(all) == 0 {
		t.Fatalf("no process called %q below gauze; there are %v", server.part, below(t, f.pid()))
	}
	signalEach(t, all, syscall.SIGKILL)
	if left := gone(c.ctx, all); len(left) > 0 {
		t.Fatalf("SIGKILL did not end %v", left)
	}
	return all
}
