package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// lab runs the suite.
type lab struct {
	parts realparts.Conformance
	front front
	gauze string // path of the gauze binary
	dir   string
	log   io.Writer
	count int
}

// suiteTimeout limits one run of the suite, which takes two to four seconds on an idle machine, and
// starts 39 clients at the same time.
func suiteTimeout() time.Duration { return 2 * patience.Limit() }

// scenarioTimeout is the suite's limit for one scenario.
func scenarioTimeout() string { return fmt.Sprint(patience.Limit().Milliseconds()) }

// all runs the legs. Legs with the same direct runs share them.
func (l *lab) all(ctx context.Context, legs []leg, runs int) []report {
	direct := map[leg][]sheet{}
	var reports []report
	for _, leg := range legs {
		if leg.kind == agents {
			reports = append(reports, l.own(ctx, leg, runs))
			continue
		}
		bare := leg.direct()
		r := report{leg: leg}
		direct[bare] = l.directly(ctx, bare, direct[bare], runs, &r)
		for n := 0; n < runs && len(r.problems) == 0; n++ {
			s, err := l.once(ctx, leg, l.frontOf(leg))
			if s != nil {
				r.through = append(r.through, s)
			}
			if err != nil {
				r.problem("behind gauze, run %d: %v", n+1, err)
			}
		}
		if len(r.through) > 0 {
			r.compare(direct[bare])
		}
		if len(r.differences) > 0 { // or is it a check that varies without gauze, too?
			direct[bare] = l.directly(ctx, bare, direct[bare], len(direct[bare])+2, &r)
			r.compare(direct[bare])
		}
		reports = append(reports, r)
		if ctx.Err() != nil {
			break
		}
	}
	return reports
}

// frontOf returns what a leg runs the suite through.
func (l *lab) frontOf(leg leg) front {
	if leg.kind == upOne || leg.kind == upAll {
		return gauzeUp{gauzeServe{l.gauze, true}, leg.kind == upAll, l.parts.Server, l.dir}
	}
	return l.front
}

// directly runs the suite without gauze until there are so many sheets.
func (l *lab) directly(ctx context.Context, bare leg, sheets []sheet, wanted int, r *report) []sheet {
	for len(sheets) < wanted {
		s, err := l.once(ctx, bare, nil)
		if err != nil {
			r.problem("direct: %v", err)
			break
		}
		sheets = append(sheets, s)
	}
	return sheets
}

// once runs the suite once, directly if f is nil. It may return both results and an error, if a
// front did not stop cleanly.
func (l *lab) once(ctx context.Context, leg leg, f front) (s sheet, err error) {
	began := time.Now()
	if leg.kind == client {
		s, err = l.clients(ctx, leg, f)
	} else {
		s, err = l.server(ctx, leg, f)
	}
	how := "direct"
	if f != nil {
		how = "behind gauze"
	}
	fmt.Fprintf(l.log, "%s %s: %d checks in %.1fs\n", leg, how, s.verdicts(), time.Since(began).Seconds())
	return s, err
}

// server runs the suite against the server or its front.
func (l *lab) server(ctx context.Context, leg leg, f front) (s sheet, err error) {
	t := target{command: []string{l.parts.Server}}
	switch leg.kind {
	case agents:
		t.command = []string{l.gauze, "mcp"}
	case httpToHTTP, upOne, upAll:
		stateless := leg.version >= "2026-07-28"
		url, stop, err := l.listen(ctx, stateless)
		if err != nil {
			return nil, err
		}
		defer stop()
		t = target{url: url}
	}
	url := t.url
	if f != nil {
		through, stop, err := f.open(ctx, t)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, stop()) }()
		url = through
	}
	s, err = l.suite(ctx, nil, "server", "--url", url, "--requirements", leg.version, "--timeout", scenarioTimeout())
	return s, err
}

// clients runs the suite against the client, directly or through a front.
func (l *lab) clients(ctx context.Context, leg leg, f front) (sheet, error) {
	command, env := l.parts.Client, []string(nil)
	if f != nil {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command = self
		env = []string{envClient + "=" + l.parts.Client, envGauze + "=" + l.gauze, envDir + "=" + l.dir}
	}
	// The suite passes the command to a shell.
	quoted := "'" + strings.ReplaceAll(command, "'", `'\''`) + "'"
	args := []string{"client", "--command", quoted, "--timeout", scenarioTimeout()}
	s, err := l.suite(ctx, env, append(args, "--requirements", leg.version)...)
	if err != nil || f == nil || leg.version != "2025-11-25" {
		return s, err
	}
	older, err := l.suite(ctx, env, append(args, "--suite", backcompat)...)
	maps.Copy(s, older)
	return s, err
}

// listen starts the server over HTTP.
func (l *lab) listen(ctx context.Context, stateless bool) (url string, stop func(), err error) {
	// The server does not report its port, so give it one that was just free.
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address := probe.Addr().String()
	probe.Close()
	p, err := start(true, os.Environ(), []string{l.parts.Server, "-http=" + address, fmt.Sprintf("-stateless=%v", stateless)}, nil)
	if err != nil {
		return "", nil, err
	}
	for deadline := time.Now().Add(patience.Limit()); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		select {
		case <-p.done:
			return "", nil, fmt.Errorf("everything-server exited: %v\n%s", p.err, p.output)
		default:
		}
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return "http://" + address + "/mcp", p.kill, nil
		}
	}
	p.kill()
	return "", nil, fmt.Errorf("everything-server is not listening on %s\n%s", address, p.output)
}

// suite runs the suite and reads its results. It ignores the exit status, which only reports that a
// check failed.
func (l *lab) suite(ctx context.Context, env []string, args ...string) (sheet, error) {
	l.count++
	dir := filepath.Join(l.dir, fmt.Sprintf("run-%d", l.count))
	argv := append([]string{l.parts.Node, l.parts.Suite}, args...)
	output := &summary{}
	p, err := start(true, append(os.Environ(), env...), append(argv, "-o", dir), output.line)
	if err != nil {
		return nil, err
	}
	// Even after success, a client that the suite gave up on may still be running.
	defer p.kill()
	select {
	case <-p.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(suiteTimeout()):
		return nil, fmt.Errorf("the suite did not finish within %v\n%s", suiteTimeout(), p.output)
	}
	s, err := readResults(dir)
	if err == nil && len(s) == 0 {
		err = errors.New("the suite did not write any results")
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, p.output)
	}
	if args[0] == "client" {
		s.add(output.outcomes...)
	}
	if len(output.complaints) > 0 {
		fmt.Fprintln(l.log, strings.Join(output.complaints, "\n"))
	}
	return s, nil
}
