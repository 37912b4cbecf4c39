package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
	"github.com/gauze-mcp/gauze/llm"
)

// CheckOptions configure Check. The zero value tests every server that may be run, without trying
// fixes.
type CheckOptions struct {
	Heal    bool
	Timeout time.Duration
	Ask     func(*Server) error        // returns nil if the user has reviewed the Whole of a project's server and allowed it; a nil Ask allows none
	Agree   func(*Server, Offer) bool  // asks the user about a fix; called from several goroutines; nil refuses
	Tell    func(s *Server, is string) // reports progress; called from several goroutines
	Done    func(*Checked)             // reports a result as soon as it is complete; called from several goroutines, one at a time
	Model   llm.Model                  // ranks possible causes of a failure that no rule explains; may be nil
	Logins  bool                       // uses the logins of gauze even for servers that their clients reach without gauze
}

// Checked is the result of checking one server.
type Checked struct {
	*Server
	Tried    bool             // it was started or reached
	Not      string           // why it was not tried
	Recalled *doctor.Recalled // the last call that failed through gauze run, if it may still fail
	Attempt  probe.Result
	Report   doctor.Report

	started launch.Spec // how it was started or reached at first
	asks    bool        // a fix may help that the user must be asked about
}

// WorksInClient reports whether the server works the way its client starts it.
func (c *Checked) WorksInClient() bool {
	return c.Tried && c.Report.Healthy && len(c.Errors()) == 0 && c.otherTransport() == ""
}

// maxConcurrent bounds how many servers are tested at the same time.
const maxConcurrent = 5

// Check tests servers as their clients would start them, several at a time. Identical servers that
// need no fix are tested once. Fixes are always tried for a server that runs through gauze, which
// does the same.
func (f *Fleet) Check(ctx context.Context, servers []*Server, o CheckOptions) []*Checked {
	r := &round{Fleet: f, CheckOptions: o, ctx: ctx, places: make(chan struct{}, maxConcurrent), reports: map[*Checked]doctor.Report{}}
	r.machines = map[bool]*doctor.Machine{false: f.machine(false), true: f.machine(true)}
	for _, m := range r.machines {
		m.Entries = ownEntries(servers)
	}
	all := make([]*Checked, len(servers))
	first, twins := map[string]*Checked{}, map[*Checked]*Checked{}
	for i, s := range servers {
		c := &Checked{Server: s, Not: s.whyNotTried(o)}
		all[i] = c
		if c.Not != "" {
			r.complete(c)
			continue
		}
		key := s.key()
		if twin := first[key]; twin != nil {
			twins[c] = twin
			continue
		}
		first[key] = c
		r.running.Go(func() { r.try(c) })
	}
	r.running.Wait()
	for c, twin := range twins {
		if len(twin.Report.Steps) > 0 { // the fix applies to that entry only
			r.running.Go(func() { r.try(c) })
			continue
		}
		c.Attempt, c.Report, c.Tried, c.started, c.asks = twin.Attempt, r.report(twin), twin.Tried, twin.started, twin.asks
		r.complete(c)
	}
	r.running.Wait()
	return all
}

// round is one call of Check.
type round struct {
	*Fleet
	CheckOptions
	ctx      context.Context
	machines map[bool]*doctor.Machine // by whether the entry is in a project
	places   chan struct{}
	running  sync.WaitGroup

	mu      sync.Mutex
	reports map[*Checked]doctor.Report // as they were before complete added what is true of one entry only
}

