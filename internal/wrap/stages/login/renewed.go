package login

import (
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/correct"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Some servers check the token while a tool runs, and say in its result that the token is not valid.
// The next request then renews the login. The call itself is sent again only if it reads.

// noteRenewal is added to the answer of a call that failed because of the token.
const noteRenewal = fault.ModelMark + "] The server no longer accepts the login's access token. Gauze will renew the login before the next call. " +
	"This call was not sent again, because the tool may have written something. If the error shows that the call did not run, send it again."

// maxClaimedLen is the length of the longest result that claims success and may be an error.
const maxClaimedLen = 800

// Attends reports whether a result that claims success may say that the token is not valid.
func (s *Stage) Attends(m *wire.Message) bool {
	return s.logins.Load().LoggedIn() && len(m.Result) <= maxClaimedLen
}

// Respond handles a result that says that the token is not valid.
func (s *Stage) Respond(c *kernel.Call, r *kernel.Response) kernel.Ruling {
	logins := s.logins.Load()
	if !logins.LoggedIn() {
		return kernel.Pass
	}
	text, claimed := r.All, false
	if !r.Failed {
		if text, claimed = r.Claimed(maxClaimedLen, "401", "token"); !claimed {
			return kernel.Pass
		}
	}
	facts := s.Kernel.Facts(c)
	if past(c).doubted || !facts.Current || !correct.RejectsToken(text, claimed, c.Arguments()) || !logins.Doubt() {
		return kernel.Pass
	}
	past(c).doubted = true
	switch {
	case claimed: // a result that claims success is never changed
	case facts.Reads && !c.InDialogue() && !facts.Closing:
		return kernel.Again
	case s.Mode(c.Tool()) != repair.ModeOff:
		past(c).note = noteRenewal
	}
	return kernel.Pass
}

// Add says that the login is renewed before the next call.
func (s *Stage) Add(c *kernel.Call, r *kernel.Response, added *kernel.Addition) {
	if h := historyOf.Of(c); h != nil && r.Message != nil && added.Explanation == "" {
		added.Explanation = h.note
	}
}
