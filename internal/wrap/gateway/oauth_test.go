package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/gauze-mcp/gauze/internal/access/bearer"
	"github.com/gauze-mcp/gauze/internal/testonly/bearertest"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// protectedFront is a gateway that accepts the access tokens of an issuer.
type protectedFront struct {
	*front
	issuer   *bearertest.Issuer
	resource string
}

// protect starts a gateway in front of faulty servers, or of the one at address.
func protect(t *testing.T, o Options, address string) *protectedFront {
	t.Helper()
	issuer := bearertest.Start("")
	t.Cleanup(issuer.Close)
	return protectBy(t, issuer, o, address)
}

// protectBy is protect with an issuer.
func protectBy(t *testing.T, issuer *bearertest.Issuer, o Options, address string) *protectedFront {
	t.Helper()
	l := listen(t)
	p := &protectedFront{issuer: issuer, resource: "http://" + l.Addr().String() + Path}
	verifier, err := bearer.New(bearer.Config{Issuer: issuer.URL, Audience: p.resource, Scopes: []string{"tools:read", "tools:call"}})
	if err != nil {
		t.Fatal(err)
	}
	o.OAuth = &OAuth{Verifier: verifier, Resource: p.resource}
	o.Session.Spec = launch.Spec{URL: address, Login: o.Session.Spec.Login}
	ledger := filepath.Join(t.TempDir(), "ledger")
	if address == "" {
		path, args, env := faultyserver.Command("-ledger", ledger)
		o.Session.Spec = launch.Spec{Command: path, Args: args, Env: append(os.Environ(), env...)}
	}
	p.front = serveOn(t, o, l)
	p.ledger = ledger
	return p
}

// as returns a client with a new token of a subject and a client ID.
func (p *protectedFront) as(subject, id string) *client {
	return p.client("Authorization", "Bearer "+p.token(map[string]any{"sub": subject, "client_id": id}))
}

func (p *protectedFront) token(changes map[string]any) string {
	return p.issuer.Token(p.issuer.Claims(p.resource, changes))
}

