package correct

import (
	"slices"
	"strings"
	"time"
)

// Some failures that a tool answers are likely to be over soon: they are about something that the tool
// waits for, and not about the call. The call may then be sent once more as it came, if its tool only
// reads.

const (
	// RepeatPause is how long a call waits before it is sent again.
	RepeatPause = 500 * time.Millisecond
	// callerPatience is how long callers wait for a response, unless more is known about one.
	callerPatience = time.Minute
	// maxTransientText is the length of the longest text that counts as a transient failure, in bytes.
	// Longer text is the output of a tool.
	maxTransientText = 1 << 10
)

// transient reports whether failures of this kind are likely to be over soon.
func (k Kind) transient() bool { return k == Timeout || k == Connection || k == Model }

// Describe words a transient kind.
func (k Kind) Describe() string {
	switch k {
	case Timeout:
		return "a timeout"
	case Connection:
		return "a connection error"
	}
	return "a model error"
}

// Repeats reports whether the policy lets a call be sent again after a failure of a kind.
func (p Policy) Repeats(k Kind) bool {
	return k.transient() && !p.Off && !p.OfferOnly && p.lists(k)
}

// Transient reports whether a call with these arguments failed for a reason that is likely to be over
// soon, and returns the kind of the failure. The text has to say so: the JSON-RPC codes that some
// libraries use for such failures mean anything elsewhere. Words that the caller sent prove nothing.
func Transient(r Rejection, arguments []byte) (Kind, bool) {
	if r.Unsent || len(r.Text) > maxTransientText || strings.Contains(r.Text, sentAgain) {
		return "", false
	}
	says := func(s shape) bool {
		return s.kind.transient() && s.words.MatchString(r.Text) && !s.words.Match(arguments)
	}
	if !slices.ContainsFunc(failures().shapes, says) || failures().Of("lasting").MatchString(r.Text) { // most failures end here
		return "", false
	}
	if kind := Classify(r).Kind; kind.transient() { // another kind may come first
		return kind, true
	}
	return "", false
}

// FitsTwice reports whether a call that took this long may be sent again, if its caller waits for limit
// altogether; 0: that is not known.
func FitsTwice(took, limit time.Duration) bool {
	if limit <= 0 {
		limit = callerPatience
	}
	return 2*took+RepeatPause <= limit
}

// sentAgain is in every note about a call that was sent again, so that another gauze on the way does not
// repeat the call as well.
const sentAgain = "The call was sent again, because its tool is read-only"

// Repeated words that a call was sent again after a failure of a kind, and whether that failed too.
// first is what the first failure says; empty: the same as the second one.
func Repeated(kind Kind, first string, failed bool) string {
	why := "The first attempt failed with " + kind.Describe()
	if first != "" {
		why += ": " + quoted(first)
	}
	if why += ". "; failed {
		why = "The call failed twice. " + why
	}
	if failed {
		return why + sentAgain + ", and this is the second failure."
	}
	return why + sentAgain + ", and this is the second response."
}
