package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"time"
)

// route is a way to reach a server: directly, through the pump, through gauze or through a peer.
type route string

const (
	direct route = "direct"
	pump   route = "pump"
	wrap   route = "wrap"
)

// cell is one situation measured on every route.
type cell struct {
	Server  string `json:"server"`
	Callers int    `json:"callers"`
	Payload int    `json:"payload_bytes"`
}

// overhead is one run of the benchmark: its settings and measurements.
type overhead struct {
	rounds, calls int
	routes        []route

	argv   map[string][]string // server name -> command
	prefix map[route][]string  // route -> prefix of the command
	env    map[route][]string  // route -> more variables of the environment
	look   func() error        // look is called before memory is measured, if set.
}

// runOverhead compares the routes in one run, in many short rounds whose order rotates, so that
// other load on the machine affects all of them equally.
func runOverhead(args []string) error {
	flags := flag.NewFlagSet("overhead", flag.ContinueOnError)
	var o overhead
	t := newCostTable(&o)
	flags.IntVar(&o.rounds, "rounds", 24, "rounds per situation")
	flags.IntVar(&o.calls, "calls", 0, "calls per route and round (0: as many as the fastest route answers in 20 ms)")
	flags.IntVar(&t.starts, "starts", 120, "starts per route")
	flags.DurationVar(&t.idle, "idle", time.Minute, "how long idle processes are observed (0: not at all)")
	flags.StringVar(&t.server, "server", "go-sdk", "the server: go-sdk, to which the limits apply, or minimal")
	flags.BoolVar(&t.withPeers, "peers", false, "also measure two other proxies, installed from PyPI and npm")
	flags.StringVar(&t.only, "only", "", "measure only what this is a part of: a situation such as \"1 x 100 B\", start or idle")
	flags.StringVar(&t.svg, "svg", "", "write a plot to this file")
	quick := flags.Bool("quick", false, "take a short look: few rounds, which do not count")
	gauze := flags.String("gauze", "", "use this binary instead of building one")
	jsonTo := flags.String("json", "", "write the result as JSON to this file (-: to stdout, after the table)")
	check := flags.Bool("check", false, "exit with status 1 if a limit is missed or a figure is too noisy to count")
	only := flags.String("servers", "", "with -http: measure only with servers whose names contain this")
	overHTTP := flags.Bool("http", false, "compare gauze serve and gauze run --url with a plain reverse proxy; exits with status 1 if a target is missed")
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
		return runWebOverhead(webOverhead{rounds: o.rounds, calls: o.calls, only: *only, gauze: *gauze}, *jsonTo)
	}
	if *silentModel {
		return runSilentModel(o, *gauze, *jsonTo)
	}
	if *quick {
		o.rounds, t.starts, t.idle = 2, 10, min(t.idle, 5*time.Second)
	}
	rep, err := t.run(*gauze)
	if err != nil {
		return err
	}
	rep.print(os.Stdout)
	if err := errors.Join(writeJSON(*jsonTo, rep), rep.plot(t.svg)); err != nil {
		return err
	}
	if *check {
		return rep.failure()
	}
	return nil
}

func (o *overhead) prepare(b *binaries, gauze string) error {
	sdk, err := b.sdkServer()
	if err != nil {
		return err
	}
	floor, err := b.floor()
	if err != nil {
		return err
	}
	o.argv = map[string][]string{"go-sdk": {sdk}, "minimal": {floor, "minimal"}}
	o.prefix = map[route][]string{direct: nil, pump: {floor, "pump"}}
	if gauze == "" {
		if gauze, err = b.gauze(""); err != nil {
			return err
		}
	}
	for _, r := range []route{wrap, again, silent, recorded, observed} {
		o.prefix[r] = []string{gauze, "run", "--"}
	}
	return nil
}

func (o *overhead) command(server string, r route) []string {
	return slices.Concat(o.prefix[r], o.argv[server])
}

// roundsPerSet is how many rounds are measured with the same processes. Some processes are faster
// than others (heap layout, garbage collection), so they are replaced every few rounds.
const roundsPerSet = 6

// measureCell returns the rounds of one situation.
func (o *overhead) measureCell(c cell) (all []round, err error) {
	for len(all) < o.rounds {
		clients, err := o.dialTrio(c.Server, len(all))
		if err != nil {
			return nil, err
		}
		rounds, err := o.measureSet(c, clients, min(roundsPerSet, o.rounds-len(all)))
		closeAll(clients)
		if err != nil {
			return nil, err
		}
		all = append(all, rounds...)
	}
	return all, nil
}

// measureSet runs some rounds with one process of each route, in random order: what a route leaves
// behind in the machine's caches must not always meet the same other one.
func (o *overhead) measureSet(c cell, clients map[route]*lineClient, count int) ([]round, error) {
	text := bytes.Repeat([]byte("x"), c.Payload)
	calls, err := o.warmUp(c, clients, text)
	if err != nil {
		return nil, err
	}
	routes := slices.Sorted(maps.Keys(clients))
	rounds := make([]round, count)
	for n := range rounds {
		rounds[n] = round{}
		for _, i := range rand.Perm(len(routes)) {
			r := routes[i]
			pid := clients[r].cmd.Process.Pid
			before := activityOf(pid)
			latencies, elapsed, err := clients[r].burst(c.Callers, calls, text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r, err)
			}
			rounds[n][r] = newBurst(latencies, elapsed).with(activityOf(pid).since(before))
		}
	}
	return rounds, nil
}

// warmUp runs every route without timing it and chooses the number of calls in a burst: few, so
// that a disturbance spoils few rounds, but enough for every caller to reach its normal speed.
func (o *overhead) warmUp(c cell, clients map[route]*lineClient, text []byte) (calls int, err error) {
	const perCaller, length = 4, 20 * time.Millisecond
	least := max(perCaller*c.Callers, 40)
	if c.Payload >= 1_000_000 { // one call takes longer than such a burst
		least = 2 * c.Callers
	}
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

// rotated returns the routes beginning with the n-th, so that no route always goes first or last.
func rotated(routes []route, n int) []route {
	at := n % len(routes)
	return slices.Concat(routes[at:], routes[:at])
}
