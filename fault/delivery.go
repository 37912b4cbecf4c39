package fault

import "slices"

// Delivery is how far a request got. It is measured where the bytes are written and never guessed.
type Delivery int

// How far a request got.
const (
	Unsent   Delivery = iota // the server did not receive the whole request, so it had no effect
	Unknown                  // the server may have received the request, and it may have taken effect
	Answered                 // the server answered the request
	Refused                  // the server rejected the request with an HTTP status; it most likely had no effect
)

// parseDelivery is the reverse of String.
func parseDelivery(word string) Delivery {
	all := []Delivery{Unsent, Unknown, Answered, Refused}
	if i := slices.IndexFunc(all, func(d Delivery) bool { return d.String() == word }); i >= 0 {
		return all[i]
	}
	return Unknown
}

// String returns the delivery as one word.
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
