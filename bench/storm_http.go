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

	"github.com/gauze-mcp/gauze/bench/history"
	"github.com/gauze-mcp/gauze/internal/faultyserver/faultyhttp"
)

// webStorm is one storm against a server behind a URL: so many calls, so many
// faults, one era, one way to get there.
type webStorm struct {
	dialect  *dialect
	way      string // run: stdio to HTTP; serve: HTTP to HTTP
	eventIDs bool   // the server's streams can be resumed
	window   int
	calls    int
	faults   int
	callers  int
	large    int // bytes of a call that does not fit into the buffers of a connection
	sessions int // clients of gauze serve
	seed     uint64
	bug      string        // seeded into the wrap, if it was built with it
	quiet    time.Duration // without an answer for this long, a call is lost
}

// upstreams is how many sessions the wrap has with the server: each lets in a
// window of its own.
func (s *webStorm) upstreams() int {
	if s.way == "serve" && s.dialect.era == "legacy" {
		return s.sessions
	}
	return 1
}

// legacySessions share the callers among them.
const legacySessions = 4

// configureWeb spreads the settings over ways, eras and servers.
func configureWeb(base webStorm, era, way string) ([]webStorm, error) {
	var storms []webStorm
	for _, w := range []string{"run", "serve"} {
		for i := range dialects {
			if way != "both" && way != w || era != "both" && era != dialects[i].era {
				continue
			}
			s := base
			s.way, s.dialect, s.sessions = w, &dialects[i], s.callers
			if s.dialect.era == "legacy" {
				s.sessions = min(legacySessions, s.callers)
				resumable := s
				resumable.eventIDs = true
				storms = append(storms, resumable)
			}
			storms = append(storms, s)
		}
	}
	if storms == nil {
		return nil, fmt.Errorf("-era %q, -way %q: allowed are legacy, modern, both and run, serve, both", era, way)
	}
	if base.callers < 1 || base.faults < 0 || base.calls <= base.faults {
		return nil, errors.New("there must be a caller, and more calls than faults")
	}
	return storms, nil
}

// runWebStorms lets one storm after the other pass.
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
			return errors.New("a promise was broken")
		}
	}
	return nil
}

// server answers in streams where they can be resumed, and in the modern era;
// otherwise in plain JSON where it can.
func (s *webStorm) server() *faultyhttp.Server {
	cfg := faultyhttp.Config{Era: faultyhttp.Era(s.dialect.era), Stateful: s.dialect.era == "legacy", EventIDs: s.eventIDs,
		RetryAfter: "0", Keep: -1}
	if s.dialect.era == "legacy" && !s.eventIDs {
		cfg.Answers = faultyhttp.JSON
	}
	return faultyhttp.New(cfg)
}

// run lets the storm pass and checks what is left.
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
	c := newCrew(s)
	said := &lastWords{}
	if s.way == "run" {
		err = c.overStdio(s, s.wrap(gauze, args), said)
	} else {
		var f *front
		if f, err = c.overHTTP(s, s.wrap(gauze, append(args, "--no-token", "--listen", "127.0.0.1:0"))); err == nil {
			said = f.said
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, said)
	}
	fury := s.newFury(c, server)
	took := c.work(fury, func() {
		showProgress(c.stopped, func() string {
			return fmt.Sprintf("%s: %d of %d answers, %d of %d blows", s, c.answered.Load(), s.calls, fury.count(), len(c.plan.blows))
		})
	})
	exit := c.close()
	left := server.Disarm()
	effects, err := webEffects(server)
	if err != nil {
		return nil, err
	}
	verdict := history.Check(c.log.Events(), effects, s.limits(c.plan))
	r := s.result(verdict, c, fury, readStatus(status), took)
	r.Faults -= left
	if r.Faults < s.faults*99/100 {
		r.broke("only %d of %d faults", r.Faults, s.faults)
	}
	if exit != nil {
		r.broke("the wrap ended with %v", exit)
	}
	r.lastWords = said.String()
	return r, nil
}

func (s *webStorm) wrap(gauze string, args []string) *exec.Cmd {
	cmd := exec.Command(gauze, args...)
	cmd.Env = append(os.Environ(), "GAUZE_SEEDED_BUG="+s.bug)
	return cmd
}

// defaultWindow is what a blow may cost each upstream where no window is set.
const defaultWindow = 4

// limits: a fault of one call may cost the answer to that call. A blow that
// hits everything in flight may cost the window of every upstream, and the
// calls that set registers, which no window holds back.
func (s *webStorm) limits(p *webPlan) history.Limits {
	unknown, harms, failed := 0, len(p.blows), 1+s.faults/50
	for _, b := range p.blows {
		if unknown++; b.wide {
			unknown += cmp.Or(s.window, defaultWindow)*s.upstreams() + s.callers/10
		}
	}
	for n, f := range p.fault {
		if f == "" {
			continue
		}
		harms++
		unknown++
		if writes(n) && (strings.HasPrefix(string(f), "503") || f == faultyhttp.EndSSE || f == faultyhttp.Status404) {
			failed++ // a call that may not be repeated is answered with what the server did: unavailable, no answer, refused
		}
	}
	return history.Limits{UnknownPerKill: float64(unknown) / float64(max(1, harms)), Failed: failed}
}

func (s *webStorm) String() string {
	name := "gauze " + s.way + ", " + s.dialect.era
	if s.eventIDs {
		name += " with event ids"
	}
	return name
}
