package gauze

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"

	"golang.org/x/oauth2"

	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// remote returns how the options reach their URL, or nil if that needs nothing but the URL.
func (o Options) remote() (*upstream.Remote, error) {
	if o.HTTPClient == nil && o.HeaderFunc == nil && o.OAuthHandler == nil {
		return nil, nil
	}
	access := upstream.Access{Client: o.HTTPClient}
	if o.HeaderFunc != nil || o.OAuthHandler != nil {
		access.Header = o.header
	}
	if o.OAuthHandler != nil {
		access.Authorize = (&authorizer{options: o}).authorize
	}
	return upstream.NewRemoteVia(o.spec(), access)
}

// header returns the headers that are determined for each request.
func (o Options) header(ctx context.Context) (http.Header, error) {
	header := http.Header{}
	if o.HeaderFunc != nil {
		given, err := o.HeaderFunc(ctx)
		if err != nil {
			return nil, fmt.Errorf("Options.HeaderFunc: %w", err)
		}
		maps.Copy(header, given)
	}
	if o.OAuthHandler != nil {
		token, err := o.token(ctx)
		if err != nil {
			return nil, fmt.Errorf("Options.OAuthHandler: %w", err)
		}
		if token != "" {
			header.Set("Authorization", "Bearer "+token)
		}
	}
	return header, nil
}

// token returns the current access token, or nothing if there is none yet.
func (o Options) token(ctx context.Context) (string, error) {
	source, err := o.OAuthHandler.TokenSource(ctx)
	if err != nil || source == nil {
		return "", err
	}
	token, err := source.Token()
	var retrieve *oauth2.RetrieveError
	if errors.As(err, &retrieve) && retrieve.ErrorCode == "invalid_grant" {
		return "", nil // The refresh token expired. The request is answered with 401, and Authorize gets a new one.
	}
	if err != nil || token == nil {
		return "", err
	}
	return token.AccessToken, nil
}

// authorizer calls OAuthHandler.Authorize for one request at a time, so that requests that are
// rejected together do not ask the user several times.
type authorizer struct {
	options Options
	mu      sync.Mutex
}

func (a *authorizer) authorize(ctx context.Context, req *http.Request, res *http.Response) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if token, err := a.options.token(ctx); err == nil && token != "" && req.Header.Get("Authorization") != "Bearer "+token {
		return nil // Another request was authorized meanwhile.
	}
	return a.options.OAuthHandler.Authorize(ctx, req, res)
}
