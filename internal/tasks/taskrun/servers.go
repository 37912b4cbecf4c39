package taskrun

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// CallTimeout is how long a call of a task may take without progress by default: no one watches a
// task, so a server that never answers must not hold it up indefinitely.
const CallTimeout = 10 * time.Minute

// Servers are the servers of a task. Each is started when it is first needed, behind a proxy
// session of its own, so that repair, replay and restarts apply to the calls of a task.
type Servers struct {
	// Plan has the servers by name.
	Plan map[string]task.Server
	// Configured returns the server that a client knows by this name, such as cursor/notes, in the
	// directory where the task was started, or why it must not be started.
	Configured func(name, dir string) (launch.Spec, error)
	// Sessions configures the sessions of servers that are not started as the Plan says, by name.
	Sessions map[string]proxy.Options
	// Wrap configures every other session. Spec, Name, Tell and Events are set by Servers.
	Wrap proxy.Options
	// Observe receives the events of a server, from a goroutine of its own for each server. May be nil.
	Observe func(server string, e event.Event)

	mu   sync.Mutex
	open map[string]*server
}

// Tools implements [task.Servers].
func (s *Servers) Tools(ctx context.Context, name string) ([]task.Tool, *task.Reply) {
	one, err := s.server(name)
	if err != nil {
		return nil, &task.Reply{Status: task.Lost, Delivery: task.Unsent, Text: err.Error()}
	}
	return one.list(ctx)
}

// Call implements [task.Servers].
func (s *Servers) Call(ctx context.Context, name, tool string, arguments json.RawMessage) task.Reply {
	one, err := s.server(name)
	if err != nil {
		return task.Reply{Status: task.Lost, Delivery: task.Unsent, Text: err.Error()}
	}
	return one.call(ctx, tool, arguments)
}

// Situation implements [task.Servers].
func (s *Servers) Situation(name string) task.Situation {
	one, err := s.server(name)
	if err != nil {
		now := task.Situation{Detail: err.Error()}
		now.Server, now.Health = name, "dead"
		now.Cause.Permanent, now.Cause.Confidence = true, 1
		return now
	}
	return one.situation()
}

// Reconnect implements [task.Servers].
func (s *Servers) Reconnect(ctx context.Context, name string) {
	if one, err := s.server(name); err == nil {
		one.reconnect(ctx)
	}
}

// shownName returns the name of a server for people: the one by which a client knows it, if any.
func shownName(plan map[string]task.Server, name string) string {
	return cmp.Or(plan[name].Configured, name)
}

// noteVerdict counts a verdict about a server, if the server has a session.
func (s *Servers) noteVerdict(name, action string) {
	s.mu.Lock()
	one := s.open[name]
	s.mu.Unlock()
	if one == nil {
		return
	}
	one.mu.Lock()
	session := one.session
	one.mu.Unlock()
	session.NoteVerdict(action)
}

// Close stops all servers, and returns when they are gone. Each gets the time to exit by itself,
// unless hurry is closed; it may be nil.
func (s *Servers) Close(hurry <-chan struct{}) {
	s.mu.Lock()
	open := s.open
	s.open = nil
	s.mu.Unlock()
	closed := make(chan struct{})
	defer close(closed)
	go func() {
		select {
		case <-closed:
		case <-hurry:
			for _, one := range open {
				one.session.Hurry()
			}
		}
	}()
	var closing sync.WaitGroup
	for _, one := range open {
		closing.Go(func() { one.close(false) })
	}
	closing.Wait()
}

// server returns a server that is started or about to be.
func (s *Servers) server(name string) (*server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.open[name]; one != nil {
		return one, nil
	}
	o, own := s.Sessions[name]
	if !own {
		spec, err := s.spec(name)
		if err != nil {
			return nil, err
		}
		o = s.Wrap
		o.Spec = spec
	}
	o.Name = shownName(s.Plan, name)
	var observe func(event.Event)
	if s.Observe != nil {
		observe = func(e event.Event) { s.Observe(name, e) }
	}
	one := newServer(name, o, observe)
	if s.open == nil {
		s.open = map[string]*server{}
	}
	s.open[name] = one
	return one, nil
}

// spec returns how a server is started or reached.
func (s *Servers) spec(name string) (launch.Spec, error) {
	p, ok := s.Plan[name]
	switch {
	case !ok:
		return launch.Spec{}, fmt.Errorf("the task has no server %q", name)
	case p.Configured != "" && s.Configured == nil:
		return launch.Spec{}, fmt.Errorf("the server %s is not available here: use its command or URL instead", p.Configured)
	case p.Configured != "":
		return s.Configured(p.Configured, p.Cwd)
	case p.URL != "":
		return Given(p), launch.CheckURL(p.URL)
	}
	spec := Given(p)
	env, err := p.Environ()
	if len(env) > 0 {
		spec.Env = append(slices.Clone(launch.Spec{}.Environment()), env...)
	}
	return spec, err
}

// Given returns a server that is not configured as the plan says. Env has only the plan's variables,
// and references in them as they are written.
func Given(s task.Server) launch.Spec {
	if s.URL != "" {
		return launch.Spec{URL: s.URL}
	}
	spec := launch.Spec{Command: s.Command[0], Args: s.Command[1:], Dir: s.Cwd}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		spec.Env = append(spec.Env, name+"="+s.Env[name])
	}
	return spec
}

// prepared returns Here, and an error if a server refers to a variable that is not set.
func prepared(plan task.Plan) (task.Plan, error) {
	for _, name := range slices.Sorted(maps.Keys(plan.Servers)) {
		if _, err := plan.Servers[name].Environ(); err != nil {
			return plan, fmt.Errorf("the server %q cannot be started: %w", redact.Quote(name), err)
		}
	}
	return Here(plan)
}

// Here returns a plan whose commands run in the current directory unless they say otherwise, and
// whose configured servers are those of the current directory, so that the task can be resumed from
// a different one.
func Here(plan task.Plan) (task.Plan, error) {
	dir, err := os.Getwd()
	if err != nil {
		return plan, fmt.Errorf("cannot determine the current directory: %w", err)
	}
	servers := maps.Clone(plan.Servers)
	for name, server := range servers {
		if len(server.Command) > 0 || server.Configured != "" {
			server.Cwd = absolute(dir, server.Cwd)
			servers[name] = server
		}
	}
	plan.Servers = servers
	return plan, nil
}
