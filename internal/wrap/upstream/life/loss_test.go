package life

import (
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

func TestLoginCauseNamesTheCommand(t *testing.T) {
	t.Parallel()
	n := &login.Needed{URL: "https://a.example/mcp", Account: "work", Why: "the login has expired", Scopes: []string{"x"}}
	if c := LoginCause(&login.Needed{URL: "https://a.example/mcp", Why: "x", Grant: launch.GrantClient}, nil); strings.Contains(c.Remedy, "gauze login") || !strings.Contains(c.Remedy, "--client-id") {
		t.Errorf("a machine is told to log in: %s", c.Remedy)
	}
	if c := LoginCause(&login.Needed{URL: "https://user:canary@a.example/mcp?t=canary", Why: "x"}, nil); !strings.HasSuffix(c.Remedy, "`gauze login https://a.example/mcp`") {
		t.Errorf("the remedy shows what the URL contains: %s", c.Remedy)
	}
	if c := LoginCause(&login.Needed{URL: "https://a.example/mcp", Why: "x", Next: "set GAUZE_STATE_DIR to a directory that you own"}, nil); c.Remedy != "Set GAUZE_STATE_DIR to a directory that you own." {
		t.Errorf("a login does not help: %s", c.Remedy)
	}
	if c := LoginCause(&login.Needed{URL: "https://a.example/mcp", Why: "x", Next: "remove everything that is not yours from it, then run: chmod 700 /d"}, nil); len(fault.Steps(c.Remedy)) != 1 || fault.Steps(c.Remedy)[0].Command != "chmod 700 /d" {
		t.Errorf("no command to copy: %s", c.Remedy)
	}
	c := LoginCause(n, nil)
	if want := "`gauze login https://a.example/mcp --account work --scope x`"; len(fault.Steps(c.Remedy)) != 1 || "`"+fault.Steps(c.Remedy)[0].Command+"`" != want {
		t.Errorf("%q", c.Remedy)
	}
}

func TestLoginCauseHasNoSecretOfTheURL(t *testing.T) {
	t.Parallel()
	n := &login.Needed{URL: "https://a.example/mcp?api_key=canary", Why: "the login has expired"}
	if c := LoginCause(n, nil); !strings.Contains(c.Remedy, "`gauze login https://a.example/mcp`") {
		t.Errorf("%q", c.Remedy)
	}
}
