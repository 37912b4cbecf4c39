package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gauze-mcp/gauze/lab/bench/history"
)

// upStorm is a storm against gauze up: many servers, several clients, servers that are killed, files that change.
type upStorm struct {
	servers, guests int // guests are removed and added again
	web, connects   int // clients over HTTP and over gauze connect
	callers         int // of each client
	calls           int
	kills, reloads  int
	upKills         int // of gauze up itself, which only clients of gauze connect survive
	workEvery       int // every n-th call with an effect takes a while after it
	seed            uint64
	bug             string // seeded into a gauze built with seededbugs
	silenceTimeout  time.Duration

	dir   string
	self  string
	gauze string
	up    *httpProcess // nil: gauze connect starts it on demand
	seen  *reloadCounter

	next, answered atomic.Int64
	harmed         chan struct{} // closed when all harm is done
	clients        []*upClient
	faults         history.Log
	reloaded       int
}

// runUpStorm runs a storm against gauze up, and one that kills gauze up.
func runUpStorm(args []string) error {
	flags := flag.NewFlagSet("upstorm", flag.ContinueOnError)
	s := upStorm{workEvery: 8, silenceTimeout: 2 * time.Minute}
	flags.IntVar(&s.servers, "servers", 20, "number of servers")
	flags.IntVar(&s.guests, "guests", 5, "number of servers that are removed and added again")
	flags.IntVar(&s.web, "web", 2, "number of clients over HTTP")
	flags.IntVar(&s.connects, "connects", 2, "number of clients over gauze connect")
	flags.IntVar(&s.callers, "callers", 8, "number of concurrent callers of each client")
	flags.IntVar(&s.calls, "calls", 100_000, "number of calls; half of them have an effect")
	flags.IntVar(&s.kills, "kills", 1000, "number of times a server is killed")
	flags.IntVar(&s.reloads, "reloads", 100, "number of times the file changes")
	flags.Uint64Var(&s.seed, "seed", 1, "seed for what is killed")
	ups := flags.Int("ups", 50, "number of times gauze up is killed, in a storm of its own")
	upCalls := flags.Int("up-calls", 20_000, "number of calls in that storm")
	flags.StringVar(&s.gauze, "gauze", "", "use this binary instead of building one")
	jsonTo := flags.String("json", "", "write the result as JSON to this file (-: to stdout, after the table)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b, err := newBinaries()
	if err != nil {
		return err
	}
	defer b.remove()
	if s.gauze == "" {
		if s.gauze, err = b.gauze(""); err != nil {
			return err
		}
	}
	killed := &upStorm{servers: 6, connects: max(1, s.connects), callers: s.callers, calls: *upCalls, upKills: *ups, workEvery: s.workEvery, seed: s.seed,
		silenceTimeout: s.silenceTimeout, gauze: s.gauze}
	var results []*upResult
	for _, one := range []*upStorm{&s, killed} {
		if one.calls == 0 {
			continue
		}
		r, err := one.run(b)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	printUpStorms(os.Stdout, results)
	if err := writeJSON(*jsonTo, results); err != nil {
		return err
	}
	for _, r := range results {
		if !r.Pass {
			return errors.New("a guarantee was violated")
		}
	}
	return nil
}

// run runs the storm and checks the result.
func (s *upStorm) run(b *binaries) (*upResult, error) {
	var err error
	if s.dir, err = os.MkdirTemp(b.dir, "up-"); err != nil {
		return nil, err
	}
	s.self = b.self
	if err := s.write(0); err != nil {
		return nil, err
	}
	if s.upKills == 0 {
		cmd := s.command("up", "--no-token", "--listen", "127.0.0.1:0", "--quiet", "--no-dashboard", "--no-journal", s.file())
		s.seen = &reloadCounter{}
		cmd.Stderr = s.seen
		if s.up, err = startHTTP(cmd); err != nil {
			return nil, err
		}
	}
	defer s.end()
	for i := range s.web + s.connects {
		c, err := s.newClient(i)
		if err != nil {
			return nil, err
		}
		s.clients = append(s.clients, c)
	}
	began := time.Now()
	s.work()
	took := time.Since(began)
	for _, c := range s.clients {
		c.close()
	}
	effects, err := readEffects(s.ledger())
	if err != nil {
		return nil, err
	}
	return s.result(effects, took), nil
}

func (s *upStorm) file() string   { return filepath.Join(s.dir, "up.yaml") }
func (s *upStorm) ledger() string { return filepath.Join(s.dir, "ledger") }

// command returns gauze with a state directory of its own.
func (s *upStorm) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.gauze, args...)
	cmd.Env = append(os.Environ(), "GAUZE_STATE_DIR="+filepath.Join(s.dir, "s"), "GAUZE_JOURNAL=off", "GAUZE_SEEDED_BUG="+s.bug, "XDG_CACHE_HOME="+s.dir, "XDG_CONFIG_HOME="+s.dir)
	return cmd
}

