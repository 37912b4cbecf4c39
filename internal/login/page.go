package login

import (
	"context"
	"fmt"
)

// Page is what a person is shown before they log in.
type Page struct {
	Server  string // Server wants the login.
	Issuer  string // Issuer is the authorization server that gives it.
	Address string // Address is where the person logs in. It contains the state of the login, so it is not for a command line.
	Opens   string // Opens is an address of this machine that leads a browser to Address, once.
}

// Who says which server wants the login, and who gives it.
func (p Page) Who() string {
	return fmt.Sprintf("%s asks you to log in at %s.", p.Server, p.Issuer)
}

// Show presents a page to a person. It returns immediately, with an error if the person cannot or does
// not want to open it.
type Show func(ctx context.Context, p Page) error
