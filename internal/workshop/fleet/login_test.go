package fleet

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/testonly/logintest"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// A client that connects without gauze does not use gauze's login, so its server is tested without
// it; the advice names both ways to log in. Through gauze run, the login counts.
func TestALoginCountsOnlyForWrappedServers(t *testing.T) {
	t.Setenv("GAUZE_KEYRING", "off")
	state := t.TempDir()
	t.Setenv("GAUZE_STATE_DIR", state)
	s := logintest.New(t, logintest.Config{})
	h := newHome(t)
	h.fleet.Logins = login.Open(state)
	h.write(".cursor/mcp.json", fmt.Sprintf(`{"mcpServers": {
		"plain": {"url": %[1]q}, "again": {"url": %[1]q}, "wrapped": {"command": "/usr/bin/gauze", "args": ["run", "--url", %[1]q]}}}`, s.MCP()))
	verdicts := func(o CheckOptions) map[string]Verdict {
		chosen, err := h.fleet.Look().Choose(Choice{Names: []string{"plain", "again", "wrapped"}})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]Verdict{}
		for _, c := range h.fleet.Check(t.Context(), chosen, o) {
			found[c.Name] = c.Verdict()
			if d := c.Report.Diagnosis; d != nil && !c.Wrapped && !strings.Contains(d.Fix, c.ID()) {
				t.Errorf("%s: %s", c.ID(), d.Fix)
			}
		}
		return found
	}
	want := func(v Verdict, state State, cause, next string) {
		t.Helper()
		if v.State != state || !strings.Contains(v.Cause, cause) || !strings.Contains(v.Next, next) {
			t.Errorf("%+v", v)
		}
	}
	before := verdicts(CheckOptions{})
	want(before["plain"], Broken, "The client connects to it without gauze. Gauze cannot determine whether the client itself is logged in.", "either log in with the client, or ")
	want(before["plain"], Broken, "", "gauze login cursor/plain")
	want(before["again"], Broken, "", "gauze wrap --remote cursor/again`")
	want(before["wrapped"], Broken, launch.LoginMissing, "gauze login cursor/wrapped`")

	if err := login.New(s.MCP(), launch.Login{}, login.Config{Store: h.fleet.Logins}).Login(t.Context(), func(ctx context.Context, p login.Page) error { return s.Browser(ctx, p.Address) }); err != nil {
		t.Fatal(err)
	}
	after := verdicts(CheckOptions{})
	want(after["plain"], Broken, "Gauze is logged in to it, but the client connects without gauze and does not use that login.", ": `gauze wrap --remote cursor/plain`")
	want(after["wrapped"], Works, "4 tools", "")
	want(verdicts(CheckOptions{Logins: true})["plain"], Works, "4 tools", "")
}
