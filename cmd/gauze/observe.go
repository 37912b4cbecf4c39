package main

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/metrics"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// maxRestartWait is how long a restart that the user asked for waits for the calls in flight.
const maxRestartWait = 10 * time.Second

// observed is what a wrap shows to gauze status, gauze top and the dashboard.
type observed struct {
	options  proxy.Options
	via      string // run, serve, up or task
	since    time.Time
	recorded recording
	look     func(detail bool) (o proxy.Observation, sessions int)
	printed  func() []upstream.Line
	restart  func(context.Context) error
	reloads  *reloader // of the file that the server comes from; nil: there is none
}

// observeSession shows a session of gauze run or of a task.
func observeSession(s *proxy.Session, via string, recorded recording) observed {
	return observed{options: s.Options, via: via, since: time.Now(), recorded: recorded, restart: s.Restart, printed: s.Printed,
		look: func(detail bool) (proxy.Observation, int) { return s.Observe(detail), 1 }}
}

// observeGateway shows all sessions of gauze serve, or those of one server of gauze up.
func observeGateway(g *gateway.Gateway, via string, recorded recording) observed {
	return observed{options: g.Current(), via: via, since: time.Now(), recorded: recorded, restart: g.Restart, printed: g.Printed, look: g.Observe}
}

// announce makes the wrap visible until end is called. It never delays the wrap, and a wrap that
// cannot be announced works the same: the disk may be full, or not respond.
func (o observed) announce() (end func()) {
	dir, err := backup.StateDir()
	if err != nil || turnedOff(os.Getenv("GAUZE_LIVE")) {
		return func() {}
	}
	announced := make(chan *live.Announcement, 1)
	go func() {
		a, _ := live.Announce(dir, o.name(), o.asked())
		announced <- a
	}()
	return func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			(<-announced).Close()
		}()
		within(done)
	}
}

// name returns the name with which events are recorded.
func (o observed) name() string { return redact.Quote(cmp.Or(o.options.Name, o.options.Spec.Shown())) }

// source returns what the wrap can be asked.
func (o observed) source() live.Source {
	return live.Source{
		Server: func() live.Server {
			seen, sessions := o.look(false)
			return o.server(seen, sessions)
		},
		Detail: func() live.Detail {
			seen, sessions := o.look(true)
			return o.detail(seen, sessions)
		},
		Log: o.log,
		Restart: func() error {
			ctx, cancel := context.WithTimeout(context.Background(), maxRestartWait)
			defer cancel()
			return o.restart(ctx)
		},
		Reload: o.reloads.asked(),
	}
}

// asked is source for other commands: the journal has what it says.
func (o observed) asked() live.Source {
	source := o.source()
	server, detail := source.Server, source.Detail
	source.Server = func() live.Server {
		defer o.recorded.settle()
		return server()
	}
	source.Detail = func() live.Detail {
		defer o.recorded.settle()
		return detail()
	}
	source.Log = func() []live.Line {
		defer o.recorded.settle()
		return o.log()
	}
	return source
}

// metrics serves what the wrap counts to Prometheus.
func (o observed) metrics() http.Handler {
	source := o.source()
	return metrics.New(versionText(), func(context.Context) ([]live.Server, error) { return []live.Server{source.Server()}, nil })
}

// log returns the last lines that the server printed.
func (o observed) log() []live.Line {
	lines := []live.Line{}
	for _, l := range o.printed() {
		from := live.Stderr
		if l.Stdout {
			from = live.Stdout
		}
		lines = append(lines, live.Line{Time: l.Time, From: from, Text: l.Text, Open: l.Open})
	}
	return lines
}

func (o observed) server(seen proxy.Observation, sessions int) live.Server {
	return live.Server{
		Name: o.name(), Client: seen.Client, PID: os.Getpid(), Via: o.via, Version: versionText(),
		State: seen.State, Since: o.since, Up: seen.Up, ServerPID: seen.PID, Sessions: sessions,
		Restarts: seen.Restarts, LastReason: upstream.ReasonText(seen.LastReason), LastDeath: seen.LastDeath,
		ConsecutiveFailures: seen.Health.ConsecutiveFailures, LastFailure: seen.Health.LastFailure, LastCause: seen.Health.LastCause,
		LastSuccess: seen.Health.LastSuccess, NextTry: seen.Health.NextTry, File: o.reloads.file(),
		Counts: live.Counts{
			ToolCount: seen.ToolCount, Calls: seen.Calls, Failed: seen.Failed, Unknown: seen.Unknown, Cancelled: seen.Cancelled, Open: seen.Open,
			Healed: seen.Healed, Replayed: seen.Replayed, Repaired: seen.Repaired, Corrected: seen.Corrected, Saved: seen.Saved,
			Latency: seen.Latency, P95: float64(seen.Latency.Quantile(0.95)) / float64(time.Millisecond), Recovery: seen.Recovery,
			Closures: seen.Closures, Rules: seen.Rules, Faults: seen.Faults, Verdicts: seen.Verdicts,
			Unrecorded: o.recorded.missed(), NotRecorded: o.recorded.off(),
		},
	}
}

func (o observed) detail(seen proxy.Observation, sessions int) live.Detail {
	d := live.Detail{Server: o.server(seen, sessions), Command: redact.Quote(o.options.Spec.Shown()), Log: seen.Log}
	for _, t := range seen.Tools {
		d.Tools = append(d.Tools, live.Tool{Name: t.Name, Class: t.Class.String(), Policy: t.Policy, Calls: t.Calls, Failed: t.Failed, Latency: t.Latency})
	}
	for _, c := range seen.Recent {
		d.Recent = append(d.Recent, live.Call{ID: c.ID.String(), Time: c.Time, Client: c.Client, Tool: c.Tool, Outcome: c.Outcome,
			Took: c.Took, Without: c.Without, Healed: c.Saved, Changes: c.Changes, Told: c.Told})
	}
	return d
}
