package fault

import "strings"

// Advice is what the caller can do about a [Fault].
type Advice string

// What the caller can do.
const (
	RetryNow    Advice = "retry-now"    // repeat the request; that is harmless
	RetryLater  Advice = "retry-later"  // repeat the request later; it had no effect
	VerifyFirst Advice = "verify-first" // check whether the request took effect before repeating it
	ChangeCall  Advice = "change-call"  // change the request; repeated unchanged, it fails again
	TellUser    Advice = "tell-user"    // tell the user; no request helps
)

// Advice returns what to do next. It is the catalogue's advice for the code, corrected by what is
// known about this request: one that may have taken effect is never to be repeated without a check,
// and one that did not needs no check.
func (f *Fault) Advice() Advice {
	if f.advice != "" {
		return f.advice
	}
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

// mayHaveActed reports whether repeating the request could have an effect twice.
func (f *Fault) mayHaveActed() bool {
	return f.Delivery != Unsent && !f.Safe && !harmlessByNature(f.Method)
}

// harmlessByNature reports whether method is a request of the protocol itself that only reads, or
// has the same effect when repeated. Any other method may have effects.
func harmlessByNature(method string) bool {
	switch method {
	case "initialize", "server/discover", "ping", "resources/read", "prompts/get", "completion/complete", "tasks/get",
		"logging/setLevel", "resources/subscribe", "resources/unsubscribe", "subscriptions/listen", "tasks/cancel":
		return true
	}
	return strings.HasSuffix(method, "/list")
}