// challenged checks the challenge of a response.
func challenged(t *testing.T, r *http.Response, want map[string]string) {
	t.Helper()
	all, err := oauthex.ParseWWWAuthenticate(r.Header.Values("WWW-Authenticate"))
	if err != nil || len(all) != 1 || all[0].Scheme != "bearer" {
		t.Fatalf("the challenge is %q: %v", r.Header.Values("WWW-Authenticate"), err)
	}
	for name, value := range want {
		if got := all[0].Params[name]; got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
}

func TestOnlyAnAccessTokenOpens(t *testing.T) {
	t.Parallel()
	p := protect(t, quickly(), "")
	valid := p.token(nil)
	location := strings.Replace(p.resource, Path, metadataPath+Path, 1)
	for _, test := range []struct {
		name, head string
		status     int
		code       string
	}{
		{"nothing", "", 401, ""},
		{"no token", "Authorization: Bearer\n", 401, ""},
		{"a different scheme", "Authorization: Basic " + valid + "\n", 401, ""},
		{"DPoP", "Authorization: DPoP " + valid + "\n", 401, ""},
		{"a cookie", "Cookie: access_token=" + valid + "\n", 401, ""},
		{"two headers", "Authorization: Bearer " + valid + "\nAuthorization: Bearer " + valid + "\n", 400, "invalid_request"},
		{"two tokens", "Authorization: Bearer " + valid + ", Bearer " + valid + "\n", 401, "invalid_token"},
		{"a token and a space inside", "Authorization: Bearer " + valid[:20] + " " + valid[20:] + "\n", 401, "invalid_token"},
		{"a token for someone else", "Authorization: Bearer " + p.token(map[string]any{"aud": "https://other.example.com/mcp"}) + "\n", 401, "invalid_token"},
		{"expired", "Authorization: Bearer " + p.token(map[string]any{"exp": 1000}) + "\n", 401, "invalid_token"},
		{"quotes", "Authorization: Bearer \"\\\",scope=\"x\"\n", 401, "invalid_token"},
		{"too little", "Authorization: Bearer " + p.token(map[string]any{"scope": "tools:read"}) + "\n", 403, "insufficient_scope"},
		{"huge", "Authorization: Bearer " + valid + strings.Repeat("A", 40<<10) + "\n", 401, "invalid_token"},
	} {
		for _, text := range []string{to("Host: HOST\n" + test.head), "GET /readyz HTTP/1.1\nHost: HOST\n" + test.head + "\n", "GET /mcp?access_token=" + valid + " HTTP/1.1\nHost: HOST\n" + test.head + "\n"} {
			response := p.rawExchange(crafted{text: text}.wired(p.addr))
			if response == nil || response.StatusCode != test.status {
				t.Errorf("%s: %v", test.name, response)
				continue
			}
			challenged(t, response, map[string]string{"error": test.code, "resource_metadata": location, "scope": "tools:read tools:call"})
			if body, _ := io.ReadAll(response.Body); strings.Contains(string(body)+fmt.Sprint(response.Header), valid) {
				t.Errorf("%s: the token is in the response", test.name)
			}
		}
	}
	if _, began := p.g.Counters(); began != 0 {
		t.Errorf("%d servers were started", began)
	}
	p.client("Authorization", "bearer "+valid).initialize("2025-06-18").call("1", "echo", `{"text":"hello"}`).want(200).result().wantText(t, "hello")
}

func TestTheMetadataOfTheResource(t *testing.T) {
	t.Parallel()
	p := protect(t, quickly(), "")
	for _, test := range []struct {
		request string
		status  int
	}{
		{"GET " + metadataPath, 200},
		{"GET " + metadataPath + "/mcp", 200},
		{"POST " + metadataPath, 405},
		{"GET " + metadataPath + "/", 401},
		{"GET " + metadataPath + "/other", 401},
		{"GET " + metadataPath + "/../../mcp", 401},
		{"GET /.well-known/openid-configuration", 401},
	} {
		response := p.rawExchange(crafted{text: test.request + " HTTP/1.1\nHost: HOST\n\n"}.wired(p.addr))
		if response == nil || response.StatusCode != test.status {
			t.Errorf("%s: %v", test.request, response)
			continue
		}
		if test.status != 200 {
			continue
		}
		var got oauthex.ProtectedResourceMetadata
		if err := json.NewDecoder(response.Body).Decode(&got); err != nil || got.Resource != p.resource ||
			fmt.Sprint(got.AuthorizationServers, got.ScopesSupported) != fmt.Sprint([]string{p.issuer.URL}, []string{"tools:read", "tools:call"}) {
			t.Errorf("%s: %+v, %v", test.request, got, err)
		}
	}
	for _, head := range []string{"Host: evil.example.com\n", "Host: HOST\nOrigin: https://evil.example.com\n"} {
		if response := p.rawExchange(crafted{text: "GET " + metadataPath + " HTTP/1.1\n" + head + "\n"}.wired(p.addr)); response == nil || response.StatusCode != 403 {
			t.Errorf("%q: %v", head, response)
		}
	}
	f := serve(t, quickly())
	if response := f.rawExchange(crafted{text: "GET " + metadataPath + " HTTP/1.1\nHost: HOST\n\n"}.wired(f.addr)); response == nil || response.StatusCode != 404 {
		t.Errorf("without OAuth: %v", response)
	}
}

func TestAnIssuerThatIsDownIsNotTheClientsFault(t *testing.T) {
	t.Parallel()
	p := protect(t, quickly(), "")
	p.issuer.SetDown(true)
	a := p.as("alice", "editor").request("POST", fmt.Sprintf(hello, "2025-06-18")).want(503)
	if body, _ := io.ReadAll(a.Body); a.Header.Get("Retry-After") == "" || a.Header.Get("WWW-Authenticate") != "" || !strings.Contains(string(body), p.issuer.URL) {
		t.Errorf("told %s, with %v", body, a.Header)
	}
	p.client().request("POST", fmt.Sprintf(hello, "2025-06-18")).want(401)
}

func TestASessionBelongsToAPersonAndAClient(t *testing.T) {
	t.Parallel()
	p := protect(t, quickly(), "")
	alice := p.as("alice", "editor").initialize("2025-06-18")
	alice.call("1", "append", `{"key":"a","value":"by alice"}`).want(200).result()
	before := p.executed()
	for _, other := range []*client{p.as("bob", "editor"), p.as("alice", "studio")} {
		other.session = alice.session
		other.call("1", "append", `{"key":"a","value":"by a different user"}`).want(403)
		other.request("GET", "").want(403)
		other.request("DELETE", "").want(403)
		mine, theirs := alice.modernCall("1", "pid", `{}`).want(200).result(), other.modernCall("1", "pid", `{}`).want(200).result()
		if mine.raw == theirs.raw {
			t.Errorf("both use the server %s", mine.raw)
		}
	}
	if after := p.executed(); strings.Contains(strings.TrimPrefix(after, before), "by a different user") {
		t.Errorf("a different user had an effect:\n%s", after)
	}
	// A renewed token is a different one, of the same person.
	again := p.as("alice", "editor")
	again.session, again.headers = alice.session, append(again.headers, versionHeader, "2025-06-18")
	again.call("2", "echo", `{"text":"mine"}`).want(200).result().wantText(t, "mine")
}

func TestNothingOfATokenGoesUpstream(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var received strings.Builder
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	l := listen(t)
	upstream := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		fmt.Fprintln(&received, r.Method, r.RequestURI, r.Header, string(body))
		mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		handler.ServeHTTP(w, r)
	})}
	go upstream.Serve(l)
	t.Cleanup(func() { upstream.Close() })

	p := protect(t, quickly(), "http://"+l.Addr().String()+"/")
	token := p.token(map[string]any{"sub": "alice-the-canary", "client_id": "editor-the-canary"})
	c := p.client("Authorization", "Bearer "+token)
	c.initialize("2025-06-18").call("1", "t", `{}`).want(200).result().wantText(t, "done")
	p.client("Authorization", "Bearer "+token).modernCall("1", "t", `{}`).want(200).result()
	mu.Lock()
	defer mu.Unlock()
	all := received.String()
	if !strings.Contains(all, "tools/call") {
		t.Fatalf("the server received %s", all)
	}
	for _, part := range append(strings.Split(token, "."), "Authorization", "canary", p.issuer.URL) {
		if strings.Contains(all, part) {
			t.Errorf("%q went upstream:\n%s", part, all)
		}
	}
}

