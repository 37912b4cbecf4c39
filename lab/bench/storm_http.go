package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/lab/bench/history"
)

// webStorm is one storm against a server over HTTP.
type webStorm struct {
	dialect        *dialect
	way            string // "run" (stdio to HTTP) or "serve" (HTTP to HTTP)
	eventIDs       bool   // the server's streams can be resumed
	window         int
	calls          int
	faults         int
	callers        int
	large          int // bytes of a call that does not fit into a connection's buffers
	sessions       int // clients of gauze serve
	seed           uint64
	mode           string        // see stormModes; empty: all faults
	bug            string        // seeded into a gauze built with seededbugs
	spare          int           // faults that meet may cost so many calls more
	silenceTimeout time.Duration // a call without a response for this long is lost
}

// upstreams returns the number of sessions between gauze and the server. Each has its own window.
func (s *webStorm) upstreams() int {
	if s.way == "serve" && s.dialect.era == "legacy" {
		return s.sessions
	}
	return 1
}

// legacySessions is the number of sessions that the callers share.
const legacySessions = 4

// configureWeb returns the storm for each requested way, era and kind of server.
func configureWeb(base webStorm, era, way string) ([]webStorm, error) {
	var storms []webStorm
	for _, w := range []string{"run", "serve"} {
		for i := range dialects {
			if way != "both" && way != w || era != "both" && era != dialects[i].era {
				continue
			}
			s := base
			s.way, s.dialect = w, &dialects[i]
			if stormModes[s.mode].between {
				s.callers = 1
			}
			s.sessions = s.callers
			if s.dialect.era == "legacy" {
				s.sessions = min(legacySessions, s.callers)
				resumable := s
				resumable.eventIDs = true
				storms = append(storms, resumable)
			}
			if !stormModes[s.mode].resumes {
				storms = append(storms, s)
			}
		}
	}
	if storms == nil {
		return nil, fmt.Errorf("invalid -era %q or -way %q: must be legacy, modern or both, and run, serve or both", era, way)
	}
	if base.callers < 1 || base.faults < 0 || base.calls <= base.faults {
		return nil, errors.New("-callers must be at least 1, and -calls greater than -faults")
	}
	return storms, nil
}

// runWebStorms runs the storms one after another.
func runWebStorms(base webStorm, era, way, gauze, jsonTo string) error {
	storms, err := configureWeb(base, era, way)
	if err != nil {
		return err
	}
	b, err := newBinaries()
	if err != nil {
		return err
	}
	defer b.remove()
	if gauze == "" {
		if gauze, err = b.gauze(tagsFor(base.bug)); err != nil {
			return err
		}
	}
	var results []*webResult
	for _, s := range storms {
		r, err := s.run(b, gauze)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", s.way, s.dialect.era, err)
		}
		results = append(results, r)
	}
	printWebStorms(os.Stdout, results)
	if err := writeJSON(jsonTo, results); err != nil {
		return err
	}
	for _, r := range results {
		if !r.Pass {
			return errors.New("a guarantee was violated")
		}
	}
	return nil
}

// server returns a server that replies with streams in the modern era and where streams can be
// resumed, and with plain JSON elsewhere if possible.
func (s *webStorm) server() *faultyhttp.Server {
	cfg := faultyhttp.Config{Era: faultyhttp.Era(s.dialect.era), Stateful: s.dialect.era == "legacy", EventIDs: s.eventIDs,
		RetryAfter: "0", Keep: -1, NoPing: stormModes[s.mode].noPing, Logins: stormModes[s.mode].logins}
	if s.dialect.era == "legacy" && !s.eventIDs {
		cfg.Answers = faultyhttp.JSON
	}
	return faultyhttp.New(cfg)
}

