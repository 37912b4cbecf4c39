package main

import (
	"fmt"
	"strings"
	"time"
)

// Figures of a route. Those of a process are of the one in between, or of the server itself if the
// route is direct.
const (
	cpuFigure      = "CPU us/call"
	p50Figure      = "p50 us"
	p99Figure      = "p99 us"
	rateFigure     = "calls/s"
	transferFigure = "reads+writes/call"
	switchFigure   = "switches/call"
	privateFigure  = "private MB"
	startFigure    = "start ms"
	wakeFigure     = "wake-ups/min"
	idleCPUFigure  = "CPU ms/min"
	pssFigure      = "PSS MB"
)

// callFigures are measured in every situation.
var callFigures = []string{cpuFigure, p50Figure, p99Figure, rateFigure, transferFigure, switchFigure, privateFigure}

const (
	setsPerRound = 2
	maxRoundTime = time.Second      // then there are fewer sets
	setsTogether = 8                // sets that run at the same time, of which one is measured and the others are idle
	peerSets     = 2                // sets with peers, in each situation: peers have no limits
	numIdle      = 100              // wraps that are idle at the same time
	idleFirst    = 10 * time.Second // how long an idle process may still clean up after its start
)

// figures are the measurements of one process by name.
type figures map[string]float64

// set has the measurements of one process of each route. What disturbs one, disturbs them all.
type set map[route]figures

// costTable compares what a call, a start and an idle process cost on every route.
type costTable struct {
	*overhead
	starts    int
	idle      time.Duration
	server    string
	only      string
	withPeers bool
	peers     []peer
	svg       string
}

func newCostTable(o *overhead) *costTable { return &costTable{overhead: o} }

// cells returns the situations. 32 callers with 1 MB each are not among them: the server needs seconds
// for one round of their calls.
func (t *costTable) cells() []cell {
	return []cell{{t.server, 1, 100}, {t.server, 1, 10_000}, {t.server, 1, 1_000_000}, {t.server, 32, 100}, {t.server, 32, 10_000}}
}

// run measures everything.
func (t *costTable) run(gauze string) (*tableReport, error) {
	b, err := newBinaries()
	if err != nil {
		return nil, err
	}
	defer b.remove()
	t.routes = []route{direct, pump, wrap, again}
	if err := t.prepare(b, gauze); err != nil {
		return nil, err
	}
	if _, known := t.argv[t.server]; !known {
		return nil, fmt.Errorf("unknown server %q: must be go-sdk or minimal", t.server)
	}
	if t.withPeers {
		if t.peers, err = installPeers(b.dir); err != nil {
			return nil, err
		}
	}
	begin, rep := time.Now(), &tableReport{Peers: t.peers, limited: t.server == "go-sdk"}
	for _, c := range t.cells() {
		if !t.wanted(c.load()) {
			continue
		}
		sets, err := t.measureSets(c)
		if err != nil {
			return nil, fmt.Errorf("%d callers, %d bytes: %w", c.Callers, c.Payload, err)
		}
		for _, figure := range callFigures {
			rep.add(c.load(), figure, sets)
		}
	}
	if t.wanted(startSituation) {
		sets, err := t.measureStarts()
		if err != nil {
			return nil, err
		}
		rep.add(startSituation, startFigure, sets)
	}
	if t.idle > 0 && t.wanted(idleSituation) {
		if err := t.measureIdle(rep); err != nil {
			return nil, err
		}
	}
	rep.Seconds = time.Since(begin).Seconds()
	return rep, nil
}

func (t *costTable) wanted(situation string) bool { return strings.Contains(situation, t.only) }

// dialSet starts a process of each route, and of each peer if peers is true.
func (t *costTable) dialSet(server string, n int, peers bool) (map[route]*lineClient, error) {
	clients, err := t.dialTrio(server, n)
	if err != nil || !peers {
		return clients, err
	}
	for _, p := range t.peers {
		if clients[p.Name], err = p.dial(t.argv[server]); err != nil {
			delete(clients, p.Name)
			closeAll(clients)
			return nil, err
		}
	}
	return clients, nil
}

