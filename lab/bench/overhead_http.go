package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// Routes over HTTP, besides direct and wrap, which is gauze serve --url.
const (
	proxied   route = "proxy"       // a plain reverse proxy
	fromStdio route = "serve stdio" // gauze serve before the same server, which it starts
	fromLines route = "run --url"   // gauze run --url, for a client on stdio
)

// webRoutes lists all routes, in the order of the report.
var webRoutes = []route{direct, proxied, wrap, fromStdio, fromLines}

// webServers lists the servers to measure with: the typical server written with the Go SDK, to
// which the targets apply, and a fast one with which every microsecond that gauze adds is visible.
// The SDK answers with streams. The fast one is the faulty server without faults. It replies with
// plain JSON, which is the cheapest to forward, or with streams.
var webServers = []webServer{
	{name: "go-sdk modern", era: "modern", sdk: true, flags: []string{"-http", "-stateless"}},
	{name: "go-sdk legacy", era: "legacy", sdk: true, flags: []string{"-http"}},
	{name: "fast modern", era: "modern", flags: []string{"-era", "modern", "-answers", "json", "-lifetime", "0"}},
	{name: "fast legacy", era: "legacy", flags: fastLegacy},
	{name: "fast legacy, streams", era: "legacy", flags: []string{"-era", "legacy", "-stateful", "-answers", "sse", "-lifetime", "0"}},
	{name: "fast legacy, writes", era: "legacy", flags: fastLegacy, writes: true},
	{name: "fast legacy, writes after idle", era: "legacy", flags: fastLegacy, writes: true, gauze: []string{"--confirm-after", "-1ns"}},
}

var fastLegacy = []string{"-era", "legacy", "-stateful", "-answers", "json", "-lifetime", "0"}

type webServer struct {
	name   string
	era    string
	sdk    bool // the Go SDK server, to which the targets apply
	flags  []string
	writes bool     // its calls may act: gauze sends each once, and confirms the session before one that follows a pause
	gauze  []string // flags of gauze
}

// cells returns the situations to measure with a server. A server keeps what is written, so that is
// short.
func (s webServer) cells() []cell {
	if s.writes {
		return []cell{{s.name, 1, 100}, {s.name, 32, 100}}
	}
	return []cell{{s.name, 1, 100}, {s.name, 1, 10_000}, {s.name, 32, 100}, {s.name, 32, 10_000}}
}

// routes returns the routes to the server. The client on stdio only speaks the legacy era, and does
// not write.
func (s webServer) routes() []route {
	all := []route{direct, proxied, wrap}
	if s.sdk {
		all = append(all, fromStdio)
	}
	if s.era == "legacy" && !s.writes {
		all = append(all, fromLines)
	}
	return all
}

// webOverhead is one run over HTTP.
type webOverhead struct {
	rounds, calls int
	only          string // part of the names of the servers to measure with
	gauze, self   string
	sdk           string // the server's binary
}

// runWebOverhead compares gauze with a reverse proxy in one run.
func runWebOverhead(o webOverhead, jsonTo string) error {
	b, err := newBinaries()
	if err != nil {
		return err
	}
	defer b.remove()
	if o.self = b.self; o.gauze == "" {
		if o.gauze, err = b.gauze(""); err != nil {
			return err
		}
	}
	if o.sdk, err = b.sdkServer(); err != nil {
		return err
	}
	begin := time.Now()
	report := &webOverheadReport{}
	for _, server := range webServers {
		if !strings.Contains(server.name, o.only) {
			continue
		}
		for _, c := range server.cells() {
			rounds, err := o.measureCell(server, c)
			if err != nil {
				return fmt.Errorf("%s, %d callers, %d bytes: %w", c.Server, c.Callers, c.Payload, err)
			}
			report.Cells = append(report.Cells, summarize(c, rounds, proxied))
		}
	}
	report.Seconds = time.Since(begin).Seconds()
	report.judge()
	report.print(os.Stdout)
	if err := writeJSON(jsonTo, report); err != nil {
		return err
	}
	if !report.Pass {
		return errors.New("a target was missed")
	}
	return nil
}

// measureCell returns the rounds of one situation, on processes that are
// replaced every few rounds.
func (o *webOverhead) measureCell(s webServer, c cell) ([]round, error) {
	const life = 6
	var all []round
	for len(all) < o.rounds {
		rounds, err := o.measureLife(s, c, min(life, o.rounds-len(all)), len(all))
		if err != nil {
			return nil, err
		}
		all = append(all, rounds...)
	}
	return all, nil
}

// burster makes calls on one route.
type burster interface {
	burst(calls int) (latencies []time.Duration, elapsed time.Duration, err error)
	close()
}

