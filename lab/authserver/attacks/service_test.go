package attacks

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolName is the tool of every service. Its argument says who calls it.
const toolName = "whoami"

// service is an MCP server that requires tokens.
type service struct {
	world     *world
	url       string
	owner     func(token string) string // owner returns who a token belongs to; empty if it is not accepted.
	meta      map[string]any            // meta is its metadata.
	challenge string                    // challenge is its WWW-Authenticate header.
	lazy      bool                      // lazy: only calls require a token.
	handler   http.Handler              // handler serves what has a valid token.
}

// newService adds a service of a provider.
func (w *world) newService(address, issuer string, owner func(token string) string) *service {
	metadata := originOf(address) + "/.well-known/oauth-protected-resource" + pathOf(address)
	s := &service{
		world: w, url: address, owner: owner,
		meta:      map[string]any{"resource": address, "authorization_servers": []string{issuer}},
		challenge: `Bearer resource_metadata="` + metadata + `"`,
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "service", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: toolName, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, s.whoami)
	s.handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{DisableLocalhostProtection: true})
	w.at(metadata, func(rw http.ResponseWriter, _ *http.Request) { respond(rw, 200, s.meta) })
	w.at(address, s.serve)
	return s
}

// names makes the service name other authorization servers.
func (s *service) names(issuers ...string) { s.meta["authorization_servers"] = issuers }

func (s *service) serve(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	open := s.lazy && !bytes.Contains(body, []byte(`"tools/call"`))
	if !open && s.owner(bearer(r.Header)) == "" {
		rw.Header().Set("WWW-Authenticate", s.challenge)
		rw.WriteHeader(http.StatusUnauthorized)
		return
	}
	s.handler.ServeHTTP(rw, r)
}

// bearer returns the token of a request.
func bearer(h http.Header) string { return strings.TrimPrefix(h.Get("Authorization"), "Bearer ") }

type caller struct {
	From string `json:"from"`
}

// whoami returns who the token of a call belongs to. It must be the person who called.
func (s *service) whoami(_ context.Context, r *mcp.CallToolRequest, c caller) (*mcp.CallToolResult, any, error) {
	owner := s.owner(bearer(r.Extra.Header))
	if s.world.people[owner] != nil && owner != c.From {
		s.world.fail("a call of %s was sent to %s with the login of %s", c.From, s.url, owner)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "you are " + owner}}}, nil, nil
}