// end ends gauze up, also one that was started on demand.
func (s *upStorm) end() {
	if s.up != nil {
		s.up.stop()
	}
	for _, pid := range s.processes("--on-demand") {
		killProcess(pid)
	}
}

// key returns the key of a server.
func key(server int) string { return fmt.Sprintf("s%02d", server) }

// write writes version n of the file. It differs from the one before by a server that is changed, removed or added
// again; every fifth one is broken, and leaves everything as it was.
func (s *upStorm) write(n int) error {
	var b strings.Builder
	b.WriteString("servers:\n")
	for i := range s.servers {
		guest := i >= s.servers-s.guests
		if guest && (n+i)%3 == 1 {
			continue
		}
		changed := 0
		if n > 0 && !guest {
			changed = (n + s.servers - s.guests - 1 - i) / (s.servers - s.guests)
		}
		fmt.Fprintf(&b, "  %s: {command: [%q, %s, -era, legacy, -ledger, %q], env: {GENERATION: \"%d\"}}\n", key(i), s.self, roleFaulty, s.ledger(), changed)
	}
	if n%5 == 4 {
		b.WriteString("  broken: {comand: [x]}\n")
	}
	next := s.file() + ".next"
	if err := os.WriteFile(next, []byte(b.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(next, s.file())
}

// work makes all calls, while servers are killed and the file changes.
func (s *upStorm) work() {
	over := make(chan struct{})
	s.harmed = make(chan struct{})
	var harm, calling sync.WaitGroup
	harm.Go(func() { s.harm(s.kills, over, s.killServer) })
	harm.Go(func() { s.harm(s.reloads, over, s.reload) })
	harm.Go(func() { s.harm(s.upKills, over, s.killUp) })
	go func() {
		harm.Wait()
		close(s.harmed)
	}()
	for _, c := range s.clients {
		for range s.callers {
			calling.Go(func() { s.keepCalling(c) })
		}
	}
	calling.Wait()
	close(over)
	harm.Wait()
}

// harm does harm so many times, evenly spread over the calls.
func (s *upStorm) harm(times int, over chan struct{}, do func(n int) bool) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for n := 1; n <= times; {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if s.answered.Load() >= int64(n*s.calls/(times+2)) && do(n) {
			n++
		}
	}
}

// reload changes the file and waits until gauze up has read it.
func (s *upStorm) reload(n int) bool {
	before := s.seen.count.Load()
	if s.write(n) != nil || s.up.cmd.Process.Signal(syscall.SIGHUP) != nil {
		return false
	}
	for begin := time.Now(); s.seen.count.Load() == before; time.Sleep(pollInterval) {
		if time.Since(begin) > s.silenceTimeout {
			return false
		}
	}
	s.reloaded++
	return true
}

// reloadCounter counts how often gauze up says that it has read its file.
type reloadCounter struct{ count atomic.Int64 }

func (r *reloadCounter) Write(b []byte) (int, error) {
	r.count.Add(int64(strings.Count(string(b), "was read again") + strings.Count(string(b), "keeps using the previous version")))
	return len(b), nil
}
