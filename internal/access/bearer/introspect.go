package bearer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	answerTTL     = 30 * time.Second // how long a revoked token may still be accepted
	maxAnswers    = 4096             // kept at the same time
	maxQuestions  = 16               // asked at the same time: anyone can send a token that was never issued
	basicMethod   = "client_secret_basic"
	postingMethod = "client_secret_post"
)

// introspect asks the issuer about a token. A token that is not active has no claims.
func (v *Verifier) introspect(ctx context.Context, token string) (c claims, err error) {
	found, err := v.issuer.metadata(ctx)
	if err != nil {
		return c, err
	}
	if found.IntrospectionEndpoint == "" {
		return c, errors.New("its metadata has no introspection_endpoint; omit --oauth-introspect if its tokens are JWTs")
	}
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	methods := found.IntrospectionMethods
	post := slices.Contains(methods, postingMethod) && !slices.Contains(methods, basicMethod)
	if post {
		form.Set("client_id", v.Introspection.ID)
		form.Set("client_secret", v.Introspection.Secret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, found.IntrospectionEndpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return c, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if !post {
		r.SetBasicAuth(url.QueryEscape(v.Introspection.ID), url.QueryEscape(v.Introspection.Secret)) // RFC 6749, section 2.3.1
	}
	err = v.issuer.send(r, &c)
	if status, ok := errors.AsType[*statusError](err); ok && (status.code == http.StatusUnauthorized || status.code == http.StatusForbidden) {
		return c, fmt.Errorf("it rejected the client ID or secret that gauze uses to introspect tokens: %w", err)
	}
	return c, err
}

// answers remembers for a short time what the issuer said about tokens, by their hashes.
type answers struct {
	asking chan struct{} // has an element for each question in flight

	mu  sync.Mutex
	all map[[sha256.Size]byte]*answer
}

// answer is what the issuer said about one token.
type answer struct {
	known  chan struct{} // closed when the rest is set
	claims claims
	err    error
	until  time.Time // zero until it is known
}

func newAnswers() *answers {
	return &answers{asking: make(chan struct{}, maxQuestions), all: map[[sha256.Size]byte]*answer{}}
}

// about returns the claims of an active token. Requests with the same token wait for one question.
func (s *answers) about(ctx context.Context, token string, now func() time.Time, ask func(context.Context, string) (claims, error)) (claims, error) {
	key := sha256.Sum256([]byte(token))
	s.mu.Lock()
	a := s.all[key]
	if a == nil || !a.until.IsZero() && !now().Before(a.until) {
		if !s.makeRoom(now()) {
			s.mu.Unlock()
			return claims{}, errors.New("too many tokens are being introspected")
		}
		a = &answer{known: make(chan struct{})}
		s.all[key] = a
		go s.ask(context.WithoutCancel(ctx), a, key, token, now, ask)
	}
	s.mu.Unlock()
	select {
	case <-a.known:
		return a.claims, a.err
	case <-ctx.Done():
		return claims{}, ctx.Err()
	}
}

// ask asks one question and keeps the answer: not beyond the expiry of the token, and not if there
// was none.
func (s *answers) ask(ctx context.Context, a *answer, key [sha256.Size]byte, token string, now func() time.Time, ask func(context.Context, string) (claims, error)) {
	s.asking <- struct{}{}
	c, err := ask(ctx, token)
	<-s.asking
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(a.known)
	a.until = now().Add(answerTTL)
	switch {
	case err != nil:
		a.err = err
		if s.all[key] == a {
			delete(s.all, key)
		}
	case !c.Active:
		a.err = &Invalid{"the token has expired, was revoked, or was not issued by this authorization server"}
	default:
		a.claims = c
		if c.Expires != nil && c.Expires.Before(a.until) {
			a.until = c.Expires.Time
		}
	}
}

// makeRoom removes what is no longer valid if there are many answers, and others if that is not
// enough. It returns false if all are still being asked for. The caller holds s.mu.
func (s *answers) makeRoom(now time.Time) bool {
	if len(s.all) < maxAnswers {
		return true
	}
	for key, a := range s.all {
		if !a.until.IsZero() && !now.Before(a.until) {
			delete(s.all, key)
		}
	}
	for key, a := range s.all {
		if len(s.all) < maxAnswers {
			return true
		}
		if !a.until.IsZero() {
			delete(s.all, key)
		}
	}
	return len(s.all) < maxAnswers
}
