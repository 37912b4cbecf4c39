package bearer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
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
	// renewalPause is how long keys are used after new ones could not be fetched.
	renewalPause = 30 * time.Second
)

// keySet has the keys of an issuer. A token with an unknown key makes it fetch them again.
type keySet struct {
	issuer *issuer
	now    func() time.Time
	limit  *rate.Limiter

	mu      sync.Mutex
	current *keys     // nil before the first fetch
	failure error     // of the last fetch
	due     time.Time // when they are fetched again
	begun   int       // the number of fetches so far
	running *fetch    // nil if there is none

	renewing sync.WaitGroup
}

// keys are the keys that one fetch returned.
type keys struct {
	all    []jose.JSONWebKey
	number int // of that fetch
}

// payload returns what a token contains, if one of the keys has signed it.
func (k *keys) payload(token *jose.JSONWebSignature) (payload []byte, ok bool) {
	id := token.Signatures[0].Header.KeyID
	for i := range k.all {
		if key := &k.all[i]; id == "" || key.KeyID == id {
			if payload, err := token.Verify(key); err == nil {
				return payload, true
			}
		}
	}
	return nil, false
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

// payload returns what a token contains. The token is invalid only if keys do not fit that were fetched after
// it arrived: its key may be as new as it is. While fetches are limited, the newest keys decide.
func (k *keySet) payload(ctx context.Context, token *jose.JSONWebSignature) ([]byte, error) {
	known, arrived := k.inUse(ctx)
	for {
		if known != nil {
			if payload, ok := known.payload(token); ok {
				return payload, nil
			}
			if known.number > arrived {
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
		k.due = now.Add(renewalPause)
		k.renewing.Go(func() { k.renew(context.WithoutCancel(ctx)) })
	}
	return k.current, k.begun
}

// renew fetches new keys, perhaps from a new address.
func (k *keySet) renew(ctx context.Context) {
	k.issuer.read(ctx)
	k.mu.Lock()
	old, f := k.current, k.fetch(ctx)
	k.mu.Unlock()
	<-f.done
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current != old {
		k.due = k.now().Add(maxKeyAge)
	}
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
			if k.current = (&keys{found, number}); k.due.IsZero() {
				k.due = k.now().Add(maxKeyAge) // from now on only renew moves it, which also reads the metadata
			}
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

// read reads the keys from the issuer. A key that cannot be used is ignored (RFC 7517, section 5).
func (k *keySet) read(ctx context.Context) ([]jose.JSONWebKey, error) {
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
	err = k.issuer.get(ctx, address, keyTypes, &set)
	if _, down := errors.AsType[*Unavailable](err); down {
		return nil, err
	}
	var usable []jose.JSONWebKey
	for _, text := range set.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(text, &key) == nil {
			usable = append(usable, key)
		}
	}
	switch {
	case err == nil && set.Keys == nil:
		err = errors.New("the response is not a set of keys")
	case err == nil && len(usable) == 0 && len(set.Keys) > 0:
		err = errors.New("none of the keys can be used")
	}
	if err != nil {
		return nil, &Unavailable{k.issuer.name, fmt.Errorf("no keys: %w", err)}
	}
	return usable, nil
}

// keyTypes are the content types of a set of keys.
const keyTypes = "application/jwk-set+json, application/json;q=0.9, */*;q=0.1"
