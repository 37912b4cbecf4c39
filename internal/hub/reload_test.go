package hub

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/testonly/logintest"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// pinned makes tokens those of every file.
func pinned(tokens *map[string]string) func(*upfile.File) (map[string]string, error) {
	return func(*upfile.File) (map[string]string, error) { return *tokens, nil }
}

// A new session needs the hub while its gateway is locked, and a change of tokens needs the gateway.
func TestAReloadAndNewSessionsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	f := file(t, faulty(t, "one"))
	tokens := map[string]string{}
	h, base := serveHTTP(t, Options{Pinned: pinned(&tokens), Front: gateway.Options{Drain: -1, MaxSessions: 10_000}}, f)
	ctx, stop := context.WithCancel(t.Context())
	var opening sync.WaitGroup
	for range 4 {
		opening.Go(func() {
			for ctx.Err() == nil {
				(&web{t: t, url: base + "/mcp"}).open()
			}
		})
	}
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		for range 300 {
			if err := h.Change(f); err != nil {
				t.Error(err)
			}
		}
	}()
	select {
	case <-changed:
	case <-time.After(patience.Limit()):
		t.Fatal("a reload and new sessions wait for each other")
	}
	stop()
	opening.Wait()
}

func TestAClientWhoseTokenIsRemovedHearsNothingMore(t *testing.T) {
	t.Parallel()
	const removed, stays = "token-that-is-removed-1234567890", "token-that-stays-1234567890"
	f := file(t, faulty(t, "one"))
	tokens := map[string]string{removed: "", stays: ""}
	h, base := serveHTTP(t, Options{Pinned: pinned(&tokens), Front: gateway.Options{Drain: -1}}, f)
	listen := func(path, token string) (ended chan struct{}) {
		c := &web{t: t, url: base + path, token: token}
		c.open()
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, nil)
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Mcp-Session-Id", c.id)
		response, err := http.DefaultClient.Do(r)
		if err != nil || response.StatusCode != 200 {
			t.Fatal(response, err)
		}
		ended = make(chan struct{})
		go func() {
			defer close(ended)
			defer response.Body.Close()
			io.Copy(io.Discard, response.Body)
		}()
		return ended
	}
	gone := []chan struct{}{listen("/mcp", removed), listen("/mcp/one", removed)}
	other := listen("/mcp", stays)
	tokens = map[string]string{stays: ""}
	if err := h.Change(f); err != nil {
		t.Fatal(err)
	}
	for _, ended := range gone {
		select {
		case <-ended:
		case <-time.After(patience.Limit()):
			t.Error("a client whose token was removed still listens")
		}
	}
	select {
	case <-other:
		t.Error("the stream of a token that stays has ended")
	default:
	}
}

// A server that runs with the variable of a token that a new file names starts again without it, for all its clients.
func TestANewTokenIsTakenFromServers(t *testing.T) {
	t.Setenv("TEST_TOKEN", "token-of-a-new-file")
	one := faulty(t, "one")
	h, base := serveHTTP(t, Options{Front: gateway.Options{Drain: -1}}, file(t, one))
	clients := map[string]*web{"one__env": {t: t, url: base + "/mcp"}, "env": {t: t, url: base + "/mcp/one"}}
	for tool, client := range clients {
		client.open()
		if got := client.call(tool); !strings.Contains(got, "TEST_TOKEN=token-of-a-new-file") {
			t.Fatalf("%s before: %s", client.url, got)
		}
	}
	if err := h.Change(file(t, one, "tokens: {ci: {env: TEST_TOKEN}}\n")); err != nil {
		t.Fatal(err)
	}
	for tool, client := range clients {
		if got := client.call(tool); !strings.Contains(got, "GAUZE_TEST_KEY=one") || strings.Contains(got, "token-of-a-new-file") {
			t.Errorf("%s after: %s", client.url, got)
		}
	}
}

// As with gauze serve, and although only one of the tokens is accepted at the address of the server.
func TestEachTokenHasALoginOfItsOwn(t *testing.T) {
	t.Setenv("GAUZE_STATE_DIR", t.TempDir())
	t.Setenv("GAUZE_KEYRING", "off")
	as := logintest.New(t, logintest.Config{})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	source := login.New(as.MCP(), launch.Login{}, login.Config{Client: client})
	err := source.Login(t.Context(), func(ctx context.Context, p login.Page) error {
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, p.Address, nil)
		r.Header.Set(logintest.PersonHeader, "the operator")
		go func() {
			if response, err := client.Do(r); err == nil {
				response.Body.Close()
			}
		}()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const general, profile = "token-of-everything-1234567890", "token-of-a-profile-1234567890"
	for _, c := range []struct {
		entry  string
		tokens map[string]string
		token  string
		path   string
		is     bool
	}{
		{"", nil, general, "/mcp", true}, // there is only the operator
		{"", map[string]string{profile: "look"}, profile, "/mcp/p/look", false},
		{"", map[string]string{profile: "look"}, profile, "/mcp", false},
		{"", map[string]string{profile: "look"}, general, "/mcp", false},
		{"", map[string]string{profile: "look"}, general, "/mcp/one", false},
		{", login: {mode: shared}", map[string]string{profile: "look"}, profile, "/mcp", true},
	} {
		f := file(t, fmt.Sprintf("  one: {url: %q%s}\n", as.MCP(), c.entry), "profiles:\n  look: {servers: [one]}\n")
		_, base := serveHTTP(t, Options{Pinned: pinned(&c.tokens), Front: gateway.Options{Tokens: []string{general}, Drain: -1}}, f)
		client := &web{t: t, url: base + c.path, token: c.token}
		client.open()
		tool := "one__whoami"
		if c.path == "/mcp/one" {
			tool = "whoami"
		}
		if got := client.call(tool); strings.Contains(got, "you are the operator") != c.is {
			t.Errorf("%s with %s: %s", c.path, c.token, got)
		}
	}
}
