package gauze_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
)

const accessToken = "token-9f8e7d6c5b4a"

// website starts a server at a URL.
func website(t *testing.T, c faultyhttp.Config) *faultyhttp.Server {
	t.Helper()
	server := faultyhttp.New(c)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server
}

// echo calls the server and checks its response.
func echo(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "append", Arguments: map[string]any{"key": "echo"}})
	if err != nil || result.IsError {
		t.Fatalf("%v, %+v", err, result)
	}
}

func TestHeaderFuncIsAskedForEveryRequest(t *testing.T) {
	server := website(t, faultyhttp.Config{Token: accessToken})
	var asked atomic.Int32
	session := connect(t, newTransport(t, gauze.Options{URL: server.URL(), HeaderFunc: func(context.Context) (http.Header, error) {
		asked.Add(1)
		return http.Header{"authorization": {"Bearer " + accessToken}}, nil
	}}))
	before := asked.Load()
	echo(t, session)
	if asked.Load() <= before {
		t.Error("HeaderFunc was not asked for a later request")
	}
}

func TestARequestIsNotSentIfHeaderFuncFails(t *testing.T) {
	server := website(t, faultyhttp.Config{})
	var fail atomic.Bool
	session := connect(t, newTransport(t, gauze.Options{URL: server.URL(), Patience: 1, HeaderFunc: func(context.Context) (http.Header, error) {
		if fail.Load() {
			return nil, errors.New("no token today")
		}
		return nil, nil
	}}))
	fail.Store(true)
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "append", Arguments: map[string]any{"key": "k"}})
	fail.Store(false)
	if err != nil {
		t.Fatal(err)
	}
	if f := gauze.FaultOf(result); f == nil || f.Delivery != fault.Unsent || !strings.Contains(f.Detail, "Options.HeaderFunc: no token today") {
		t.Errorf("%+v", f)
	}
	if n := server.Effects()["k"]; n != 0 {
		t.Errorf("the call ran %d times", n)
	}
}

// oauth is an OAuthHandler that has a token once Authorize was called.
type oauth struct {
	mu         sync.Mutex
	token      string
	authorized int
	fail       error
}

func (o *oauth) TokenSource(context.Context) (oauth2.TokenSource, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.token == "" {
		return nil, nil
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: o.token}), nil
}

func (o *oauth) Authorize(_ context.Context, req *http.Request, res *http.Response) error {
	defer res.Body.Close()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.authorized++
	if res.StatusCode != http.StatusUnauthorized || req.URL == nil {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	if o.fail == nil {
		o.token = accessToken
	}
	return o.fail
}

func TestOAuthHandlerAuthorizesOnce(t *testing.T) {
	server := website(t, faultyhttp.Config{Token: accessToken})
	handler := &oauth{}
	session := connect(t, newTransport(t, gauze.Options{URL: server.URL(), OAuthHandler: handler}))
	echo(t, session)
	if handler.authorized != 1 {
		t.Errorf("authorized %d times, want 1", handler.authorized)
	}
}

func TestAFailedAuthorizationIsReported(t *testing.T) {
	server := website(t, faultyhttp.Config{Token: accessToken})
	handler := &oauth{fail: errors.New("the user closed the window")}
	_, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), newTransport(t, gauze.Options{URL: server.URL(), OAuthHandler: handler}), nil)
	if f := gauze.FaultOf(err); f == nil || f.Code != fault.AuthRequired || !strings.Contains(f.Detail, "the user closed the window") {
		t.Errorf("%v: %+v", err, f)
	}
}

// roundTripper is a function as an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestHTTPClientSendsTheRequests(t *testing.T) {
	server := website(t, faultyhttp.Config{Token: accessToken})
	var sent atomic.Int32
	client := &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		sent.Add(1)
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+accessToken)
		return http.DefaultTransport.RoundTrip(req)
	})}
	session := connect(t, newTransport(t, gauze.Options{URL: server.URL(), HTTPClient: client}))
	echo(t, session)
	if sent.Load() < 2 {
		t.Errorf("the client sent %d requests", sent.Load())
	}
	if client.CheckRedirect != nil {
		t.Error("the caller's client was changed")
	}
}

