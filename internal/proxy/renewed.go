package proxy

import (
	"bytes"

	"github.com/gauze-mcp/gauze/internal/correct"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/repair"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// Some servers check the token while a tool runs, and say in its result that the token is not valid.
// The next request then renews the login. The call itself is sent again only if it reads.

// noteRenewal is added to the answer of a call that failed because of the token.
const noteRenewal = fault.ModelMark + "] The server does not accept the access token of the login any more. Gauze renews the login before the next call. " +
	"This call was not sent again, because its tool may write. If the error means that it did not run, send it again."

// repeatRenewed handles a result that says that the token is not valid. It returns true if the call
// is sent again. The caller holds the lock.
func (s *Session) repeatRenewed(c *call, m *wire.Message, said response) bool {
	if !s.logins.LoggedIn() || c.msg.Method != "tools/call" || c.own != nil || c.doubted || c.conn != s.conn {
		return false
	}
	text, claimed := said.all, false
	if !said.failed {
		if text, claimed = claimedText(m); !claimed {
			return false
		}
	}
	arguments, _ := wire.Field(c.msg.Params, "arguments")
	if !correct.RejectsToken(text, claimed, arguments) || !s.logins.Doubt() {
		return false
	}
	c.doubted = true
	switch {
	case claimed: // a result that claims success is never changed
	case s.classNow(c).reads() && !inDialogue(c) && !s.closing:
		if c.failed.IsZero() {
			c.failed = c.conn.LastHeard()
		}
		s.move(c, queued)
		s.transmit(c, s.conn)
		s.later(s.conn.Flush)
		return true
	case repair.Mode(s.Tools[c.tool].repairMode(s.Repair)) != repair.ModeOff:
		c.note = noteRenewal
	}
	return false
}

// claimedText returns the text of a result that claims success, if it is short enough to be an error.
func claimedText(m *wire.Message) (text string, ok bool) {
	if len(m.Result) > 2*maxClaimedLen || !bytes.Contains(m.Result, []byte("401")) && !bytes.Contains(m.Result, []byte("token")) {
		return "", false
	}
	content, _ := wire.Field(m.Result, "content")
	return textOf(content)
}
