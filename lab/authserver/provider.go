package authserver

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

// ClientID is the public client that is registered for loopback addresses with any port and the path
// /callback.
const ClientID = "gauze-test"

// The user of the provider.
const (
	Username = "test-user@127.0.0.1"
	Password = "verysecure"
	userID   = "id1"
)

// The resource server authenticates with these to ask about tokens.
const (
	resourceID     = "resource-server"
	resourceSecret = "known-to-the-resource-server"
)

// TokenPath is the path of the token endpoint.
const TokenPath = "/oauth/token"

// Provider is an authorization server.
type Provider struct {
	URL string // URL is the issuer.

	handler   http.Handler
	ledger    *ledger
	address   string
	server    *http.Server
	intercept atomic.Pointer[Interceptor]
}

// Interceptor gets a request before the provider and calls next to let it through.
type Interceptor func(w http.ResponseWriter, r *http.Request, next http.Handler)

// NewProvider starts a provider. Its responses have expiresIn, unless it is 0, but access tokens are
// valid until a renewal or RevokeAccess: a busy machine may be late to use them.
func NewProvider(expiresIn time.Duration) (*Provider, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Provider{address: listener.Addr().String()}
	p.URL = "http://" + p.address
	p.ledger = &ledger{
		Storage: storage.NewStorageWithClients(storage.NewUserStore(p.URL), map[string]*storage.Client{
			ClientID:   storage.NativeClient(ClientID, "http://127.0.0.1/callback", "http://localhost/callback"),
			resourceID: storage.WebClient(resourceID, resourceSecret),
		}),
		expiresIn: expiresIn, valid: map[string]bool{}, spent: map[string]bool{},
	}
	p.handler = exampleop.SetupServer(p.URL, p.ledger, slog.New(slog.DiscardHandler), false)
	p.listen(listener)
	return p, nil
}

// Start makes a stopped provider reachable again, at the same address and with all it knew.
func (p *Provider) Start() error {
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		return err
	}
	p.listen(listener)
	return nil
}

func (p *Provider) listen(l net.Listener) {
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve)}
	go p.server.Serve(l)
}

// Stop makes the provider unreachable: connections are closed and new ones refused.
func (p *Provider) Stop() { p.server.Close() }

// Intercept makes requests pass through i; nil ends that.
func (p *Provider) Intercept(i Interceptor) {
	if i == nil {
		p.intercept.Store(nil)
		return
	}
	p.intercept.Store(&i)
}

func (p *Provider) serve(w http.ResponseWriter, r *http.Request) {
	if i := p.intercept.Load(); i != nil {
		(*i)(w, r, p.handler)
		return
	}
	p.handler.ServeHTTP(w, r)
}

// Counts returns what the provider did so far.
func (p *Provider) Counts() Counts {
	p.ledger.mu.Lock()
	defer p.ledger.mu.Unlock()
	return p.ledger.counts
}

// RevokeAccess makes every access token invalid, as if it had expired. Refresh tokens stay valid.
func (p *Provider) RevokeAccess() { p.ledger.revoke() }

// EndLogin makes every token of the user invalid, refresh tokens included.
func (p *Provider) EndLogin() error {
	return p.ledger.TerminateSession(context.Background(), userID, ClientID)
}
