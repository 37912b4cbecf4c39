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

// What a client may cost.
const (
	maxStuckChange = 20.0 // per cent of the p99 of the others
	maxIdleKB      = 64.0 // of memory of the wrap
)

// scene is one kind of server with one kind of clients in front of it.
type scene struct {
	Name    string   `json:"name"`
	Era     string   `json:"era"`
	Clients int      `json:"clients"`
	server  []string // flags of the faulty server
	child   bool     // which is a child of the wrap for each client; otherwise one, behind a URL
}

// sessionsRun is one run: the settings, and what to start.
type sessionsRun struct {
	rounds int
	length time.Duration // of a round
	rate   int           // calls a second, of all healthy clients together
	settle time.Duration // before memory is looked at
	gauze  string
	self   string
	only   string
}

// runSessions puts many clients in front of one gauze serve.
func runSessions(args []string) error {
	flags := flag.NewFlagSet("sessions", flag.ContinueOnError)
	var s sessionsRun
	many := flags.Int("clients", 1000, "clients in front of one server behind a URL")
	few := flags.Int("children", 50, "clients with a child each")
	flags.IntVar(&s.rounds, "rounds", 30, "rounds without, without and with a stuck client")
	flags.DurationVar(&s.length, "length", time.Second, "of a round")
	flags.IntVar(&s.rate, "rate", 400, "calls a second, of all healthy clients together")
	flags.DurationVar(&s.settle, "settle", 5*time.Second, "how long nothing happens before memory is looked at")
	flags.StringVar(&s.gauze, "gauze", "", "use this binary instead of building one")
	flags.StringVar(&s.only, "only", "", "only the scene of this name")
	jsonTo := flags.String("json", "", "write the result as JSON to this file, - for after the table")
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
			return errors.New("a limit was missed")
		}
	}
	return nil
}

// play measures one scene: memory first, while nothing else happened, and then
// the calls.
func (s *sessionsRun) play(sc scene) (*sceneResult, error) {
	argv := []string{s.gauze, "serve", "--no-token", "--listen", "127.0.0.1:0", "--quiet", "--max-sessions", fmt.Sprint(sc.Clients + 8)}
	if sc.child {
		argv = append(append(argv, "--", s.self, roleFaulty), sc.server...)
	} else {
		server, err := startFront(exec.Command(s.self, append([]string{roleFaultyHTTP}, sc.server...)...))
		if err != nil {
			return nil, err
		}
		defer server.stop()
		argv = append(argv, "--url", server.url)
	}
	wrap, err := startFront(exec.Command(argv[0], argv[1:]...))
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
	// The first client pays for what all of them share: it is no idle session.
	if err := s.warmUp(ctx, d, wrap.url); err != nil {
		return nil, err
	}
	r.Empty = s.look(wrap)
	crowd, err := gather(ctx, d, wrap.url, sc.Clients)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, wrap.said)
	}
	r.Full = s.look(wrap)
	if err := s.compare(ctx, crowd, r); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, wrap.said)
	}
	r.judge()
	return r, nil
}

// warmUp lets a few clients come, call and go.
func (s *sessionsRun) warmUp(ctx context.Context, d *dialect, url string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	crowd, err := gather(ctx, d, url, 4)
	if err != nil {
		return err
	}
	defer crowd.leave()
	for range 25 {
		for _, member := range crowd.members {
			if _, err := member.echo(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// look waits until all is calm and returns what the wrap occupies.
func (s *sessionsRun) look(wrap *front) memory {
	time.Sleep(s.settle)
	m, _ := memoryOf(wrap.cmd.Process.Pid) // zero where the system does not tell
	return m
}
