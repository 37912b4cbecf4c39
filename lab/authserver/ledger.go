package authserver

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// ledger is the provider's storage. It revokes access tokens, detects refresh tokens that are used
// twice, and counts.
type ledger struct {
	*storage.Storage
	expiresIn time.Duration // in responses, with an access token

	mu     sync.Mutex
	valid  map[string]bool // access tokens, by id
	spent  map[string]bool // refresh tokens that were exchanged
	counts Counts
}

// Counts is what a Provider did.
type Counts struct {
	Logins    int // codes exchanged for tokens
	Renewals  int // refresh tokens exchanged for tokens
	UsedTwice int // requests with a refresh token that was exchanged before
	Rejected  int // access tokens found invalid by a resource server
}

// CreateAccessAndRefreshTokens issues tokens for a code or a refresh token.
func (l *ledger) CreateAccessAndRefreshTokens(ctx context.Context, request op.TokenRequest, refresh string) (id, next string, expires time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spent[refresh] { // by a request at the same time
		return "", "", time.Time{}, l.reused(ctx)
	}
	id, next, _, err = l.Storage.CreateAccessAndRefreshTokens(ctx, request, refresh)
	if err != nil {
		return "", "", time.Time{}, err
	}
	if refresh == "" {
		l.counts.Logins++
	} else {
		l.counts.Renewals++
		l.spent[refresh] = true
	}
	l.valid[id] = true
	// The response has whole seconds, rounded down a moment later: nothing if that is less than one.
	return id, next, time.Now().Add(l.expiresIn + 900*time.Millisecond), nil
}

// TokenRequestByRefreshToken looks up a refresh token. One that was exchanged before ends the login,
// because it may have been stolen.
func (l *ledger) TokenRequestByRefreshToken(ctx context.Context, token string) (op.RefreshTokenRequest, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spent[token] {
		return nil, l.reused(ctx)
	}
	return l.Storage.TokenRequestByRefreshToken(ctx, token)
}

// reused records that a refresh token was used twice and ends the login. l.mu is held.
func (l *ledger) reused(ctx context.Context) error {
	l.counts.UsedTwice++
	return errors.Join(oidc.ErrInvalidGrant(), l.Storage.TerminateSession(ctx, userID, ClientID))
}

// SetIntrospectionFromToken answers a resource server that asks about an access token.
func (l *ledger) SetIntrospectionFromToken(ctx context.Context, response *oidc.IntrospectionResponse, tokenID, subject, _ string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := errors.New("the token was revoked")
	if l.valid[tokenID] {
		err = l.Storage.SetIntrospectionFromToken(ctx, response, tokenID, subject, ClientID)
	}
	if err != nil {
		l.counts.Rejected++
	}
	return err
}

// revoke makes every access token invalid. Refresh tokens stay valid.
func (l *ledger) revoke() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.valid)
}
