package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/probe"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// CheckOptions of Check; the zero value tries every server that may be run and
// leaves it alone.
type CheckOptions struct {
	Heal    bool
	Timeout time.Duration
	Ask     func(*Server) error        // nil if a person has seen the Whole of a project's server and agreed to it; nobody has if there is no Ask
	Tell    func(s *Server, is string) // what is going on; from several goroutines
}

// Checked is how one server is.
type Checked struct {
	*Server
	Tried   bool   // it was started or reached
	Not     string // why it was not
	Gone    bool   // it is wrapped, and the gauze that its file names is not there
	Attempt probe.Result
	Report  doctor.Report
}

// Well reports whether it works, and would as its client starts it.
func (c *Checked) Well() bool {
	return c.Tried && c.Report.Healthy && len(c.Errors()) == 0 && !c.Gone && c.otherTransport() == ""
}

// atOnce bounds how many servers are tried side by side.
const atOnce = 5

// Check tries servers as their clients would, a few at once. Equal ones that
// need no help are tried once. A wrapped one may be healed in any case: gauze
// run does no less.
func (f *Fleet) Check(ctx context.Context, servers []*Server, o CheckOptions) []*Checked {
	all := make([]*Checked, len(servers))
	machines := map[bool]*doctor.Machine{false: f.machine(false), true: f.machine(true)}
	places := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	try := func(c *Checked) {
		running.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			machine := machines[c.Config.InProject()]
			spec := f.start(c.Real(), machine.Dir, c.Config.InProject())
			c.Attempt, c.Report = c.examine(ctx, machine, spec, doctor.ExamineOptions{
				Heal:    o.Heal || c.Wrapped, // gauze run does, too
				Timeout: o.Timeout, Version: f.Version, Tell: func(is string) {
					if o.Tell != nil {
						o.Tell(c.Server, is)
					}
				},
			})
			c.Tried = ctx.Err() == nil
		})
	}
	first, twins := map[string]*Checked{}, map[*Checked]*Checked{}
	for i, s := range servers {
		c := &Checked{Server: s, Not: s.untried(o)}
		all[i] = c
		if c.Not != "" {
			continue
		}
		c.Gone = s.gone()
		key := s.key()
		if twin := first[key]; twin != nil {
			twins[c] = twin
			continue
		}
		first[key] = c
		try(c)
	}
	running.Wait()
	for c, twin := range twins {
		if len(twin.Report.Steps) > 0 { // what helped is that entry's alone
			try(c)
			continue
		}
		c.Attempt, c.Report, c.Tried = twin.Attempt, twin.Report, twin.Tried
	}
	running.Wait()
	return all
}

// key is equal only for servers that are started or reached in exactly the same
// way. Secrets are hashed into it.
func (s *Server) key() string {
	return fmt.Sprint(s.Real().Fingerprint(), s.Wrapped, s.Config.InProject())
}

// gone: gauze was moved since it was written into the file.
func (s *Server) gone() bool {
	if !s.Wrapped || !filepath.IsAbs(s.Spec.Command) {
		return false
	}
	_, err := os.Stat(s.Spec.Command)
	return err != nil
}

// examine tries the server. What its report says has none of the entry's
// secrets in it.
func (s *Server) examine(ctx context.Context, m *doctor.Machine, spec launch.Spec, o doctor.ExamineOptions) (probe.Result, doctor.Report) {
	last, report := doctor.Examine(ctx, m, spec, o)
	if report.Healthy && len(report.Steps) > 0 && !s.Wrapped {
		report.Spec = least(ctx, m, spec, report.Spec, o)
	}
	hide := func(texts ...*string) {
		for _, text := range texts {
			*text = s.Hide(*text)
		}
	}
	var hideAll func(*doctor.Diagnosis)
	hideAll = func(d *doctor.Diagnosis) {
		hide(&d.Explanation, &d.Fix)
		for i := range d.Reasons {
			hide(&d.Reasons[i])
		}
		for i := range d.Others {
			hideAll(&d.Others[i])
		}
	}
	hide(&report.Todo)
	if report.Diagnosis != nil {
		hideAll(report.Diagnosis)
	}
	for i := range report.Steps {
		hide(&report.Steps[i].About, &report.Steps[i].Next)
		hideAll(&report.Steps[i].Diagnosis)
	}
	return last.Hidden(s.Hide), report
}

// least is what a healed spec really needs: with the whole path of its program
// a server often does without another PATH, and a PATH that is written down
// grows old.
func least(ctx context.Context, m *doctor.Machine, before, healed launch.Spec, o doctor.ExamineOptions) launch.Spec {
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
	o.Heal = false
	if _, report := doctor.Examine(ctx, m, plain, o); report.Healthy {
		return plain
	}
	return healed
}

func isPath(pair string) bool { return strings.HasPrefix(pair, "PATH=") }

// NotAgreed says that nobody has agreed to run a server of the project, or to
// send it what it asks for.
func (s *Server) NotAgreed() error {
	if sends := s.Sends(); len(sends) > 0 {
		return fmt.Errorf("it comes with the project, and would send the value of %s to %s", redact.Quote(strings.Join(sends, ", ")), redact.Quote(s.Written().String()))
	}
	return errors.New("it comes with the project, and nobody has agreed to run it")
}

// untried says why a server is not started or reached.
func (s *Server) untried(o CheckOptions) string {
	spec := s.Real()
	switch {
	case s.Builtin != "":
		return "it is a part of the client"
	case s.Disabled:
		return "it is switched off"
	case spec.Command == "" && spec.URL == "":
		return "it has nothing to start"
	case s.Config.Place.Old != "":
		return "the client does not read this file any more"
	case len(s.Waiting) > 0:
		return "only its client can fill in " + redact.Quote(s.Waiting[0])
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

// Conflict is a name of a tool that several servers of one client have: the
// model cannot tell them apart in clients that put them side by side.
type Conflict struct {
	Client  string   `json:"client"`
	Tool    string   `json:"tool"`
	Servers []string `json:"servers"`
}

// Conflicts finds tools of the same name among servers of the same client.
func Conflicts(all []*Checked) (found []Conflict) {
	type key struct{ client, tool string }
	holders := map[key][]string{}
	var order []key
	for _, c := range all {
		if !c.Tried || c.Disabled {
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
