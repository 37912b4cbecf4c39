package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/lab/bench/history"
)

// storm is one configuration of a storm.
type storm struct {
	dialect        *dialect
	window         int // 0 if --window is not passed to gauze
	calls, kills   int
	quick          bool // some kills follow the previous one immediately
	fast           bool // every kill comes before the server has answered a call
	callers        int
	workEvery      int // every n-th call with an effect takes a millisecond
	seed           uint64
	bug            string        // seeded into a gauze built with seededbugs
	silenceTimeout time.Duration // without a response for this long, the remaining calls are lost
	unknownPerKill float64
}

// run runs the storm and checks the result.
func (s *storm) run(b *binaries, gauze string) (*stormResult, error) {
	dir, err := os.MkdirTemp(b.dir, "storm-")
	if err != nil {
		return nil, err
	}
	ledger, pidFile, statusFile := filepath.Join(dir, "ledger"), filepath.Join(dir, "pid"), filepath.Join(dir, "status.json")

	flags := append([]string{"run", "--status-file", statusFile}, windowFlag(s.window)...)
	cmd := exec.Command(gauze, append(flags, "--", b.self, roleStormServer, pidFile, "-era", s.dialect.era, "-ledger", ledger)...)
	cmd.Env = append(os.Environ(), "GAUZE_SEEDED_BUG="+s.bug)
	output := &tailBuffer{}
	cmd.Stderr = output
	client, err := newStormClient(s.dialect, cmd, s.workEvery)
	if err != nil {
		return nil, err
	}
	if err := client.open(); err != nil {
		cmd.Process.Kill()
		return nil, fmt.Errorf("%w\n%s", err, output)
	}

	begin := time.Now()
	kills := s.newKiller(client, pidFile)
	exit, err := s.pass(client, kills)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, output)
	}
	seconds := time.Since(begin).Seconds()

	effects, err := readEffects(ledger)
	if err != nil {
		return nil, err
	}
	limits := history.Limits{UnknownPerKill: s.unknownPerKill, InOrder: s.window == 1, Failed: s.maxFailed()}
	if s.fast {
		limits.UnknownPerKill, limits.Failed = float64(s.calls), s.calls
	}
	verdict := history.Check(client.log.Events(), effects, limits)
	r := s.result(verdict, kills, readStatus(statusFile), seconds)
	if exit != nil {
		r.broke("gauze exited with %v", exit)
	}
	r.lastOutput = output.String()
	return r, nil
}

// windowFlag returns the arguments that set the window.
func windowFlag(window int) []string {
	if window == 0 {
		return nil
	}
	return []string{"--window", strconv.Itoa(window)}
}

// pass runs the callers, the killer and the reader, and returns after gauze has exited.
func (s *storm) pass(client *stormClient, kills *killer) (exit, err error) {
	var callers, killing, others sync.WaitGroup
	others.Go(func() { err = client.listen(kills.heard) })
	others.Go(func() { client.watch(s.silenceTimeout) })
	others.Go(func() {
		showProgress(client.stopped, func() string {
			return fmt.Sprintf("%s: %d of %d answers, %d of %d kills",
				s.dialect.era, client.answered.Load(), s.calls, kills.count(), s.kills)
		})
	})
	killing.Go(kills.serve)
	for range s.callers {
		callers.Go(func() { client.keepCalling(s.calls) })
	}
	callers.Wait()
	close(kills.over)
	killing.Wait()
	client.stop()
	exit = client.close()
	others.Wait()
	return exit, err
}

// maxFailed returns the number of calls that may fail. A read that was in flight at two consecutive
// deaths is not sent a third time, which only quick kills make likely.
func (s *storm) maxFailed() int {
	if s.quick {
		return s.kills / 2
	}
	return 1 + s.kills/100
}

// readEffects reads the ledger for the checker.
func readEffects(path string) ([]history.Effect, error) {
	entries, _, err := faultyserver.ReadLedger(path)
	if err != nil {
		return nil, err
	}
	var effects []history.Effect
	for _, e := range entries {
		effects = append(effects, history.Effect{Key: e.Key, PID: e.PID})
	}
	return effects, nil
}