// try tests a server.
func (r *round) try(c *Checked) {
	r.places <- struct{}{}
	defer func() { <-r.places }()
	machine := r.machines[c.Config.InProject()]
	c.started = r.start(c.Real(), machine.Dir, c.Config.InProject())
	agree := func(offer Offer) bool {
		if r.Heal && r.Agree != nil {
			return r.Agree(c.Server, offer)
		}
		c.asks = true
		return false
	}
	tested := c.started
	if !r.CheckOptions.Logins {
		tested = c.asClient(tested)
	}
	c.Attempt, c.Report = c.examine(r.ctx, machine, tested, doctor.ExamineOptions{
		Heal:  r.Heal || Through(c.Entry), // as gauze run and gauze up do
		Hurry: len(c.Errors()) > 0 || Through(c.Entry) && !r.Heal,
		Agree: agreeing(c.Written(), c.started, agree),
		Model: r.Model, Secrets: c.view.secrets,
		Timeout: c.timeout(r.Timeout), Version: r.Version, Tell: func(is string) {
			if r.Tell != nil {
				r.Tell(c.Server, is)
			}
		},
	})
	c.Report.Spec.Login = c.started.Login
	c.Tried = r.ctx.Err() == nil
	r.complete(c)
}

// complete adds to a result what gauze knows about the entry besides the test, and reports it.
func (r *round) complete(c *Checked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports[c] = c.Report
	if !r.CheckOptions.Logins {
		r.explainLogin(c)
	}
	r.consultLog(c)
	r.recall(c, r.machines[c.Config.InProject()])
	if r.Done != nil {
		r.Done(c)
	}
}

// report returns the report of a test alone.
func (r *round) report(c *Checked) doctor.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reports[c]
}

// ownEntries returns the user's own servers, all that were read with these. What a project
// configures is not suggested for others.
func ownEntries(servers []*Server) (own []launch.Spec) {
	if len(servers) == 0 {
		return nil
	}
	for _, s := range servers[0].view.Servers {
		if !s.Config.InProject() {
			own = append(own, s.Real())
		}
	}
	return own
}

// brokenTimeout bounds the wait for an entry that its client does not load: the result does not
// change the verdict.
const brokenTimeout = 5 * time.Second

// timeout returns how long to wait for the server: as long as asked, or 0 for the default of its
// command.
func (s *Server) timeout(asked time.Duration) time.Duration {
	if asked == 0 && len(s.Errors()) > 0 {
		return brokenTimeout
	}
	return asked
}

// key returns a string that is equal only for servers that are started or reached in exactly the
// same way. It contains hashes of secrets.
func (s *Server) key() string {
	return fmt.Sprint(s.Real().Fingerprint(), Through(s.Entry), s.Config.InProject(), len(s.Errors()) > 0)
}

// examine tests the server. Its results contain none of the entry's secrets.
func (s *Server) examine(ctx context.Context, m *doctor.Machine, spec launch.Spec, o doctor.ExamineOptions) (probe.Result, doctor.Report) {
	last, report := doctor.Examine(ctx, m, spec, o)
	if report.Healthy && len(report.Steps) > 0 && !Through(s.Entry) {
		report.Spec = minimal(ctx, m, spec, report.Spec, o)
	}
	hide := func(texts ...*string) {
		for _, text := range texts {
			*text = s.Hide(*text)
		}
	}
	hideValues := func(texts ...*string) {
		for _, text := range texts {
			*text = s.hideValues(*text)
		}
	}
	var hideAll func(*doctor.Diagnosis)
	hideAll = func(d *doctor.Diagnosis) {
		hide(&d.Explanation)
		hideValues(&d.Fix)
		for i := range d.Reasons {
			hide(&d.Reasons[i])
		}
		for i := range d.Others {
			hideAll(&d.Others[i])
		}
	}
	hideValues(&report.Todo)
	if report.Diagnosis != nil {
		hideAll(report.Diagnosis)
	}
	for i := range report.Steps {
		hideValues(&report.Steps[i].About, &report.Steps[i].Next)
		hideAll(&report.Steps[i].Diagnosis)
	}
	return last.Hidden(s.Hide), report
}