// A transport that reads the whole body before it connects hides when the request is written. Gauze
// must not take such a call for unsent and send it again.
func TestACallThroughABufferingHTTPClientRunsAtMostOnce(t *testing.T) {
	server := website(t, faultyhttp.Config{})
	client := &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Body != nil {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			req.Body.Close()
			req = req.Clone(req.Context())
			req.Body, req.GetBody = io.NopCloser(bytes.NewReader(body)), nil
		}
		return http.DefaultTransport.RoundTrip(req)
	})}
	session := connect(t, newTransport(t, gauze.Options{URL: server.URL(), HTTPClient: client}))
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "append",
		Arguments: map[string]any{"key": "k", "fault": string(faultyhttp.RSTAfterEffect), "times": 1}})
	if err != nil {
		t.Fatal(err)
	}
	if f := gauze.FaultOf(result); f == nil || f.Code != fault.OutcomeUnknown {
		t.Errorf("%+v", f)
	}
	if n := server.Effects()["k"]; n != 1 {
		t.Errorf("the call ran %d times", n)
	}
}

// A server that repeats the token in its error page does not make gauze show it.
func TestATokenOfHeaderFuncIsNotShown(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, "bad key ", req.Header.Get("X-Key"))
	}))
	defer web.Close()
	const key = "zq81-plain-words-only"
	_, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), newTransport(t, gauze.Options{URL: web.URL, HeaderFunc: func(context.Context) (http.Header, error) {
			return http.Header{"X-Key": {key}}, nil
		}}), nil)
	if err == nil || !strings.Contains(err.Error(), "bad key") || strings.Contains(fmt.Sprintf("%v %+v", err, gauze.FaultOf(err)), key) {
		t.Errorf("%v", err)
	}
}

func TestAClosedSessionLeavesNoConnectionOpen(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	web := httptest.NewUnstartedServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	changes := make(chan int, 1000)
	web.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			changes <- 1
		case http.StateClosed, http.StateHijacked:
			changes <- -1
		}
	}
	web.Start()
	defer web.Close()
	session := connect(t, newTransport(t, gauze.Options{URL: web.URL, HeaderFunc: func(context.Context) (http.Header, error) { return nil, nil }}))
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 80*time.Second) // an idle connection is kept for 90 s
	defer cancel()
	open := 0
	for len(changes) > 0 || open > 0 {
		select {
		case change := <-changes:
			open += change
		case <-ctx.Done():
			t.Fatalf("%d connections are open", open)
		}
	}
}

func TestARejectedTokenOfHeaderFuncIsNotReportedAsMissing(t *testing.T) {
	server := website(t, faultyhttp.Config{Token: accessToken})
	_, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), newTransport(t, gauze.Options{URL: server.URL(), HeaderFunc: func(context.Context) (http.Header, error) {
			return http.Header{"Authorization": {"Bearer expired"}}, nil
		}}), nil)
	if f := gauze.FaultOf(err); f == nil || f.Code != fault.AuthRequired || strings.Contains(f.Detail, "no credential") || !strings.Contains(f.Detail, "Authorization") {
		t.Errorf("%v: %+v", err, f)
	}
}

// A transport in tests often returns responses that do not name their request.
func TestAnHTTPClientNeedNotSetTheRequestOfAResponse(t *testing.T) {
	server := website(t, faultyhttp.Config{Token: accessToken})
	client := &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		res, err := http.DefaultTransport.RoundTrip(req)
		if res != nil {
			res.Request = nil
		}
		return res, err
	})}
	handler := &oauth{}
	session := connect(t, newTransport(t, gauze.Options{URL: server.URL(), OAuthHandler: handler, HTTPClient: client}))
	echo(t, session)
	if handler.authorized != 1 {
		t.Errorf("authorized %d times, want 1", handler.authorized)
	}
	_, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), newTransport(t, gauze.Options{URL: server.URL(), HTTPClient: client}), nil)
	if f := gauze.FaultOf(err); f == nil || f.Code != fault.AuthRequired {
		t.Errorf("%v", err)
	}
}