// A real client that was given nothing but the URL finds the issuer, logs in and calls a tool.
func TestTheGoSDKLogsIn(t *testing.T) {
	t.Parallel()
	p := protect(t, quickly(), "")
	logins := 0
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		RedirectURL: "http://127.0.0.1:1/callback",
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "t", RedirectURIs: []string{"http://127.0.0.1:1/callback"}, TokenEndpointAuthMethod: "none",
		}},
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			logins++
			browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			response, err := browser.Get(args.URL)
			if err != nil {
				return nil, err
			}
			response.Body.Close()
			back, err := response.Location()
			if err != nil {
				return nil, err
			}
			return &auth.AuthorizationResult{Code: back.Query().Get("code"), State: back.Query().Get("state")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx := patience.Context(t)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).
		Connect(ctx, &mcp.StreamableClientTransport{Endpoint: p.resource, OAuthHandler: handler}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "logged in"}})
	if err != nil || result.IsError || logins != 1 {
		t.Errorf("%v, %+v, %d logins", err, result, logins)
	}
}

func TestUsersDoNotKeepEachOtherOut(t *testing.T) {
	t.Parallel()
	o := quickly()
	o.MaxSessions = 4
	p := protect(t, o, "")
	for range 3 {
		p.as("alice", "editor").initialize("2025-06-18").call("1", "echo", `{"text":"x"}`).want(200).result()
	}
	// A session in use remains.
	bob := p.as("bob", "editor").initialize("2025-06-18")
	bob.request("GET", "").want(200)
	// The table is full, and alice has more than her share, all of them unused.
	carol := p.as("carol", "editor").initialize("2025-06-18")
	carol.call("1", "echo", `{"text":"hello"}`).want(200).result().wantText(t, "hello")
	bob.call("1", "echo", `{"text":"still here"}`).want(200).result().wantText(t, "still here")
	// Clients without sessions count as well.
	for n := range 4 {
		p.as(fmt.Sprint("modern-", n), "editor").modernCall("1", "echo", `{"text":"hello"}`).want(200).result().wantText(t, "hello")
	}
	p.g.table.mu.Lock()
	defer p.g.table.mu.Unlock()
	if n := len(p.g.table.sessions) + len(p.g.table.shared); n > 4 || n != p.g.table.places.used {
		t.Errorf("%d upstreams, %d counted, want at most 4", n, p.g.table.places.used)
	}
}

