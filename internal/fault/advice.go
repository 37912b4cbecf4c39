package fault

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
	advice := f.entry().Retry
	harmless := f.Delivery == Unsent || f.Safe
	switch advice {
	case RetryNow, RetryLater:
		if !harmless {
			return VerifyFirst
		}
	case VerifyFirst:
		if f.Delivery == Unsent {
			return RetryLater
		}
		if f.Safe {
			return RetryNow
		}
	}
	return advice
}
