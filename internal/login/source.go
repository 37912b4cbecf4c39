package login

import (
	"context"
	"net/http"

	"github.com/gauze-mcp/gauze/internal/launch"
)

// Source provides the token for the requests to one server. It is safe for concurrent use.
type Source struct {
	url     string
	options launch.Login
	config  Config
}

// Config is what a Source works with. The zero value is the default of each.
type Config struct {
	Store  *Store       // Store has the logins; default: that of the user's state directory.
	Client *http.Client // Client sends the requests to authorization servers, guarded (guard.go); default: one of its own.
	// Renewed is called when this process renewed a login, or found that it has ended. It must not
	// block.
	Renewed func(Status)
}

// New returns the source for the server at url. It does nothing until a request is sent.
func New(url string, o launch.Login, c Config) *Source {
	return &Source{url: url, options: o, config: c}
}

// Header returns the Authorization header for one request, renewing the token if it is about to
// expire; nothing if there is no login. It never asks a person, and an error to renew is not an error
// while the token may still be valid.
func (s *Source) Header(ctx context.Context) (http.Header, error) { return nil, nil }

// Authorize handles a response of status 401 or 403. It returns nil if the request can be sent
// again with a different token: a newer one in the store, or a renewed one. It returns *Needed if a
// person has to log in. Requests that are rejected together wait for one renewal.
func (s *Source) Authorize(ctx context.Context, req *http.Request, res *http.Response) error {
	return &Needed{URL: s.url}
}

// Doubt makes the next request renew the token first: the server said in a result that it is not
// valid.
func (s *Source) Doubt() {}

// Show presents the address at which a person logs in. It returns immediately, with an error if the
// person cannot or does not want to open it.
type Show func(ctx context.Context, address string) error

// Changed returns a channel that is closed when there may be a login that the last rejected request
// did not have, such as one that gauze login stored. It costs nothing while nobody waits.
func (s *Source) Changed(ctx context.Context) <-chan struct{} { return nil }

// Options returns how the login was configured.
func (s *Source) Options() launch.Login { return s.options }

// Needed means that a person has to log in.
type Needed struct {
	URL     string
	Account string
	Why     string   // Why is a clause such as "the login expired and could not be renewed".
	Scopes  []string // Scopes are what the server requires beyond those granted.
}

func (n *Needed) Error() string { return "a login is required: " + n.Why }
