package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

const listLine = `{"jsonrpc":"2.0","id":"list","method":"tools/list"}` + "\n"

// soak is many calls and restarts of a few wraps that keep running, with everything switched on that
// users have: each wrap announces itself, is asked about itself, and records its events in one
// journal.
type soak struct {
	calls, restarts int // of all wraps together
	wraps, callers  int
	gauze, self     string
	dir             string // the run's files
	state           string // the state directory
	made            atomic.Int64
	killed          atomic.Int64
}

// soakWrap is one wrap and its client.
type soakWrap struct {
	*lineClient
	id      string // among the announced wraps
	report  string // the file with its heap
	reports int    // lines in it
	killed  int    // the process that was killed last
	random  *rand.Rand
	calls   int
	samples []sample
}

func runSoak(args []string) error {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	s := &soak{}
	flags.IntVar(&s.calls, "calls", 1_000_000, "number of calls")
	flags.IntVar(&s.restarts, "restarts", 10_000, "number of times a server is killed")
	flags.IntVar(&s.wraps, "wraps", 4, "number of wraps that run at the same time")
	flags.IntVar(&s.callers, "callers", 4, "number of concurrent callers of each wrap")
	jsonTo := flags.String("json", "", "write the result as JSON to this file (-: to stdout, after the table)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if each := s.restarts / max(1, s.wraps); each < minSamples || s.calls/s.restarts < s.callers {
		return fmt.Errorf("invalid -restarts %d: must be at least %d for each wrap, with at least one call of each caller between two", s.restarts, minSamples)
	}
	b, err := newBinaries()
	if err != nil {
		return err
	}
	defer b.remove()
	s.self, s.dir, s.state = b.self, b.dir, os.Getenv("GAUZE_STATE_DIR")
	if s.gauze, err = b.gauze("heapreport"); err != nil {
		return err
	}
	rep, err := s.run()
	if err != nil {
		return err
	}
	rep.judge()
	rep.print(os.Stdout)
	if err := writeJSON(*jsonTo, rep); err != nil {
		return err
	}
	if !rep.Pass {
		return errors.New("a limit was exceeded")
	}
	return nil
}

// run starts the wraps, soaks all of them at the same time, and ends them.
func (s *soak) run() (*soakReport, error) {
	begin := time.Now()
	wraps := make([]*soakWrap, s.wraps)
	errs := make([]error, s.wraps)
	var soaking sync.WaitGroup
	over := make(chan struct{})
	go showProgress(over, func() string {
		return fmt.Sprintf("%d of %d calls, %d of %d restarts", s.made.Load(), s.calls, s.killed.Load(), s.restarts)
	})
	for i := range wraps {
		soaking.Go(func() { wraps[i], errs[i] = s.soakOne(i) })
	}
	soaking.Wait()
	close(over)
	if err := errors.Join(errs...); err != nil {
		for _, w := range wraps {
			if w != nil {
				w.close()
			}
		}
		return nil, err
	}
	return s.report(wraps, time.Since(begin))
}

// soakOne makes one wrap's share of the calls. Between two samples, when nothing is in flight, its
// server is killed several times, at random moments.
func (s *soak) soakOne(n int) (*soakWrap, error) {
	w, err := s.start(n)
	if err != nil {
		return nil, err
	}
	restarts := s.restarts / s.wraps
	calls := s.calls / s.restarts
	for done := range restarts {
		if err := w.callsWithKill(s, calls); err != nil {
			return w, fmt.Errorf("wrap %d, after %d restarts: %w", n, done, err)
		}
		if done%max(1, restarts/numSamples) != 0 && done != restarts-1 {
			continue
		}
		if err := w.sample(s.state); err != nil {
			return w, fmt.Errorf("wrap %d: %w", n, err)
		}
	}
	return w, nil
}

// start starts a wrap of the minimal server, as a client does.
func (s *soak) start(n int) (*soakWrap, error) {
	w := &soakWrap{report: filepath.Join(s.dir, fmt.Sprintf("heap-%d", n)), random: rand.New(rand.NewPCG(uint64(n), 1))}
	var err error
	w.lineClient, err = dialTo(&tailBuffer{}, []string{s.gauze, "run", "--", s.self, roleMinimal}, "GAUZE_HEAP_REPORT="+w.report)
	if err != nil {
		return nil, err
	}
	// Gauze repeats calls of a tool only after it has seen that the tool is read-only.
	if _, err := io.WriteString(w.in, listLine); err != nil {
		return w, err
	}
	if _, err := w.answer(); err != nil {
		return w, err
	}
	for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(time.Millisecond) {
		all, err := live.All(context.Background(), s.state)
		if err != nil {
			return w, err
		}
		for _, one := range all {
			if one.PID == w.cmd.Process.Pid {
				w.id = one.ID
				return w, nil
			}
		}
	}
	return w, errors.New("the wrap did not announce itself")
}

// callsWithKill makes calls while the server is killed once. Every call must succeed.
func (w *soakWrap) callsWithKill(s *soak, calls int) error {
	pid, err := w.nextServer(s.state)
	if err != nil {
		return err
	}
	var killing sync.WaitGroup
	moment := time.Duration(w.random.Int64N(int64(time.Duration(calls) * 20 * time.Microsecond)))
	killing.Go(func() {
		time.Sleep(moment)
		killProcess(pid)
	})
	_, _, err = w.burst(s.callers, calls, []byte("soaked"))
	killing.Wait()
	w.killed, w.calls = pid, w.calls+calls
	s.made.Add(int64(calls))
	s.killed.Add(1)
	return err
}

// nextServer waits for the server that replaced the last one and returns its process.
func (w *soakWrap) nextServer(state string) (pid int, err error) {
	for begin := time.Now(); time.Since(begin) < 20*time.Second; time.Sleep(pollInterval) {
		d, err := live.One(context.Background(), state, w.id)
		if err != nil {
			return 0, err
		}
		if s := d.Server; s.ServerPID != 0 && s.ServerPID != w.killed && !s.Up.IsZero() {
			return s.ServerPID, nil
		}
	}
	return 0, errors.New("the server was not restarted")
}

// report asks the wraps, ends them and reads the journal that they wrote.
func (s *soak) report(wraps []*soakWrap, took time.Duration) (*soakReport, error) {
	rep := &soakReport{Killed: int(s.killed.Load()), Minutes: took.Minutes()}
	for _, w := range wraps {
		now, err := live.One(context.Background(), s.state, w.id)
		if err != nil {
			return nil, err
		}
		rep.Calls += w.calls
		rep.Restarts += now.Server.Restarts
		rep.Healed += now.Server.Counts.Healed
		rep.Wraps = append(rep.Wraps, w.samples)
		w.close()
	}
	rep.Slope = slope(rep.Wraps)
	return rep, s.readJournal(rep)
}

// readJournal counts what was recorded.
func (s *soak) readJournal(rep *soakReport) error {
	path := filepath.Join(s.state, journal.FileName)
	for _, file := range []string{path, path + "-wal"} {
		if info, err := os.Stat(file); err == nil {
			rep.Journal += info.Size()
		}
	}
	j, err := journal.Open(path)
	if err != nil {
		return err
	}
	defer j.Close()
	records, err := j.Events(context.Background(), journal.Query{})
	if err != nil {
		return err
	}
	rep.Events = len(records)
	for _, r := range records {
		if r.Kind == journal.Unrecorded {
			rep.Missing += r.Count
		}
	}
	return nil
}
