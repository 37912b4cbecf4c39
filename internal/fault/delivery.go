package fault

// Delivery is how far a request got. It is measured where the bytes are written and never guessed.
type Delivery int

const (
	Unsent   Delivery = iota // the server provably did not see the whole request: it had no effect
	Unknown                  // the server may have seen it: it may or may not have had an effect
	Answered                 // the server answered it
	// The server received it and answered with an HTTP status of rejection: it most likely did not
	// run, but a status proves nothing.
	Refused
)

func (d Delivery) String() string {
	switch d {
	case Unsent:
		return "unsent"
	case Answered:
		return "answered"
	case Refused:
		return "refused"
	}
	// Any other value is a bug in gauze, and unknown is the safe answer.
	return "unknown"
}
