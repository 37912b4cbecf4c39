// Package given lets package task use the servers that a program describes by gauze.Options. Only
// package gauze can read those, and what it makes of them is not exported, so it sets the functions
// here when it is initialized.
package given

import (
	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// Session is how a server is run.
type Session struct {
	Options proxy.Options
	Report  func(event.Event) // passes on an event to the program
	Close   func()            // releases what Options hold
}

var (
	// Check returns an error if a gauze.Options cannot be used.
	Check func(options any) error
	// Open returns the session of a valid gauze.Options.
	Open func(options any) (Session, error)
)
