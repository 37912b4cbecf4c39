package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Limits of what a client may cost.
const (
	maxStuckChange = 20.0 // percent of the p99 of the other clients
	maxIdleKB      = 64.0 // of gauze's memory
)

// scene is one kind of server and its clients.
type scene struct {
	Name    string   `json:"name"`
	Era     string   `json:"era"`
	Clients int      `json:"clients"`
	server  []string // flags of the faulty server
	child   bool     // one child per client instead of one server over HTTP
}

// sessionsRun is one run of the benchmark: its settings and what to start.
type sessionsRun struct {
	rounds int
	length time.Duration // of a round
	rate   int           // calls per second of all healthy clients together
	settle time.Duration // before memory is measured
	gauze  string
	self   string
	only   string
}

// runSessions connects many clients to one gauze serve.
func runSessions(args []string) error {
	flags := flag.NewFlagSet("sessions", flag.ContinueOnError)
	var s sessionsRun
	many := flags.Int("clients", 1000, "number of clients of one server over HTTP")
	few := flags.Int("children", 50, "number of clients with their own child process")
	flags.IntVar(&s.rounds, "rounds", 30, "rounds; each runs twice without and once with a stuck client")
	flags.DurationVar(&s.length, "length", time.Second, "length of a round")
	flags.IntVar(&s.rate, "rate", 400, "calls per second of all healthy clients together")
	flags.DurationVar(&s.settle, "settle", 5*time.Second, "idle time before memory is measured")
	flags.StringVar(&s.gauze, "gauze", "", "use this binary instead of building one")
	flags.StringVar(&s.only, "only", "", "run only the scene with this name")
	jsonTo := flags.String("json", "", "write the result as JSON to this file (-: to stdout, after the table)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b, err := newBinaries()
	if err != nil {
		return err
	}
	defer b.remove()
	if s.self = b.self; s.gauze == "" {
		if s.gauze, err = b.gauze(""); err != nil {
			return err
		}
	}
	var results []*sceneResult
	for _, sc := range []scene{
		{Name: "modern", Era: "modern", Clients: *many, server: []string{"-era", "modern", "-answers", "json", "-lifetime", "0"}},
		{Name: "children", Era: "legacy", Clients: *few, server: []string{"-era", "legacy", "-lifetime", "0"}, child: true},
		{Name: "legacy", Era: "legacy", Clients: *many, server: []string{"-era", "legacy", "-stateful", "-answers", "json", "-lifetime", "0"}},
	} {
		if s.only != "" && s.only != sc.Name {
			continue
		}
		r, err := s.play(sc)
		if err != nil {
			return fmt.Errorf("%s: %w", sc.Name, err)
		}
		results = append(results, r)
	}
	printScenes(os.Stdout, results)
	if err := writeJSON(*jsonTo, results); err != nil {
		return err
	}
	for _, r := range results {
		if !r.Pass {
			return errors.New("a limit was exceeded")
		}
	}
	return nil
}

// play measures one scene: the memory first, before any load, then the calls.
func (s *sessionsRun) play(sc scene) (*sceneResult, error) {
	argv := []string{s.gauze, "serve", "--no-token", "--listen", "127.0.0.1:0", "--quiet", "--max-sessions", fmt.Sprint(sc.Clients + 8)}
	if sc.child {
		argv = append(append(argv, "--", s.self, roleFaulty), sc.server...)
	} else {
		server, err := startHTTP(exec.Command(s.self, append([]string{roleFaultyHTTP}, sc.server...)...))
		if err != nil {
			return nil, err
		}
		defer server.stop()
		argv = append(argv, "--url", server.url)
	}
	wrap, err := startHTTP(exec.Command(argv[0], argv[1:]...))
	if err != nil {
		return nil, err
	}
	defer wrap.stop()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	d := &dialects[0]
	if sc.Era == "modern" {
		d = &dialects[1]
	}
	r := &sceneResult{scene: sc}
	// The first client pays for what all of them share, so it does not count as an idle session.
	if err := s.warmUp(ctx, d, wrap.url); err != nil {
		return nil, err
	}
	r.Empty = s.settledMemory(wrap)
	pool, err := connectAll(ctx, d, wrap.url, sc.Clients)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, wrap.output)
	}
	r.Full = s.settledMemory(wrap)
	if err := s.compare(ctx, pool, r); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, wrap.output)
	}
	r.judge()
	return r, nil
}

// warmUp connects a few clients, makes calls and disconnects them.
func (s *sessionsRun) warmUp(ctx context.Context, d *dialect, url string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pool, err := connectAll(ctx, d, url, 4)
	if err != nil {
		return err
	}
	defer pool.leave()
	for range 25 {
		for _, client := range pool.clients {
			if _, err := client.echo(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// settledMemory waits until gauze has been idle for a while and returns its memory.
func (s *sessionsRun) settledMemory(wrap *httpProcess) memory {
	time.Sleep(s.settle)
	m, _ := memoryOf(wrap.cmd.Process.Pid) // zero if the system does not report it
	return m
}
