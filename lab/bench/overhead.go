package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// route is a way to reach a server: directly, through the pump or through gauze, with or without
// its journal.
type route string

const (
	direct route = "direct"
	pump   route = "pump"
	wrap   route = "wrap"
	plain  route = "wrap-no-journal"
)

// cell is one situation measured on every route.
type cell struct {
	Server  string `json:"server"`
	Callers int    `json:"callers"`
	Payload int    `json:"payload_bytes"`
}

var overheadCells = []cell{
	{"go-sdk", 1, 100}, {"go-sdk", 1, 10_000}, {"go-sdk", 32, 100}, {"go-sdk", 32, 10_000},
	{"minimal", 1, 100}, {"minimal", 1, 10_000}, {"minimal", 32, 100}, {"minimal", 32, 10_000},
}

// overhead is one run of the benchmark: its settings and measurements.
type overhead struct {
	rounds, calls, starts int
	routes                []route

	argv   map[string][]string // server name -> command
	prefix map[route][]string  // route -> prefix of the command
	env    map[route][]string  // route -> more variables of the environment
	peak   memory              // of gauze, under load
	look   func() error        // look is called before memory is measured, if set.
}

// runOverhead compares the routes in one run, in many short rounds whose order rotates, so that
// other load on the machine affects all of them equally.
func runOverhead(args []string) error {
	flags := flag.NewFlagSet("overhead", flag.ContinueOnError)
	var o overhead
	flags.IntVar(&o.rounds, "rounds", 24, "rounds per situation")
	flags.IntVar(&o.calls, "calls", 0, "calls per route and round (0: as many as the fastest route answers in 20 ms)")
	flags.IntVar(&o.starts, "starts", 20, "starts per route")
	routes := flags.String("routes", "direct,pump,wrap", "routes to measure; also wrap-no-journal")
	gauze := flags.String("gauze", "", "use this binary instead of building one")
	jsonTo := flags.String("json", "", "write the result as JSON to this file (-: to stdout, after the table)")
	check := flags.Bool("check", false, "exit with status 1 if a target is missed")
	overHTTP := flags.Bool("http", false, "compare gauze serve --url with a plain reverse proxy; exits with status 1 if a target is missed")
	silentModel := flags.Bool("silent-model", false, "compare gauze with a model that never answers to gauze without a model; exits with status 1 if a target is missed")
	withJournal := flags.Bool("journal", false, "compare gauze that records its events to gauze that does not; exits with status 1 if a target is missed")
	observe := flags.Bool("observed", false, "compare gauze that is announced, recorded, asked and scraped to gauze that is not; exits with status 1 if a target is missed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *observe {
		return runObservedOverhead(o, *gauze, *jsonTo)
	}
	if *withJournal {
		return runJournalOverhead(o, *gauze, *jsonTo)
	}
	if *overHTTP {
		return runWebOverhead(webOverhead{rounds: o.rounds, calls: o.calls, gauze: *gauze}, *jsonTo)
	}
	if *silentModel {
		return runSilentModel(o, *gauze, *jsonTo)
	}
	for name := range strings.SplitSeq(*routes, ",") {
		o.routes = append(o.routes, route(name))
	}

	b, err := newBinaries()
	if err != nil {
		return err
	}
	defer b.remove()
	if err := o.prepare(b, *gauze); err != nil {
		return err
	}
	begin := time.Now()
	report, err := o.measure()
	if err != nil {
		return err
	}
	report.Seconds = time.Since(begin).Seconds()
	report.judge()
	report.print(os.Stdout)
	if err := writeJSON(*jsonTo, report); err != nil {
		return err
	}
	if *check && !report.Pass {
		return errors.New("a target was missed")
	}
	return nil
}

func (o *overhead) prepare(b *binaries, gauze string) error {
	sdk, err := b.sdkServer()
	if err != nil {
		return err
	}
	o.argv = map[string][]string{"go-sdk": {sdk}, "minimal": {b.self, roleMinimal}}
	o.prefix = map[route][]string{direct: nil, pump: {b.self, rolePump}}
	if slices.Contains(o.routes, wrap) || slices.Contains(o.routes, plain) {
		if gauze == "" {
			if gauze, err = b.gauze(""); err != nil {
				return err
			}
		}
		o.prefix[wrap] = []string{gauze, "run", "--"}
		o.prefix[plain] = []string{gauze, "run", "--no-journal", "--"}
		for _, r := range []route{again, silent, recorded, observed} {
			o.prefix[r] = o.prefix[wrap]
		}
	}
	for _, r := range o.routes {
		if _, known := o.prefix[r]; !known {
			return fmt.Errorf("unknown route %q", r)
		}
	}
	return nil
}

func (o *overhead) command(server string, r route) []string {
	return slices.Concat(o.prefix[r], o.argv[server])
}