// minimal returns the part of a healed spec that is really needed: with the full path of its
// program, a server often works without a different PATH, and a saved PATH becomes outdated.
func minimal(ctx context.Context, m *doctor.Machine, before, healed launch.Spec, o doctor.ExamineOptions) launch.Spec {
	if healed.URL != "" || healed.Command == before.Command || healed.Env == nil {
		return healed
	}
	plain := healed
	plain.Env = slices.DeleteFunc(slices.Clone(healed.Env), isPath)
	for _, pair := range before.Env {
		if isPath(pair) {
			plain.Env = append(plain.Env, pair)
		}
	}
	o.Heal, o.Model = false, nil
	if _, report := doctor.Examine(ctx, m, plain, o); report.Healthy {
		return plain
	}
	return healed
}

func isPath(pair string) bool { return strings.HasPrefix(pair, "PATH=") }

// NotAgreed returns the error for a project's server whose entry the user has not confirmed.
func (s *Server) NotAgreed() error {
	if sends := s.Sends(); len(sends) > 0 {
		return fmt.Errorf("the project configures this server, and its entry would send the value of %s to %s", redact.Quote(strings.Join(sends, ", ")), redact.Quote(s.Written().String()))
	}
	if file := s.SendsFile(); file != "" {
		return fmt.Errorf("the project configures this server, and its entry would send the content of the file %s to log in to %s", redact.Quote(file), redact.Quote(s.Written().String()))
	}
	return errors.New("the project configures this server, and you have not confirmed its current entry")
}

// WhyNot returns why a server was not tried. That its entry is not confirmed comes before what its client
// says about it.
func (c *Checked) WhyNot() string {
	if c.Not != "" && c.Foreign() {
		return c.Not
	}
	return c.Verdict().Cause
}

// noServer is why an entry starts and reaches nothing.
const noServer = "the entry has neither a command nor a URL"

// Unusable returns why a server cannot be started or reached without its client in any environment, or "".
func (s *Server) Unusable() string {
	spec := s.Written()
	switch {
	case s.Builtin != "":
		return "the server is built into the client"
	case s.Disabled:
		return "the server is disabled"
	case spec.Command == "" && spec.URL == "":
		return noServer
	case s.Config.Place.Old != "":
		return "the client no longer reads this file"
	case s.pending != "":
		return s.pending
	case len(s.Waiting) > 0:
		return "only the client can supply " + redact.Quote(s.Waiting[0])
	}
	return ""
}

// whyNotTried returns why a server is not started or reached, or "".
func (s *Server) whyNotTried(o CheckOptions) string {
	if why := s.Unusable(); why != "" {
		return why
	}
	switch real := s.Real(); {
	case real.Command == "" && real.URL == "": // a variable has no value
		return noServer
	case !s.Foreign():
		return ""
	case o.Ask == nil:
		return s.NotAgreed().Error()
	}
	if err := o.Ask(s); err != nil {
		return err.Error()
	}
	return ""
}

// Conflict is a tool name that several servers of one client use. In clients that do not separate
// servers, the model cannot tell the tools apart.
type Conflict struct {
	Client  string   `json:"client"`
	Tool    string   `json:"tool"`
	Servers []string `json:"servers"`
}

// Conflicts returns the tool names that several servers of the same client use. Behind gauze up, their names differ.
func Conflicts(all []*Checked) (found []Conflict) {
	type key struct{ client, tool string }
	holders := map[key][]string{}
	var order []key
	for _, c := range all {
		if !c.Tried || c.Disabled || c.Client.ID == clientconfig.UpID {
			continue
		}
		for _, tool := range c.Attempt.Found.Tools {
			k := key{c.Client.ID, tool.Name}
			if holders[k] == nil {
				order = append(order, k)
			}
			if !slices.Contains(holders[k], c.Name) {
				holders[k] = append(holders[k], c.Name)
			}
		}
	}
	for _, k := range order {
		if len(holders[k]) > 1 {
			found = append(found, Conflict{k.client, k.tool, holders[k]})
		}
	}
	return found
}