// measureSets starts some sets, waits until the first events of gauze are written, and measures one
// set after another.
func (t *costTable) measureSets(c cell) (sets []set, err error) {
	total, begin := setsPerRound*t.rounds, time.Now()
	late := func() bool { return len(sets) >= 2 && time.Since(begin) > time.Duration(t.rounds)*maxRoundTime }
	for len(sets) < total && !late() {
		together := make([]map[route]*lineClient, 0, setsTogether)
		for n := len(sets); n < min(total, len(sets)+setsTogether) && err == nil; n++ {
			var clients map[route]*lineClient
			if clients, err = t.dialSet(c.Server, n, n < peerSets); err == nil {
				together = append(together, clients)
			}
		}
		if err == nil {
			time.Sleep(eventsWritten)
		}
		for _, clients := range together {
			var rounds []round
			if err == nil && !late() {
				if rounds, err = t.measureSet(c, clients, roundsPerSet); err == nil {
					sets = append(sets, summarizeSet(rounds, clients))
				}
			}
			closeAll(clients)
		}
		if err != nil {
			return nil, err
		}
	}
	return sets, nil
}

// summarizeSet returns the figures of a set by its rounds, and its memory now.
func summarizeSet(rounds []round, clients map[route]*lineClient) set {
	s := set{}
	for r, client := range clients {
		var latencies []float64
		values := map[string][]float64{}
		for _, one := range rounds {
			b := one[r]
			latencies = append(latencies, b.latencies...)
			of := figures{cpuFigure: b.cpu, p50Figure: b.p50, rateFigure: b.perSecond, transferFigure: b.transfers, switchFigure: b.switches}
			for name, value := range of {
				values[name] = append(values[name], value)
			}
		}
		s[r] = figures{p99Figure: quantile(latencies, 0.99)}
		for name, all := range values {
			s[r][name] = median(all)
		}
		if m, err := memoryOf(client.cmd.Process.Pid); err == nil {
			s[r][privateFigure] = float64(m.Anonymous) / 1000
		}
	}
	return s
}

// measureStarts measures the time from exec to the initialize response. It uses the minimal server
// because it starts fastest and hides the least of gauze's share.
func (t *costTable) measureStarts() (sets []set, err error) {
	for n := range t.starts {
		clients, err := t.dialSet("minimal", n, n < peerSets)
		if err != nil {
			return nil, err
		}
		one := set{}
		for r, c := range clients {
			one[r] = figures{startFigure: float64(c.startup.Microseconds()) / 1000}
		}
		closeAll(clients)
		sets = append(sets, one)
	}
	return sets, nil
}

// measureIdle observes many idle wraps, and one process of each other route, for a while. The
// figures are means.
func (t *costTable) measureIdle(rep *tableReport) error {
	clients, err := t.dialSet("minimal", 0, true)
	if err != nil {
		return err
	}
	idle := map[*lineClient]route{}
	for r, c := range clients {
		if idle[c] = r; r == again {
			idle[c] = wrap
		}
	}
	defer func() {
		for c := range idle {
			c.close()
		}
	}()
	for range numIdle - 2 { // two of them are in the set
		c, err := dial(t.command("minimal", wrap))
		if err != nil {
			return err
		}
		idle[c] = wrap
	}
	before := map[*lineClient]activity{}
	for c := range idle {
		if _, _, err := c.burst(1, 10, []byte("x")); err != nil {
			return err
		}
	}
	time.Sleep(idleFirst)
	for c := range idle {
		before[c] = activityOf(c.cmd.Process.Pid)
	}
	time.Sleep(t.idle)
	sums, count, perMinute := map[route]figures{}, map[route]float64{}, time.Minute.Seconds()/t.idle.Seconds()
	for c, r := range idle {
		did := activityOf(c.cmd.Process.Pid).since(before[c])
		m, err := memoryOf(c.cmd.Process.Pid)
		if err != nil {
			return nil // no /proc on this system
		}
		if sums[r] == nil {
			sums[r] = figures{}
		}
		count[r]++
		sums[r][wakeFigure] += float64(did.waits) * perMinute
		sums[r][idleCPUFigure] += float64(did.cpu.Microseconds()) / 1000 * perMinute
		sums[r][privateFigure] += float64(m.Anonymous) / 1000
		sums[r][pssFigure] += float64(m.PSS) / 1000
	}
	together := set{wrap: {pssFigure: sums[wrap][pssFigure]}}
	for r, f := range sums {
		for name := range f {
			f[name] /= count[r]
		}
	}
	for _, figure := range []string{wakeFigure, idleCPUFigure, privateFigure} {
		rep.add(idleSituation, figure, []set{sums})
	}
	rep.add(manySituation, pssFigure, []set{together})
	return nil
}
