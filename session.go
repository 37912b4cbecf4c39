package gauze

// This file turns Options into what the internal packages need.

import (
	"context"
	"maps"
	"slices"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/mend/correct"
	"github.com/gauze-mcp/gauze/internal/mend/execute"
	gate "github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/tasks/given"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/llm"
	"github.com/gauze-mcp/gauze/repair"
)

// owned returns the options without what the caller can still change: a server is started again long after
// they were given.
func (o Options) owned() Options {
	o.Command, o.Env, o.Header = slices.Clone(o.Command), slices.Clone(o.Env), o.Header.Clone()
	o.Tools, o.Correct = maps.Clone(o.Tools), ownedPolicy(o.Correct)
	for name, p := range o.Tools {
		if p.Correct != nil {
			p.Correct = new(ownedPolicy(*p.Correct))
			o.Tools[name] = p
		}
	}
	return o
}

func ownedPolicy(p repair.Policy) repair.Policy {
	p.Enabled, p.MaxRetries, p.UseModel, p.Open = copied(p.Enabled), copied(p.MaxRetries), copied(p.UseModel), copied(p.Open)
	p.CorrectableErrors = slices.Clone(p.CorrectableErrors)
	return p
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// spec returns the server that valid options describe.
func (o Options) spec() launch.Spec {
	if o.URL == "" {
		return launch.Spec{Command: o.Command[0], Args: o.Command[1:], Dir: o.Dir, Env: o.Env}
	}
	spec := launch.Spec{URL: o.URL}
	for name, values := range o.Header {
		for _, value := range values {
			spec.Header = append(spec.Header, launch.Header{Name: name, Value: value, Source: "Options.Header"})
		}
	}
	return spec
}

// session returns the options of a session for valid options. remote may be nil.
func (o Options) session(remote *upstream.Remote) proxy.Options {
	return proxy.Options{
		Spec: o.spec(), Remote: remote,
		Name: o.Name, Tools: o.policies(), Models: o.models(), Repair: string(o.Repair),
		StartTimeout: o.StartTimeout,
		Timing: proxy.Timing{Timeout: o.Timeout, MaxTime: o.MaxTime, Patience: o.Patience,
			ProbeInterval: o.Tuning.ProbeInterval, ProbeTimeout: o.Tuning.ProbeTimeout, IdleProbe: o.Tuning.IdleProbe, HangGrace: o.Tuning.HangGrace},
		Limits:  proxy.Limits{Window: o.Tuning.Window, RetryBudget: o.Tuning.RetryBudget, Quarantine: o.Tuning.Quarantine},
		Restart: upstream.Restart(o.Restart),
		Doctor:  doctor.Live(doctor.ThisMachine(), !o.NoHeal && remote == nil),
		Calls:   &doctor.CallDoctor{Machine: doctor.ThisMachine()},
		Stderr:  o.Stderr,
		Explain: wording(o.Explain),
	}
}

// wording returns the function for a repair gate; nil: there is none.
func wording(explain func(repair.Explanation) string) func(gate.Explanation) string {
	if explain == nil {
		return nil
	}
	return func(e gate.Explanation) string { return explain(repair.Explanation(e)) }
}

// correction returns a policy, or an error that says which field has an unusable value.
func correction(p repair.Policy) (correct.Policy, error) {
	return correct.Settings[repair.RejectionKind](p).Policy()
}

// policies returns the policies of the tools of valid options.
func (o Options) policies() map[string]proxy.Policy {
	policies := make(map[string]proxy.Policy, len(o.Tools)+1)
	all, _ := correction(o.Correct) // checked before
	policies[proxy.AllTools] = proxy.Policy{Correct: all}
	for name, p := range o.Tools {
		policy := proxy.Policy{Replay: string(p.Replay), Timeout: p.Timeout, MaxInFlight: p.MaxInFlight, Repair: string(p.Repair)}
		if p.Correct != nil {
			policy.Correct, _ = correction(*p.Correct)
			if p.Correct.Model != nil {
				policy.Correct.Model = name
			}
		}
		if name == proxy.AllTools {
			policy.Correct = policy.Correct.Over(all)
		}
		policies[name] = policy
	}
	return policies
}

// models returns the models by the names that policies uses for them, or nil if there are none. The
// name of a tool's model is that of the tool.
func (o Options) models() func(name string, client proxy.Sampler) llm.Model {
	known := map[string]llm.Model{"": correct.Settings[repair.RejectionKind](o.Correct).ModelOr(o.Model)}
	for name, p := range o.Tools {
		if p.Correct != nil && p.Correct.Model != nil {
			known[name] = p.Correct.Model
		}
	}
	if len(known) == 1 && known[""] == nil {
		return nil
	}
	return func(name string, _ proxy.Sampler) llm.Model {
		if model := known[name]; model != nil {
			return execute.Guarded{Model: model}
		}
		return nil
	}
}

// Package task uses the servers of a program.
func init() {
	given.Check = func(o any) error { return o.(Options).check() }
	given.Open = func(o any) (given.Session, error) {
		options := o.(Options).owned()
		remote, err := options.remote()
		if err != nil {
			return given.Session{}, err
		}
		session := given.Session{Options: options.session(remote), Report: options.report, Close: func() {}}
		if remote != nil {
			session.Close = remote.Close
		}
		return session, nil
	}
}

// report passes on an event of a server to its OnEvent and Logger.
func (o Options) report(e event.Event) {
	if o.Logger != nil {
		e.Log(context.Background(), o.Logger, false)
	}
	if o.OnEvent != nil {
		o.OnEvent(e)
	}
}
