package agenttools

import (
	"sync"

	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
)

// offers collects the fixes that the user has not agreed to yet.
type offers struct {
	mu   sync.Mutex
	open []openOffer
}

// openOffer is a fix for a server, which is nil if it is not configured yet.
type openOffer struct {
	server *fleet.Server
	fleet.Offer
}

// agree returns a function that allows the fixes that the user agreed to and collects the others.
func (o *offers) agree(c *call) func(*fleet.Server, fleet.Offer) bool {
	return func(s *fleet.Server, offer fleet.Offer) bool {
		if c.verdict(usesProject...) != trust.Never && c.service.agreed(offer.Thing(s)) {
			return true
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.open = append(o.open, openOffer{s, offer})
		return false
	}
}

// forNew is agree for a server that is not configured yet.
func (o *offers) forNew(c *call) func(fleet.Offer) bool {
	return func(offer fleet.Offer) bool { return o.agree(c)(nil, offer) }
}

// first returns the first fix that the user should be asked about, unless it is not needed.
func (o *offers) first(c *call) (openOffer, bool) {
	if len(o.open) == 0 || c.verdict(usesProject...) == trust.Never {
		return openOffer{}, false
	}
	return o.open[0], true
}

var usesProject = []operation{{trust.Project, trust.Start}}

// confirmOffer asks whether a fix may be tried, and then runs then, which tries it.
func confirmOffer[Out any, P interface {
	*Out
	actionStatus() *ActionStatus
}](c *call, o openOffer, typed string, then func(*call) (Out, error)) (out Out, err error) {
	thing := o.Thing(o.server)
	asked, err := o.Question(o.server)
	if err != nil {
		return out, failure("nothing was done: "+err.Error(), "ask the user to run it in a terminal")
	}
	q := question{title: asked.Title, shown: asked.Shown, full: asked.Whole, hidden: asked.Hides, typed: typed, operations: usesProject, token: thing.Hash()}
	return confirm[Out, P](c, q, func(c *call) (Out, error) {
		c.remember(thing, o.About)
		return then(c)
	})
}
