package bearer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/time/rate"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

const (
	// maxKeyAge is how long keys are used before they are fetched again: a key that the issuer
	// removed must not be accepted for longer. If the issuer cannot be reached, they remain in use.
	maxKeyAge = 10 * time.Minute
	// keyInterval and keyBurst limit how often keys are fetched. Anyone can send a token with an
	// unknown key.
	keyInterval = 5 * time.Second
	keyBurst    = 5
)

// keySet has the keys of an issuer. A token with an unknown key makes it fetch them again.
type keySet struct {
	issuer *issuer
	now    func() time.Time
	fetch  *fetcher

	mu      sync.Mutex
	current *oidc.RemoteKeySet
	due     time.Time // when the keys are fetched again

	renewing sync.WaitGroup
}

func newKeySet(i *issuer, now func() time.Time) *keySet {
	return &keySet{issuer: i, now: now, fetch: &fetcher{transport: i.transport, limit: rate.NewLimiter(rate.Every(keyInterval), keyBurst)}}
}

// address returns where the keys are.
func (k *keySet) address(ctx context.Context) (string, error) {
	found, err := k.issuer.metadata(ctx)
	if err != nil {
		return "", err
	}
	if found.JWKSURI == "" {
		return "", errors.New("its metadata has no jwks_uri: gauze cannot get keys to validate tokens; use --oauth-introspect")
	}
	return found.JWKSURI, nil
}

// VerifySignature returns the payload of a JWT whose algorithm was checked.
func (k *keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	keys, err := k.keys(ctx, jwt)
	if err != nil {
		return nil, err
	}
	payload, err := keys.VerifySignature(ctx, jwt)
	switch {
	case err == nil:
		return payload, nil
	case k.fetchFailed(err):
		return nil, &Unavailable{k.issuer.name, fmt.Errorf("no keys: %w", err)}
	}
	return nil, &Invalid{"the token is not signed with a key from " + k.issuer.name}
}

// keys returns the keys in use. If they are old it also fetches new ones, in the background.
func (k *keySet) keys(ctx context.Context, jwt string) (*oidc.RemoteKeySet, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current == nil {
		k.mu.Unlock()
		address, err := k.address(ctx)
		k.mu.Lock()
		if err != nil {
			return nil, err
		}
		if k.current == nil {
			k.current, k.due = k.at(address), k.now().Add(maxKeyAge)
		}
	}
	if now := k.now(); now.After(k.due) {
		k.due = now.Add(maxKeyAge) // one attempt
		k.renewing.Go(func() { k.renew(context.WithoutCancel(ctx), jwt) })
	}
	return k.current, nil
}

// at returns the key set at an address.
func (k *keySet) at(address string) *oidc.RemoteKeySet {
	return oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), newClient(k.fetch)), address)
}

// renew replaces the keys if the issuer can be reached. A new key set fetches its keys for the first
// token, whichever it is.
func (k *keySet) renew(ctx context.Context, jwt string) {
	k.issuer.read(ctx) // the address may have changed
	address, err := k.address(ctx)
	if err != nil {
		return
	}
	next := k.at(address)
	if _, err := next.VerifySignature(ctx, jwt); err != nil && (k.fetchFailed(err) || errors.Is(err, errTooSoon)) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.current = next
}

// fetchFailed reports whether an error of a RemoteKeySet is about the issuer, not about the token.
func (k *keySet) fetchFailed(err error) bool {
	return strings.HasPrefix(err.Error(), "fetching keys") && !errors.Is(err, errTooSoon)
}

// errTooSoon means that the keys have just been fetched.
var errTooSoon = errors.New("the keys have just been fetched")

// fetcher fetches key sets: rarely, and only what can be one.
type fetcher struct {
	transport http.RoundTripper
	limit     *rate.Limiter

	mu   sync.Mutex
	last error // of the last request
}

func (f *fetcher) RoundTrip(r *http.Request) (*http.Response, error) {
	if !f.limit.Allow() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.last != nil {
			return nil, f.last
		}
		return nil, errTooSoon
	}
	response, err := f.fetchDocument(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = err
	return response, err
}

// fetchDocument returns a response of status 200 with a JSON object, completely read.
func (f *fetcher) fetchDocument(r *http.Request) (*http.Response, error) {
	response, err := f.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it responded with %s", response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the response was cut off: %w", err)
	case len(body) > maxDocument:
		return nil, fmt.Errorf("the response is larger than %d bytes", maxDocument)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if wire.DecodeExact(body, &set) != nil || set.Keys == nil {
		return nil, errors.New("the response is not a set of keys")
	}
	body, err = json.Marshal(set) // package oidc would also accept Keys
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, err
}
