package authserver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Tool is the tool of a Resource. It has an effect and no hint that would allow to repeat a call.
const Tool = "add"

// scopes are what a token must have.
var scopes = []string{"openid", "profile"}

// Resource is an MCP server that requires a token of a Provider for each request.
type Resource struct {
	URL string

	provider *Provider
	work     time.Duration
	server   *http.Server

	mu       sync.Mutex
	effects  map[string]int
	sessions map[string]int
}

// NewResource starts a server whose tool takes the time work.
func NewResource(p *Provider, work time.Duration) (*Resource, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	origin := "http://" + listener.Addr().String()
	r := &Resource{URL: origin + "/mcp", provider: p, work: work, effects: map[string]int{}, sessions: map[string]int{}}

	server := mcp.NewServer(&mcp.Implementation{Name: "ledger", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: Tool, Description: "Adds an entry to the ledger."}, r.add)
	endpoint := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	const metadata = "/.well-known/oauth-protected-resource/mcp"
	protect := auth.RequireBearerToken(r.verify, &auth.RequireBearerTokenOptions{
		ResourceMetadataURL: origin + metadata, Scopes: scopes, AllowMissingExpiration: true,
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", protect(endpoint))
	mux.Handle(metadata, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: r.URL, AuthorizationServers: []string{p.URL}, ScopesSupported: scopes, BearerMethodsSupported: []string{"header"},
	}))
	r.server = &http.Server{Handler: mux}
	go r.server.Serve(listener)
	return r, nil
}

// Close stops the server.
func (r *Resource) Close() { r.server.Close() }

type entry struct {
	Key string `json:"key"`
}

func (r *Resource) add(ctx context.Context, req *mcp.CallToolRequest, e entry) (*mcp.CallToolResult, any, error) {
	r.mu.Lock()
	r.effects[e.Key]++
	r.sessions[req.Session.ID()]++
	r.mu.Unlock()
	select {
	case <-time.After(r.work):
	case <-ctx.Done():
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "added " + e.Key}}}, nil, nil
}

// Effects returns how often each key was added.
func (r *Resource) Effects() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.effects)
}

// Sessions returns the sessions that called the tool, and how often.
func (r *Resource) Sessions() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.sessions)
}

// verify asks the provider about a token (RFC 7662). The two are in the same data centre: the
// resource server reaches the provider also while clients do not.
func (r *Resource) verify(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, r.provider.URL+"/oauth/introspect", strings.NewReader(url.Values{"token": {token}}.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(resourceID, resourceSecret)
	res := httptest.NewRecorder()
	r.provider.handler.ServeHTTP(res, req)
	if res.Code != http.StatusOK {
		return nil, fmt.Errorf("introspection: status %d: %s", res.Code, res.Body)
	}
	var answer struct {
		Active bool   `json:"active"`
		Scope  string `json:"scope"`
		Sub    string `json:"sub"`
	}
	if err := json.Unmarshal(res.Body.Bytes(), &answer); err != nil {
		return nil, err
	}
	if !answer.Active {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: answer.Sub, Scopes: strings.Fields(answer.Scope)}, nil
}
