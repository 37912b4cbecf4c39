//go:build linux

package realtest

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
)

// Real clients over HTTP, gauze, and a real server with sessions that is killed and started again on its port.
func TestClientsKeepTheirSessionsThroughRestarts(t *testing.T) {
	t.Parallel()
	server := everythingHTTP.start(t)
	c := newCrowd(t)
	c.dial(serve(t, nil, "--url", server.url()).url, some(t, withSession, 3)...)
	c.settle(server)
	c.restartBetweenCalls(server)
	c.restartUnderReads(server)
	c.restartUnderWrites(server)
	c.all("at the end", func(m *member) error { return m.front.oneSession() })
}

// The same with a server of the Go SDK, which can be made to die at exact moments.
func TestClientsKeepTheirSessionsThroughRestartsOfAnSDKServer(t *testing.T) {
	t.Parallel()
	clients := half(t, withSession)
	server := sdkStateful(len(clients)).start(t)
	c := newCrowd(t)
	c.dial(serve(t, nil, "--url", server.url()).url, clients...)
	c.settle(server)
	c.restartBetweenCalls(server)
	c.restartUnderReads(server)
	c.dieWithWrites(server)
	c.all("at the end", func(m *member) error { return m.front.oneSession() })
}

// The modern era has no sessions to lose, but calls, and streams of notifications.
func TestModernClientsGoOnThroughRestarts(t *testing.T) {
	t.Parallel()
	server := sdkModern(len(speakModern)).start(t)
	c := newCrowd(t)
	c.dial(serve(t, nil, "--url", server.url()).url, speakModern...)
	c.settle(server)
	c.all("the era", func(m *member) error {
		if m.version() != modern {
			return fmt.Errorf("it speaks %s", m.version())
		}
		return nil
	})
	c.restartBetweenCalls(server)
	c.restartUnderReads(server)
	c.dieWithWrites(server)
	c.all("at the end", func(m *member) error { return m.front.noSession() })
}

// settle lets all begin as clients do.
func (c *crowd) settle(server *webServer) {
	c.t.Helper()
	c.all("before", func(m *member) error {
		if err := m.learnTools(); err != nil {
			return err
		}
		if err := m.must(server.read, server.want); err != nil {
			return err
		}
		return m.subscribe(m.ctx, m.resource())
	})
}

// restartBetweenCalls: nobody has anything in flight, and every session is gone.
func (c *crowd) restartBetweenCalls(server *webServer) {
	c.t.Helper()
	server.restart()
	c.all("the first call after a restart", func(m *member) error { return m.must(server.read, server.want) })
	c.all("tools/list after a restart", (*member).sameTools)
	c.all("a notification after a restart", func(m *member) error { return m.updated(server.touch(m.resource())) })
}

// restartUnderReads: the server dies when each client has a call in flight that may be repeated.
func (c *crowd) restartUnderReads(server *webServer) {
	c.t.Helper()
	var begun sync.WaitGroup
	begun.Add(len(c.members))
	answered := c.begin("a read under a restart", func(m *member) error {
		return m.inFlight(server.slow(m.name), begun.Done)
	})
	begun.Wait()
	server.restart()
	answered()
	c.all("a call after it", func(m *member) error { return m.must(server.read, server.want) })
}

// restartUnderWrites: the server dies with calls it must not be sent twice. It stands still before, so that they are in
// its hands, or in gauze's, and not answered.
func (c *crowd) restartUnderWrites(server *webServer) {
	c.t.Helper()
	server.signal(syscall.SIGSTOP)
	var sent []<-chan struct{}
	for _, m := range c.members {
		sent = append(sent, m.passes("toggle-simulated-logging"))
	}
	answered := c.begin("a write under a restart", func(m *member) error {
		a, err := m.call(m.ctx, call{tool: "toggle-simulated-logging", args: map[string]any{}})
		if err == nil && a.IsError && !a.saysUnknown() {
			err = fmt.Errorf("the answer is %+v, want a result or an unknown outcome", a)
		}
		return err
	})
	for _, passed := range sent {
		<-passed
	}
	server.restart()
	answered()
	c.all("a call after it", func(m *member) error { return m.must(server.read, server.want) })
}

// passes is the witness's; over stdio there is none, and nothing to wait for.
func (m *member) passes(text string) <-chan struct{} {
	if m.front == nil {
		passed := make(chan struct{})
		close(passed)
		return passed
	}
	return m.front.passes(text)
}