func (o *overhead) measure() (*overheadReport, error) {
	report := &overheadReport{}
	starts, err := o.measureStarts()
	if err != nil {
		return nil, err
	}
	report.Starts = starts
	for _, c := range overheadCells {
		rounds, err := o.measureCell(c)
		if err != nil {
			return nil, fmt.Errorf("%s, %d callers, %d bytes: %w", c.Server, c.Callers, c.Payload, err)
		}
		report.Cells = append(report.Cells, summarize(c, rounds, direct))
	}
	report.Memory = o.peak
	if slices.Contains(o.routes, wrap) {
		if report.TenPSS, err = o.measureTen(); err != nil {
			return nil, err
		}
	}
	return report, nil
}

// measureTen wraps ten servers at the same time and returns the memory of the ten gauze processes
// in kB.
func (o *overhead) measureTen() (total int, err error) {
	var clients []*lineClient
	for range 10 {
		c, err := dial(o.command("minimal", wrap))
		if err != nil {
			return 0, err
		}
		defer c.close()
		if _, _, err := c.burst(1, 10, []byte("x")); err != nil {
			return 0, err
		}
		clients = append(clients, c)
	}
	for _, c := range clients {
		m, err := memoryOf(c.cmd.Process.Pid)
		if err != nil {
			return 0, nil // no /proc on this system
		}
		total += m.PSS
	}
	return total, nil
}

// measureStarts measures the time from exec to the initialize response, alternating the routes. It
// uses the minimal server because it starts fastest and hides the least of gauze's share.
func (o *overhead) measureStarts() (map[route]float64, error) {
	seen := map[route][]float64{}
	for n := range o.starts {
		for _, r := range rotated(o.routes, n) {
			c, err := dial(o.command("minimal", r))
			if err != nil {
				return nil, err
			}
			seen[r] = append(seen[r], float64(c.startup.Microseconds())/1000)
			c.close()
		}
	}
	medians := map[route]float64{}
	for r, all := range seen {
		medians[r] = median(all)
	}
	return medians, nil
}

// measureCell returns the rounds of one situation. Some processes are faster than others (heap
// layout, garbage collection), so they are replaced every few rounds.
func (o *overhead) measureCell(c cell) ([]round, error) {
	const life = 6
	var all []round
	for len(all) < o.rounds {
		rounds, err := o.measureLife(c, min(life, o.rounds-len(all)), len(all))
		if err != nil {
			return nil, err
		}
		all = append(all, rounds...)
	}
	return all, nil
}

// measureLife runs some rounds on new processes.
func (o *overhead) measureLife(c cell, count, first int) ([]round, error) {
	clients := map[route]*lineClient{}
	for _, r := range o.routes {
		client, err := dial(o.command(c.Server, r), o.env[r]...)
		if err != nil {
			return nil, err
		}
		defer client.close()
		clients[r] = client
	}
	text := bytes.Repeat([]byte("x"), c.Payload)
	calls, err := o.warmUp(c, clients, text)
	if err != nil {
		return nil, err
	}
	rounds := make([]round, count)
	for n := range rounds {
		rounds[n] = round{}
		for _, r := range rotated(o.routes, first+n) {
			pid := clients[r].cmd.Process.Pid
			before := cpuOf(pid)
			latencies, elapsed, err := clients[r].burst(c.Callers, calls, text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r, err)
			}
			one := newBurst(latencies, elapsed)
			one.cpu = float64((cpuOf(pid) - before).Nanoseconds()) / 1000 / float64(len(latencies))
			rounds[n][r] = one
			if r == wrap {
				o.noteMemory(pid)
			}
		}
	}
	return rounds, nil
}

// warmUp runs every route without timing it and chooses the number of calls in a burst: few, so
// that a disturbance spoils few rounds, but enough for every caller to reach its normal speed.
func (o *overhead) warmUp(c cell, clients map[route]*lineClient, text []byte) (calls int, err error) {
	const perCaller, length = 4, 20 * time.Millisecond
	least := max(perCaller*c.Callers, 40)
	fastest := time.Duration(math.MaxInt64)
	for r, client := range clients {
		for range 2 {
			_, elapsed, err := client.burst(c.Callers, least, text)
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

func (o *overhead) noteMemory(pid int) {
	if m, err := memoryOf(pid); err == nil {
		o.peak.RSS = max(o.peak.RSS, m.RSS)
		o.peak.Peak = max(o.peak.Peak, m.Peak)
		o.peak.Anonymous = max(o.peak.Anonymous, m.Anonymous)
	}
}

// rotated returns the routes beginning with the n-th, so that no route always goes first or last.
func rotated(routes []route, n int) []route {
	at := n % len(routes)
	return slices.Concat(routes[at:], routes[:at])
}