// measureLife runs some rounds on new processes: one server, and one for each route.
func (o *webOverhead) measureLife(s webServer, c cell, count, first int) ([]round, error) {
	argv := append([]string{o.self, roleFaultyHTTP}, s.flags...)
	if s.sdk {
		argv = append([]string{o.sdk}, s.flags...)
	}
	server, err := startHTTP(exec.Command(argv[0], argv[1:]...))
	if err != nil {
		return nil, err
	}
	defer server.stop()
	callers, pids := map[route]burster{}, map[route]int{}
	for _, r := range s.routes() {
		client, pid, stop, err := o.dial(s, c, r, server)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r, err)
		}
		defer stop()
		callers[r], pids[r] = client, pid
	}
	calls, err := o.warmUp(c, callers)
	if err != nil {
		return nil, err
	}
	rounds := make([]round, count)
	for n := range rounds {
		rounds[n] = round{}
		for _, r := range rotated(s.routes(), first+n) {
			before := cpuOf(pids[r])
			latencies, elapsed, err := callers[r].burst(calls)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r, err)
			}
			one := newBurst(latencies, elapsed)
			one.cpu = float64((cpuOf(pids[r]) - before).Nanoseconds()) / 1000 / float64(len(latencies))
			rounds[n][r] = one
		}
	}
	return rounds, nil
}

// dial starts the process of a route, if it has one, and a client of it. pid is that process, or the
// server if the route is direct.
func (o *webOverhead) dial(s webServer, c cell, r route, server *httpProcess) (client burster, pid int, stop func(), err error) {
	serve := []string{o.gauze, "serve", "--no-token", "--listen", "127.0.0.1:0", "--quiet"}
	argv := map[route][]string{
		proxied:   {o.self, roleProxy, server.url},
		wrap:      slices.Concat(serve, s.gauze, []string{"--url", server.url}),
		fromStdio: slices.Concat(serve, s.gauze, []string{"--", o.sdk}),
		fromLines: slices.Concat([]string{o.gauze, "run"}, s.gauze, []string{"--url", server.url}),
	}[r]
	if r == fromLines {
		lines, err := dial(argv)
		if err != nil {
			return nil, 0, nil, err
		}
		return lineCallers{lines, c.Callers, bytes.Repeat([]byte("x"), c.Payload)}, lines.cmd.Process.Pid, lines.close, nil
	}
	at, end := server, func() {}
	if argv != nil {
		if at, err = startHTTP(exec.Command(argv[0], argv[1:]...)); err != nil {
			return nil, 0, nil, err
		}
		end = func() { at.stop() }
	}
	web, err := newWebCallers(s, c, at.url)
	if err != nil {
		end()
		return nil, 0, nil, err
	}
	return web, at.cmd.Process.Pid, func() { web.close(); end() }, nil
}

// lineCallers share one client on stdio.
type lineCallers struct {
	*lineClient
	count int
	text  []byte
}

func (l lineCallers) burst(calls int) ([]time.Duration, time.Duration, error) {
	return l.lineClient.burst(l.count, calls, l.text)
}

// warmUp runs every route without timing it and chooses the number of calls in a burst.
func (o *webOverhead) warmUp(c cell, callers map[route]burster) (calls int, err error) {
	const perCaller, length = 8, 60 * time.Millisecond
	least := max(perCaller*c.Callers, 40)
	fastest := time.Duration(math.MaxInt64)
	for r, client := range callers {
		for range 3 {
			_, elapsed, err := client.burst(least)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", r, err)
			}
			fastest = min(fastest, elapsed)
		}
	}
	if o.calls > 0 {
		return max(o.calls, c.Callers), nil
	}
	return max(least, int(length*time.Duration(least)/fastest)), nil
}

// webCallers share one client. Each makes one call at a time.
type webCallers struct {
	*webClient
	count  int
	tool   string
	args   string
	want   string
	nextID int
}

func newWebCallers(s webServer, c cell, url string) (*webCallers, error) {
	d := &dialects[0]
	if s.era == "modern" {
		d = &dialects[1]
	}
	text := strings.Repeat("x", c.Payload)
	w := &webCallers{webClient: newWebClient(d, url, c.Callers), count: c.Callers, tool: "echo", args: `{"text":"` + text + `"}`, want: text}
	if s.writes {
		w.tool, w.args, w.want = "append", `{"key":"`+text+`"}`, "appended "+text
	}
	return w, w.open(context.Background())
}

// burst makes the calls, divided among the callers, and returns the latency of each and the total
// time.
func (w *webCallers) burst(calls int) ([]time.Duration, time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	each := calls / w.count
	latencies, errs := make([][]time.Duration, w.count), make([]error, w.count)
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range w.count {
		base := w.nextID + i*each
		wg.Go(func() {
			for n := range each {
				one, err := w.call(ctx, base+n)
				if err != nil {
					errs[i] = err
					return
				}
				latencies[i] = append(latencies[i], one)
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(begin)
	w.nextID += each * w.count
	var all []time.Duration
	for _, l := range latencies {
		all = append(all, l...)
	}
	return all, elapsed, errors.Join(errs...)
}

// call makes one call and returns an error if the response is not the expected one.
func (w *webCallers) call(ctx context.Context, id int) (time.Duration, error) {
	line := w.dialect.toolCall(fmt.Sprint(id), w.tool, w.args)
	var got error = io.ErrUnexpectedEOF
	begin := time.Now()
	err := w.send(ctx, line, func(line []byte) {
		if rawID(line) != nil {
			got = isEcho(line, []byte(w.want))
		}
	})
	return time.Since(begin), errors.Join(err, got)
}
