package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// usedServers is how many servers each client calls. All clients use the same ones.
const usedServers = 3

// crowd is many clients of the same many servers.
type crowd struct {
	clients, servers, calls int

	real     bool
	server   []string // server is the command line of each server; it must have the tool echo.
	argument string   // argument is the name of echo's argument.
	gauze    string
	dir      string
	gateways realparts.Gateways
}

// way is a way to connect the clients with the servers.
type way struct {
	name  string
	about string
	begin func(*visit) (open func() (*member, error), err error)
}

// visit is one measurement of a way: its processes are those that have its mark in their environment, and their descendants.
type visit struct {
	*crowd
	dir  string // dir is the same in each round.
	mark string
}

// counted is the result of one measurement.
type counted struct {
	ready         time.Duration // until all clients have the tools of all servers
	before, after int           // server processes before a call, and after each client has used some servers
	all, pss      int           // processes without the clients, and their memory in kB
	p50           time.Duration
}

// runPeers measures ways to connect many clients with many servers.
func runPeers(args []string) error {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	c := &crowd{}
	flags.IntVar(&c.clients, "clients", clientsOfMany, "number of clients")
	flags.IntVar(&c.servers, "servers", serversOfMany, "number of servers")
	flags.IntVar(&c.calls, "calls", 300, "calls of one client whose median is shown")
	flags.StringVar(&c.gauze, "gauze", "", "use this binary instead of building one")
	flags.BoolVar(&c.real, "real", false, "use server-everything from npm, which needs about 35 MB, instead of a server with the Go SDK")
	rounds := flags.Int("rounds", 4, "measurements of each way, in alternation")
	only := flags.String("only", "", "measure only these ways, separated by commas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if runtime.GOOS != "linux" {
		return errors.New("peers requires Linux: it reads /proc")
	}
	b, err := newBinaries()
	if err != nil {
		return err
	}
	defer b.remove()
	if err := c.install(b, *only); err != nil {
		return err
	}
	results := map[string][]counted{}
	for round := range *rounds {
		for _, w := range chosen(*only) {
			got, err := c.measure(w, round)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			fmt.Fprintf(os.Stderr, "round %d, %s: %+v\n", round+1, w.name, got)
			results[w.name] = append(results[w.name], got)
		}
	}
	return c.report(os.Stdout, chosen(*only), results)
}

// chosen returns the ways that are named, or all.
func chosen(only string) (some []way) {
	for _, w := range ways {
		if only == "" || slices.Contains(strings.Split(only, ","), w.name) {
			some = append(some, w)
		}
	}
	return some
}

// install finds the programs that the chosen ways need.
func (c *crowd) install(b *binaries, only string) (err error) {
	c.dir = b.dir
	if err := c.findServer(b); err != nil {
		return err
	}
	if c.gauze == "" {
		if c.gauze, err = b.gauze(""); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(chosen(only), func(w way) bool { return w.about != "" }) {
		c.gateways, err = realparts.InstallGateways(context.Background(), os.Stderr)
	}
	return err
}

// findServer finds the server.
func (c *crowd) findServer(b *binaries) (err error) {
	if c.real {
		c.argument = "message"
		c.server, err = realparts.InstallEverything(context.Background(), os.Stderr)
		return err
	}
	server, err := b.sdkServer()
	c.server, c.argument = []string{server}, "text"
	return err
}

// measure lets the clients come, get their tools, use some of them, and leave.
func (c *crowd) measure(w way, round int) (got counted, err error) {
	v := &visit{crowd: c, dir: filepath.Join(c.dir, w.name), mark: fmt.Sprintf("GAUZE_BENCH_VISIT=%s-%s-%d", filepath.Base(c.dir), w.name, round)}
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return got, err
	}
	defer v.end()
	began := time.Now()
	open, err := w.begin(v)
	if err != nil {
		return got, err
	}
	members, err := c.gather(open, round == 0)
	got.ready = time.Since(began)
	defer func() {
		for _, m := range members {
			m.close()
		}
	}()
	if err != nil {
		return got, err
	}
	got.before = v.count(v.family())
	for _, m := range members {
		if _, err := m.calls(usedServers, usedServers, c.argument); err != nil {
			return got, err
		}
	}
	family := v.family()
	got.after, got.all = v.count(family), len(family)
	for _, p := range family {
		if m, err := memoryOf(p.pid); err == nil {
			got.pss += m.PSS
		}
	}
	got.p50, err = members[0].calls(usedServers, c.calls, c.argument)
	return got, err
}

// gather lets the clients come at the same time, or one before the others, and returns them when all have their tools.
func (c *crowd) gather(open func() (*member, error), oneFirst bool) ([]*member, error) {
	members, failed := make([]*member, c.clients), make([]error, c.clients)
	var coming sync.WaitGroup
	for i := range members {
		coming.Go(func() {
			if members[i], failed[i] = open(); failed[i] == nil {
				failed[i] = members[i].wait(c.servers)
			}
		})
		if oneFirst && i == 0 {
			coming.Wait()
		}
	}
	coming.Wait()
	return members, errors.Join(failed...)
}

// report prints the table: counts and memory of the last round, and medians of what takes time. The first round is
// shown apart: what remembers tools has none then.
func (c *crowd) report(out io.Writer, ways []way, results map[string][]counted) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%d clients of %d servers, each uses %d\tservers before a call\tafter\tall processes\tmemory (PSS)\tready, first time\tready\tp50 of a call\t\n", c.clients, c.servers, usedServers)
	for _, w := range ways {
		rounds := results[w.name]
		last := rounds[len(rounds)-1]
		var ready, p50 []time.Duration
		for i, r := range rounds {
			if i > 0 || len(rounds) == 1 {
				ready = append(ready, r.ready)
			}
			p50 = append(p50, r.p50)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d MB\t%.1f s\t%.1f s\t%.2f ms\t\n", strings.TrimSpace(w.name+" "+c.gateways.Versions[w.name]+" "+w.about), last.before, last.after, last.all,
			last.pss>>10, rounds[0].ready.Seconds(), median(ready).Seconds(), float64(cmp.Or(median(p50), 1).Microseconds())/1000)
	}
	return t.Flush()
}
