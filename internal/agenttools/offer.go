package agenttools

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"github.com/gauze-mcp/gauze/internal/fleet"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/trust"
)

// offers collects the fixes that the user has not agreed to yet.
type offers struct {
	mu   sync.Mutex
	open []fleet.Offer
}

// agree returns a function that allows the fixes that the user agreed to and collects the others.
func (o *offers) agree(c *call) func(fleet.Offer) bool {
	return func(offer fleet.Offer) bool {
		if c.verdict(usesProject...) != trust.Never && c.service.agreed(offer.Spec) {
			return true
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.open = append(o.open, offer)
		return false
	}
}

// first returns the first fix that the user should be asked about, unless it is not needed.
func (o *offers) first(c *call) (fleet.Offer, bool) {
	if len(o.open) == 0 || c.verdict(usesProject...) == trust.Never {
		return fleet.Offer{}, false
	}
	return o.open[0], true
}

var usesProject = []operation{{trust.Project, trust.Start}}

// confirmOffer asks whether a fix may be tried, and then runs then, which tries it.
func confirmOffer[Out any, P interface {
	*Out
	actionStatus() *ActionStatus
}](c *call, o fleet.Offer, typed string, then func(*call) (Out, error)) (Out, error) {
	sum := sha256.Sum256([]byte("offer " + o.Spec.Fingerprint()))
	q := question{typed: typed, operations: usesProject, token: hex.EncodeToString(sum[:])[:32]}
	q.title, q.shown = o.Question()
	return confirm[Out, P](c, q, func(c *call) (Out, error) {
		c.service.approve([]launch.Spec{o.Spec})
		return then(c)
	})
}
