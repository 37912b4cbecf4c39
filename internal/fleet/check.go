package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// CheckOptions of Check; the zero value tries every server that may be run and
// leaves it alone.
type CheckOptions struct {
	Heal    bool
	Timeout time.Duration
	Foreign bool                       // also run what comes with a project and nobody has agreed to
	Named   []string                   // of those, run the ones that are here as CLIENT/NAME: a name alone may be a project's choice
	Tell    func(s *Server, is string) // what is going on; from several goroutines
}

// Checked is how one server is.
type Checked struct {
	*Server
	Tried   bool   // it was started or reached
	Not     string // why it was not
	Gone    bool   // it is wrapped, and the gauze that its file names is not there
	Attempt upstream.Attempted
	Report  doctor.Report
}

// Well reports whether it works, and would as its client starts it.
func (c *Checked) Well() bool {
	return c.Tried && c.Report.Healthy && len(c.Errors()) == 0 && !c.Gone && c.otherTransport() == ""
}

// atOnce bounds how many servers are tried side by side.
const atOnce = 5

// Check tries servers as their clients would, a few at once. Equal ones are
// tried once. A wrapped one may be healed in any case: gauze run does no less.
func (f *Fleet) Check(ctx context.Context, servers []*Server, o CheckOptions) []*Checked {
	all := make([]*Checked, len(servers))
	places := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	first := map[string]int{}
	for i, s := range servers {
		all[i] = &Checked{Server: s, Not: s.untried(o.Foreign || slices.Contains(o.Named, s.ID()))}
		if all[i].Not != "" {
			continue
		}
		all[i].Gone = s.gone()
		key := s.key()
		if _, twin := first[key]; twin {
			continue
		}
		first[key] = i
		running.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			all[i].Attempt, all[i].Report = s.examine(ctx, f.Machine, doctor.ExamineOptions{
				Heal:    o.Heal || s.Wrapped, // gauze run does, too
				Timeout: o.Timeout, Version: f.Version, Tell: func(is string) {
					if o.Tell != nil {
						o.Tell(s, is)
					}
				},
			})
			all[i].Tried = ctx.Err() == nil
		})
	}
	running.Wait()
	for i, c := range all {
		if twin, ok := first[servers[i].key()]; ok && c.Not == "" && twin != i {
			c.Attempt, c.Report, c.Tried = all[twin].Attempt, all[twin].Report, all[twin].Tried
		}
	}
	return all
}

// key is equal for servers that are tried and treated alike. Secrets are in it.
func (s *Server) key() string { return fmt.Sprintf("%q %t", s.Real(), s.Wrapped) }

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
func (s *Server) examine(ctx context.Context, m *doctor.Machine, o doctor.ExamineOptions) (upstream.Attempted, doctor.Report) {
	last, report := doctor.Examine(ctx, m, s.Real(), o)
	if report.Healthy && len(report.Steps) > 0 && !s.Wrapped {
		report.Spec = least(ctx, m, s.Real(), report.Spec, o)
	}
	hide := func(texts ...*string) {
		for _, text := range texts {
			*text = s.Hide(*text)
		}
	}
	hideAll := func(d *doctor.Diagnosis) {
		hide(&d.Explanation, &d.Fix)
		for i := range d.Reasons {
			hide(&d.Reasons[i])
		}
		for i := range d.Others {
			hide(&d.Others[i].Explanation, &d.Others[i].Fix)
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
func least(ctx context.Context, m *doctor.Machine, before, healed upstream.Spec, o doctor.ExamineOptions) upstream.Spec {
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

const notAgreed = "it comes with the project, and nobody has agreed to run it"

// untried says why a server is not started or reached.
func (s *Server) untried(foreign bool) string {
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
	case s.Foreign() && !foreign:
		return notAgreed
	case len(s.Waiting) > 0:
		return "only its client can fill in " + fault.Quote(s.Waiting[0])
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
