package kernel

import (
	"net/http"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// What becomes of a call that was lost is decided here, for the end of a connection and for one
// HTTP exchange alike. Everything in this file is pure.

// lossKind says how much was lost.
type lossKind uint8

const (
	connectionLost lossKind = iota // the process died, or the session with a URL ended
	exchangeLost                   // one HTTP request; the others go on
)

// lostCall is what a decision needs to know of the call.
type lostCall struct {
	class      Class
	method     string
	deaths     int  // losses after which it may have run, this one included
	proven     int  // losses before this one after which it had provably not run
	laterWrite bool // a call that may write was sent after it
	lastDeath  bool // it was in flight as well when the connection before this one ended
}

// lossPolicy is what a decision needs to know of the session.
type lossPolicy struct {
	quarantine bool // calls that were in flight at two deaths in a row are barred
	budget     bool // the budget has a repetition left
	inTime     bool // a repetition would be sent before the caller's time is over
	settled    bool // the era is known: a handshake has succeeded
	closing    bool
	login      bool // a person can be asked to log in, and the call may wait for that
}

// action is what becomes of a lost call.
type action uint8

const (
	answerFault    action = iota // it is answered with the fault of the verdict
	repeatCall                   // it is sent again
	refuseDiscover               // the client is told to initialize: the server is a legacy one
	awaitLogin                   // it did not run, and waits for a login
	awaitDoctor                  // the server rejects what it is asked first; the call waits for a different one
)

// verdict is a decision about one lost call.
type verdict struct {
	action action
	code   fault.Code // of answerFault
	bar    bool       // the call is quarantined, whether or not it was to be repeated
	spends bool       // the repetition is taken from the budget
}

// decide returns what becomes of a call that was lost.
//
// Quarantine applies to the end of a connection only. A single exchange is lost by the network more
// often than by the call, and identical reads would bar each other.
func decide(c lostCall, kind lossKind, loss upstream.Loss, p lossPolicy) verdict {
	if kind == exchangeLost && loss.OfLogin() {
		return decideLogin(c, loss, p)
	}
	again, why := mayRepeat(c, kind, loss)
	if kind == exchangeLost {
		why = exchangeFault(c, loss)
	}
	bar := p.quarantine && c.lastDeath && mayHaveKilled(c.method, kind, loss)
	spends := loss.Delivery == fault.Unknown && c.class != Start
	switch again = again && !loss.Final; {
	case !again:
	case !p.inTime:
		again = false
		if why == fault.ReplayExhausted {
			why = fault.CallTimeout // the attempts are not used up
		}
	case bar:
		again, why = false, fault.CallQuarantined
	case spends && !p.budget:
		again, why = false, fault.RetryBudgetSpent
	case p.closing:
		again, why = false, fault.Stopping
	}
	first, turnedAway := !p.settled, loss.Delivery == fault.Unsent || loss.Delivery == fault.Refused
	switch {
	case first && c.method == "server/discover" && (kind == connectionLost && c.deaths > 1 || kind == exchangeLost && !again):
		// Some legacy servers exit on server/discover, others reject it in any form.
		return verdict{action: refuseDiscover}
	case again:
		return verdict{action: repeatCall, spends: spends}
	case first && kind == exchangeLost && (c.class == Start || turnedAway && c.class.Reads()):
		return verdict{action: awaitDoctor}
	}
	return verdict{action: answerFault, code: why, bar: bar}
}

// decideLogin returns what becomes of a call that was rejected for lack of a valid login. Neither the
// doctor nor a different transport helps. If the server has seen the call, it may have acted and passed
// on that a third party rejects the token; only a 403 that names the permissions it lacks is the server's own.
func decideLogin(c lostCall, loss upstream.Loss, p lossPolicy) verdict {
	harmless := loss.Delivery == fault.Unsent || c.class != Unsafe && !(c.class == Idempotent && c.laterWrite) ||
		loss.Status == http.StatusForbidden // the protocol's own way to ask for more permissions
	if loss.Login != nil && p.login && !p.closing && harmless {
		return verdict{action: awaitLogin}
	}
	return verdict{action: answerFault, code: loss.Code}
}

// mayHaveKilled reports whether the call may be what ended the connection.
func mayHaveKilled(method string, kind lossKind, loss upstream.Loss) bool {
	return kind == connectionLost && method == "tools/call" && loss.MayHaveKilled()
}

const (
	maxProvenRepeats = 2 // of a call that was provably not read
	maxReadRepeats   = 2 // of a read that was: three attempts in all
)

// mayRepeat is the only licence to send a call again after it was lost. How it was delivered is
// measured, never assumed. If the answer is no, code says why.
func mayRepeat(c lostCall, kind lossKind, loss upstream.Loss) (ok bool, code fault.Code) {
	if upstream.Seeded("replay-everything") {
		return true, ""
	}
	switch {
	case c.class == Start && kind == connectionLost:
		return true, "" // how often is up to the restart rules
	case c.class == Start:
		return c.deaths+c.proven <= maxReadRepeats || warmingUp[loss.Status], ""
	case loss.Delivery == fault.Unsent:
		// It did not happen, whatever it is.
		return c.proven < maxProvenRepeats, fault.ReplayExhausted
	}
	switch c.class {
	case Reads, ReadOnly:
		if loss.Session {
			return c.deaths <= maxReadRepeats, fault.HTTPRefused
		}
		return c.deaths <= maxReadRepeats, fault.ReplayExhausted
	case Idempotent:
		// Idempotent is not commutative: set(x,1) after set(x,2) reverts it.
		return !c.laterWrite && c.deaths <= maxReadRepeats, fault.OutcomeUnknown
	default:
		return false, fault.OutcomeUnknown
	}
}

// warmingUp has the statuses of a gateway whose server is still starting.
var warmingUp = map[int]bool{http.StatusBadGateway: true, http.StatusServiceUnavailable: true, http.StatusGatewayTimeout: true}

// exchangeFault is the fault of a call that is not sent again after its exchange was lost.
func exchangeFault(c lostCall, loss upstream.Loss) fault.Code {
	explained := loss.Code == fault.AnswerMissing || loss.Status == http.StatusServiceUnavailable
	switch {
	case loss.Session && c.class.writes():
		return fault.OutcomeUnknown
	case loss.Final, loss.Delivery != fault.Unknown:
		return loss.Code
	case c.class.writes() && !explained:
		return fault.OutcomeUnknown
	case loss.Code == fault.OutcomeUnknown:
		return fault.ReplayExhausted // it only reads: nothing is unknown, the attempts are used up
	}
	return loss.Code
}