// run runs the storm and checks the result.
func (s *webStorm) run(b *binaries, gauze string) (*webResult, error) {
	dir, err := os.MkdirTemp(b.dir, "storm-")
	if err != nil {
		return nil, err
	}
	server := s.server()
	if err := server.Start(); err != nil {
		return nil, err
	}
	defer server.Close()
	status := filepath.Join(dir, "status.json")
	args := append([]string{s.way, "--url", server.URL(), "--status-file", status}, windowFlag(s.window)...)
	if stormModes[s.mode].resumes {
		args = append(args, "--resumed-read", "200ms", "--resumed-write", "200ms")
	}
	if stormModes[s.mode].between {
		args = append(args, "--confirm-after", idle.String())
	}
	if stormModes[s.mode].logins {
		args = append(args, "--grant", "client-credentials", "--client-id", "robot", "--client-secret-env", "GAUZE_STORM_SECRET")
	}
	c := newCallerPool(s)
	output := &tailBuffer{}
	if s.way == "run" {
		err = c.overStdio(s, s.wrap(gauze, dir, args...), output)
	} else {
		var f *httpProcess
		if f, err = c.overHTTP(s, s.wrap(gauze, dir, append(args, "--no-token", "--listen", "127.0.0.1:0")...)); err == nil {
			output = f.output
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, output)
	}
	if stormModes[s.mode].between {
		c.between = func(f faultyhttp.Fault) error { return replace(server, f) }
	}
	injector := s.newInjector(c, server)
	took := c.work(injector, func() {
		showProgress(c.stopped, func() string {
			return fmt.Sprintf("%s: %d of %d answers, %d of %d server faults", s, c.answered.Load(), s.calls, injector.count(), len(c.plan.serverFaults))
		})
	})
	exit := c.close()
	left := server.Disarm()
	effects, err := webEffects(server)
	if err != nil {
		return nil, err
	}
	verdict := history.Check(c.log.Events(), effects, s.limits(c.plan))
	r := s.result(verdict, c, injector, readStatus(status), took)
	r.Faults -= left
	if r.Faults < s.faults*99/100 {
		r.broke("only %d of %d faults", r.Faults, s.faults)
	}
	if c.broken != nil {
		r.broke("the server did not restart: %v", c.broken)
	}
	if exit != nil {
		r.broke("gauze exited with %v", exit)
	}
	r.lastOutput = output.String()
	return r, nil
}

// wrap returns gauze with a home of its own.
func (s *webStorm) wrap(gauze, home string, args ...string) *exec.Cmd {
	cmd := exec.Command(gauze, args...)
	cmd.Env = append(os.Environ(), "GAUZE_SEEDED_BUG="+s.bug, "GAUZE_STORM_SECRET=of-the-robot", "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_DATA_HOME="+home)
	return cmd
}

// defaultWindow is the number of outcomes that a fault of the server may cost each upstream when no
// window is set.
const defaultWindow = 4

// limits returns what the planned faults may cost. A fault of one call may cost the outcome of that
// call. A fault of the server that affects every call in flight may cost the window of every
// upstream, and the calls that set registers, which the window does not limit. Faults that meet, such
// as a call's own 404 while the server forgets its sessions, cost up to three calls more, and one more
// in fifty faults.
func (s *webStorm) limits(p *webPlan) history.Limits {
	if stormModes[s.mode].between {
		return history.Limits{}
	}
	unknown, harms, failed := 0, len(p.serverFaults), 3+s.faults/50+s.spare
	wide := cmp.Or(s.window, defaultWindow)*s.upstreams() + s.callers/10
	for _, b := range p.serverFaults {
		if unknown++; b.wide {
			unknown += wide
		}
	}
	for n, f := range p.fault {
		if f == "" {
			continue
		}
		harms++
		unknown++
		if s.mode != "" {
			failed++
		}
		switch f {
		case faultyhttp.ExpireAfterEffect: // all calls in flight have that token
			failed += s.callers
			unknown += s.callers
		case faultyhttp.ForgetAfterEffect:
			unknown += wide
		}
		if writes(n) && (strings.HasPrefix(string(f), "503") || f == faultyhttp.EndSSE || f == faultyhttp.Status404) {
			failed++ // a call that must not be repeated gets the server's own failure: unavailable, no response or rejected
		}
	}
	return history.Limits{UnknownPerKill: float64(unknown) / float64(max(1, harms)), Failed: failed}
}

func (s *webStorm) String() string {
	name := "gauze " + s.way + ", " + s.dialect.era
	if s.eventIDs {
		name += " with event ids"
	}
	if s.mode != "" {
		name += ", " + s.mode
	}
	return name
}
