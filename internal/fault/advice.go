package fault

import "strings"

// Advice is what the caller may do next, in one word a program can act on.
type Advice string

const (
	RetryNow    Advice = "retry-now"    // repeating it does no harm
	RetryLater  Advice = "retry-later"  // it had no effect; try again when the server is back
	VerifyFirst Advice = "verify-first" // it may have had its effect: look before repeating
	ChangeCall  Advice = "change-call"  // the same call would fail the same way
	TellUser    Advice = "tell-user"    // no call helps: a person has to act
)

// Advice corrects what the catalogue advises for the code by what is known of this very request: nothing that may
// have taken effect is ever advised to be repeated unseen, and nothing that did not needs checking.
func (f *Fault) Advice() Advice {
	e := f.entry()
	if f.Delivery == Unsent && e.heldRetry != "" {
		return e.heldRetry
	}
	switch e.Retry {
	case RetryNow, RetryLater:
		if f.mayHaveActed() {
			return VerifyFirst
		}
	case VerifyFirst:
		if f.Delivery == Unsent {
			return RetryLater
		}
		if !f.mayHaveActed() {
			return RetryNow
		}
	}
	return e.Retry
}

// mayHaveActed says whether a repetition could do something twice.
func (f *Fault) mayHaveActed() bool {
	return f.Delivery != Unsent && !f.Safe && !harmlessByNature(f.Method)
}

// harmlessByNature are the requests of the protocol itself that read, or that do the same when done twice. Everything
// else, and a method that nobody knows, may act.
func harmlessByNature(method string) bool {
	switch method {
	case "initialize", "server/discover", "ping", "resources/read", "prompts/get", "completion/complete", "tasks/get",
		"logging/setLevel", "resources/subscribe", "resources/unsubscribe", "subscriptions/listen", "tasks/cancel":
		return true
	}
	return strings.HasSuffix(method, "/list")
}
