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
	limit  *rate.Limiter

	mu      sync.Mutex
	current *keys // nil before the first fetch
	failure error // of the last fetch
	due     time.Time
	begun   int    // the number of fetches so far
	running *fetch // nil if there is none

	renewing sync.WaitGroup
}

// keys are the keys that one fetch returned.
type keys struct {
	oidc.KeySet
	number int // of that fetch
}

// fetch is a request for keys. Its result may be read when done is closed.
type fetch struct {
	done chan struct{}
	keys *keys
	err  error
}

func newKeySet(i *issuer, now func() time.Time) *keySet {
	return &keySet{issuer: i, now: now, limit: rate.NewLimiter(rate.Every(keyInterval), keyBurst)}
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

// VerifySignature returns the payload of a JWT whose algorithm was checked. The token is invalid
// only if keys do not fit that were fetched after it arrived: its key may be as new as it is. While
// fetches are limited, the newest keys decide.
func (k *keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	known, arrived := k.inUse(ctx)
	for {
		if known != nil {
			payload, err := known.VerifySignature(ctx, jwt)
			switch {
			case err == nil:
				return payload, nil
			case strings.HasPrefix(err.Error(), "fetching keys"):
				return nil, &Unavailable{k.issuer.name, fmt.Errorf("no keys: %w", err)}
			case known.number > arrived:
				return nil, k.invalid()
			}
		}
		next, err := k.newer(ctx, known)
		switch {
		case err != nil:
			return nil, err
		case next == known:
			return nil, k.invalid()
		}
		known = next
	}
}

func (k *keySet) invalid() error {
	return &Invalid{"the token is not signed with a key from " + k.issuer.name}
}

// inUse returns the keys in use and the number of fetches so far. If the keys are old, new ones are
// fetched in the background.
func (k *keySet) inUse(ctx context.Context) (*keys, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.now(); k.current != nil && now.After(k.due) {
		k.due = now.Add(maxKeyAge) // one attempt
		k.renewing.Go(func() {
			k.issuer.read(context.WithoutCancel(ctx)) // the address may have changed
			k.mu.Lock()
			f := k.fetch(ctx)
			k.mu.Unlock()
			<-f.done
		})
	}
	return k.current, k.begun
}

// newer returns newer keys than these, or these if they have just been fetched.
func (k *keySet) newer(ctx context.Context, known *keys) (*keys, error) {
	k.mu.Lock()
	if k.current != known {
		defer k.mu.Unlock()
		return k.current, nil
	}
	f := k.fetch(ctx)
	k.mu.Unlock()
	select {
	case <-f.done:
		return f.keys, f.err
	case <-ctx.Done():
		return nil, &Unavailable{k.issuer.name, errors.New("it did not respond in time")}
	}
}

// fetch returns the fetch that is running, or begins one. The caller holds the lock.
func (k *keySet) fetch(ctx context.Context) *fetch {
	if k.running != nil {
		return k.running
	}
	k.begun++
	f, number := &fetch{done: make(chan struct{})}, k.begun
	k.running = f
	go func() {
		found, err := k.read(context.WithoutCancel(ctx))
		k.mu.Lock()
		defer k.mu.Unlock()
		switch {
		case err == nil:
			k.current, k.due = &keys{found, number}, k.now().Add(maxKeyAge)
			fallthrough
		case !errors.Is(err, errTooSoon):
			k.failure = err
		}
		f.keys, f.err = k.current, k.failure
		k.running = nil
		close(f.done)
	}()
	return f
}

// errTooSoon means that the keys have just been fetched.
var errTooSoon = errors.New("the keys have just been fetched")

// read reads the keys from the issuer.
func (k *keySet) read(ctx context.Context) (oidc.KeySet, error) {
	address, err := k.address(ctx)
	if err != nil {
		return nil, err
	}
	if !k.limit.Allow() {
		return nil, errTooSoon
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	err = k.issuer.get(ctx, address, &set)
	if err == nil && set.Keys == nil {
		err = errors.New("the response is not a set of keys")
	}
	if _, ok := errors.AsType[*Unavailable](err); ok {
		return nil, err
	}
	if err != nil {
		return nil, &Unavailable{k.issuer.name, fmt.Errorf("no keys: %w", err)}
	}
	document, err := json.Marshal(set) // package oidc would also accept Keys
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: fixed(document)}
	return oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), client), address), nil
}

// fixed answers every request with a document. Package oidc reads the keys from it, those with an
// algorithm that it knows: its own fetches would answer a token with keys from before its arrival.
type fixed []byte

func (f fixed) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Header: http.Header{}, Request: r,
		Body: io.NopCloser(bytes.NewReader(f))}, nil
}
