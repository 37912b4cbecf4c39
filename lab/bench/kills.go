package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/lab/bench/history"
)

// steady is one run of read-only calls at a steady rate while the server is killed several times,
// alternately while idle and during a call.
type steady struct {
	calls, kills int
	rate         float64 // calls per second; 0 to make each call when the previous one is answered
}

// steadyResult is the result of a steady run.
type steadyResult struct {
	Calls    int            `json:"calls"`
	OK       int            `json:"ok"`
	Failed   map[string]int `json:"failed"`
	Kills    int            `json:"kills"`
	Restarts int            `json:"restarts"`
	Longest  float64        `json:"longest_call_ms"`
	Recovery *recovery      `json:"recovery"`
}

func runKills(args []string) error {
	flags := flag.NewFlagSet("kills", flag.ContinueOnError)
	var s steady
	flags.IntVar(&s.calls, "calls", 400, "read-only calls")
	flags.IntVar(&s.kills, "kills", 8, "number of times the server is killed")
	flags.Float64Var(&s.rate, "rate", 40, "calls per second")
	gauze := flags.String("gauze", "", "use this binary instead of building one")
	jsonTo := flags.String("json", "", "write the result as JSON to this file (-: to stdout, after the table)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b, err := newBinaries()
	if err != nil {
		return err
	}
	defer b.remove()
	if *gauze == "" {
		if *gauze, err = b.gauze(""); err != nil {
			return err
		}
	}
	r, err := s.run(b, *gauze)
	if err != nil {
		return err
	}
	fmt.Printf("%d calls, %d ok, failed %v\n%d kills, %d restarts, longest call %.1f ms\n", r.Calls, r.OK, r.Failed, r.Kills, r.Restarts, r.Longest)
	if r.Recovery != nil {
		fmt.Printf("recovery p50 %.1f ms, p99 %.1f ms, server start p50 %.1f ms, p99 beyond server start %.1f ms\n",
			r.Recovery.P50, r.Recovery.P99, r.Recovery.StartP50, r.Recovery.BeyondP99)
	}
	if err := writeJSON(*jsonTo, r); err != nil {
		return err
	}
	if r.OK != r.Calls || r.Restarts != r.Kills {
		return errors.New("a guarantee was violated")
	}
	return nil
}

// run starts gauze with its default flags, makes the calls and kills the server.
func (s steady) run(b *binaries, gauze string) (*steadyResult, error) {
	dir, err := os.MkdirTemp(b.dir, "kills-")
	if err != nil {
		return nil, err
	}
	pidFile, statusFile := filepath.Join(dir, "pid"), filepath.Join(dir, "status.json")
	cmd := exec.Command(gauze, "run", "--status-file", statusFile, "--", b.self, roleStormServer, pidFile)
	output := &tailBuffer{}
	cmd.Stderr = output
	c, err := newStormClient(&dialects[0], cmd, 1)
	if err != nil {
		return nil, err
	}
	if err := c.open(); err != nil {
		cmd.Process.Kill()
		return nil, fmt.Errorf("%w\n%s", err, output)
	}
	var listening sync.WaitGroup
	listening.Go(func() { c.listen(func(history.Event) {}) })
	r := &steadyResult{Calls: s.calls, Failed: map[string]int{}}
	s.call(c, pidFile, r)
	c.stop()
	c.close()
	listening.Wait()
	r.count(c.log.Events())
	if status := readStatus(statusFile); status != nil {
		r.Restarts, r.Recovery = status.Restarts, status.recovery()
	}
	return r, nil
}

// call makes the calls one after another at the given rate. A call that is to be interrupted takes
// long enough for that.
func (s steady) call(c *stormClient, pidFile string, r *steadyResult) {
	every, last := s.calls/(s.kills+1), 0
	begin := time.Now()
	for n := range s.calls {
		if s.rate > 0 {
			time.Sleep(time.Until(begin.Add(time.Duration(float64(n) / s.rate * float64(time.Second)))))
		}
		due := n > 0 && n%every == 0 && r.Kills < s.kills
		inCall := due && r.Kills%2 == 1
		if due && !inCall {
			last = killServer(pidFile, last)
			r.Kills++
		}
		id, work := fmt.Sprint(n), 1
		if inCall {
			work = 50
		}
		asked := time.Now()
		line := c.dialect.toolCall(id, "sleep", fmt.Sprintf(`{"ms":%d}`, work))
		answer := c.ask(history.Event{Kind: history.Invoke, ID: id}, line)
		if inCall {
			time.Sleep(10 * time.Millisecond)
			last = killServer(pidFile, last)
			r.Kills++
		}
		select {
		case <-answer:
		case <-c.stopped:
			return
		case <-time.After(time.Minute):
			return
		}
		r.Longest = max(r.Longest, time.Since(asked).Seconds()*1000)
	}
}

// killServer kills the server that registered last and returns its process id. last is the process
// id of the previous kill.
func killServer(pidFile string, last int) int {
	k := killer{pidFile: pidFile}
	pid := last
	for deadline := time.Now().Add(30 * time.Second); pid == last && time.Now().Before(deadline); time.Sleep(pollInterval) {
		pid = cmp.Or(k.registered(), last)
	}
	killProcess(pid)
	return pid
}

// count counts the responses.
func (r *steadyResult) count(events []history.Event) {
	for _, e := range slices.Clone(events) {
		switch e.Kind {
		case history.OK:
			r.OK++
		case history.Fail, history.Unknown, history.Foreign:
			r.Failed[e.Code]++
		}
	}
}
