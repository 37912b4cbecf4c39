package login

import (
	"context"
	"fmt"
	"strings"
)

// Page is what a person is shown before they log in.
type Page struct {
	Server  string  // wants the login
	Issuer  string  // the authorization server that gives it
	Address string  // where the person logs in. It contains the state of the login, so it is not for a command line.
	Doubts  []Doubt // what the person must agree to
	Opens   string  // an address of this machine that leads a browser to Address, once
}

// Who says which server wants the login, and who gives it.
func (p Page) Who() string {
	return fmt.Sprintf("%s asks you to log in at %s.", shown(p.Server), p.Issuer)
}

// Unanswered says what a person would have to agree to, and how. It is shown uncut.
type Unanswered string

func (u Unanswered) Error() string { return string(u) }

// Warning returns what the person must agree to, as one text.
func (p Page) Warning() string {
	var says []string
	for _, d := range p.Doubts {
		says = append(says, d.Says)
	}
	return strings.Join(says, " ")
}

// Flags returns the arguments of gauze login with which the person agrees to all doubts.
func (p Page) Flags() (words []string) {
	for _, d := range p.Doubts {
		words = append(words, d.Flag...)
	}
	return words
}

// Show presents a page to a person. It returns an error if the person cannot or does not want to open
// it. Without doubts it returns immediately; with doubts, when the person has agreed to them.
type Show func(ctx context.Context, p Page) error
