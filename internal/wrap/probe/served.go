package probe

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// Served is where a server answers over HTTP that was started as a command, and what a Run saw there
// while the command ran.
type Served struct {
	URL string
	Result
}

// Paths at which servers usually listen, best first, and the names of this machine.
var (
	servedPaths = []string{"/mcp", "/sse", "/"}
	servedHosts = []string{"127.0.0.1", "[::1]"}
)

const (
	maxServedPorts = 4
	servedTimeout  = 2 * time.Second // for each address
)

// ServedAt returns the first of the ports of this machine at which an MCP server answers, or nil. It
// opens a session and lists the tools, and nothing else.
func ServedAt(ctx context.Context, ports []int, o Options) *Served {
	o.Timeout = min(cmp.Or(o.Timeout, servedTimeout), servedTimeout)
	o = Options{Timeout: o.Timeout, MaxWait: o.Timeout, Version: o.Version, Allow: onlyLoopback}
	for _, port := range ports[:min(len(ports), maxServedPorts)] {
		if served := servedOn(ctx, port, o); served != nil {
			return served
		}
	}
	return nil
}

func servedOn(ctx context.Context, port int, o Options) *Served {
	for _, host := range servedHosts {
		for _, path := range servedPaths {
			spec := launch.Spec{URL: fmt.Sprintf("http://%s:%d%s", host, port, path), Login: launch.Login{Mode: launch.LoginOff}}
			r := Run(ctx, spec, o)
			switch {
			case r.OK():
				return &Served{URL: spec.URL, Result: r}
			case r.Limit.Passed:
				return nil // it does not respond to HTTP
			}
			if r.Stage < upstream.Started {
				break // it does not listen there
			}
		}
	}
	return nil
}

func onlyLoopback(at netip.AddrPort) error {
	if !at.Addr().Unmap().IsLoopback() {
		return fmt.Errorf("%v is not an address on this machine", at)
	}
	return nil
}

// lookout finds out whether a command that is silent on stdout serves HTTP instead.
type lookout struct {
	next  time.Time // of the next look
	pause time.Duration
	ports []int // that were searched last
	found *Served
	at    time.Time // when it was found
}

// A command is looked at after firstLook, and then in longer and longer intervals. What it serves counts
// once it has been silent for servedGrace more: a server may do both, and open its port first.
const (
	firstLook   = 3 * time.Second
	servedGrace = 2 * time.Second
)

// settled reports whether the command of an attempt serves HTTP and will not answer on stdout.
func (l *lookout) settled(a *attempt, asked, now time.Time) bool {
	switch {
	case a.r.Remote || a.r.Stage >= upstream.Spoke || a.conn.LastHeard().After(asked): // one that answered before is only slow
		return false
	case l.found != nil:
		return now.Sub(l.at) >= min(servedGrace, a.Timeout/4)
	case l.next.IsZero():
		l.pause = min(firstLook, a.Timeout/3)
		l.next = asked.Add(l.pause)
	}
	if !now.Before(l.next) {
		l.look(a)
		l.pause *= 2
		l.next = time.Now().Add(l.pause)
	}
	return false
}

// look searches the ports that the command listens on.
func (l *lookout) look(a *attempt) {
	if l.ports = a.conn.Survey().Ports; len(l.ports) > 0 {
		l.found, l.at = ServedAt(a.ctx, l.ports, a.Options), time.Now()
	}
}

// lastLook searches ports that were not yet open at the last look.
func (l *lookout) lastLook(a *attempt) {
	if l.found == nil && !slices.Equal(a.conn.Survey().Ports, l.ports) {
		l.look(a)
	}
}