func TestAnOpenQuotaKeepsAShareForOthers(t *testing.T) {
	t.Parallel()
	q := newOpenQuota(8)
	alice, bob := principal{1}, principal{2}
	n := 0
	for ; q.allows(alice, 1); n++ {
		q.add(alice, 1)
	}
	if n != 6 || !q.allows(bob, 2) || q.allows(bob, 3) {
		t.Errorf("alice has %d of 8", n)
	}
	for who := range byte(20) {
		for q.allows(principal{who}, 1) {
			q.add(principal{who}, 1)
		}
	}
	if q.used != 8 {
		t.Errorf("%d of 8 are in use", q.used)
	}
	for who, n := range q.by {
		q.add(who, -n)
	}
	if q.used != 0 || q.kept != 0 || len(q.by) != 0 {
		t.Errorf("left: %+v", q)
	}
	if q := newOpenQuota(1); !q.allows(alice, 1) || q.allows(alice, 2) {
		t.Error("one place is not given to the first")
	}
}

// A client that listens is disconnected when its token expires, and connects again with a new one. A
// call that began before is answered.
func TestListenersEndWithTheirToken(t *testing.T) {
	t.Parallel()
	p := protect(t, quickly(), "")
	legacy := p.as("ada", "editor").initialize("2025-06-18")
	// listen opens a stream with a token that was issued for a moment, in the leeway for clocks.
	listen := func(open func(header string) *answer) *answer {
		for {
			exp := time.Now().Add(-58 * time.Second).Unix()
			a := open("Bearer " + p.token(map[string]any{"sub": "ada", "client_id": "editor", "exp": exp}))
			if a.Response.StatusCode != http.StatusUnauthorized { // else the machine was too slow for it
				return a.want(200)
			}
		}
	}
	call := listen(func(header string) *answer {
		return legacy.request("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":1},"name":"ask","arguments":{"method":"roots/list"}}}`, "Authorization", header)
	})
	question := call.next()
	stream := listen(func(header string) *answer { return legacy.request("GET", "", "Authorization", header) })
	modern := listen(func(header string) *answer {
		return p.client().modern("7", "subscriptions/listen", listenForTools, "Authorization", header)
	})
	for _, a := range []*answer{stream, modern} {
		if _, err := io.Copy(io.Discard, a.lines); err != nil {
			t.Error("the stream did not end:", err)
		}
	}
	legacy.request("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[]}}`, question.ID)).want(202)
	if m := call.result(); m == nil || m.Error != nil {
		t.Errorf("the call was cut off: %v", m)
	}
	legacy.request("GET", "").want(200)
}
