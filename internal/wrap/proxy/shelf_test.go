package proxy

import (
	"slices"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Each session of gauze connect has an environment of its own, but the lists of its servers are
// remembered.
func TestAccount(t *testing.T) {
	same := func(a, b launch.Spec) bool { return slices.Equal(account(a), account(b)) }
	spec := func(env []string, set ...string) launch.Spec {
		return launch.Spec{Command: "notes", Args: []string{"-v"}, Dir: "/work", Env: env, Others: set}
	}
	base := spec([]string{"HOME=/home/me", "TERM_SESSION_ID=1"})
	if other := spec([]string{"SHLVL=2", "TERM_SESSION_ID=2", "HOME=/home/me"}); !same(base, other) {
		t.Error("a different terminal has a different account")
	}
	secret := func(key string) launch.Spec {
		return spec([]string{"HOME=/home/me", "NOTES_API_KEY=" + key})
	}
	another := base
	another.Dir = "/other"
	for name, pair := range map[string][2]launch.Spec{
		"a secret":                 {base, secret("kZ3n0Qw9xT7vL2mB8rHs")},
		"another secret":           {secret("9fQ2zRw7bX4kVn8mTs1L"), secret("kZ3n0Qw9xT7vL2mB8rHs")},
		"a variable of the entry":  {base, spec(base.Env, "MODE=read")},
		"another value of the one": {spec(base.Env, "MODE=write"), spec(base.Env, "MODE=read")},
		"another directory":        {base, another},
	} {
		if same(pair[0], pair[1]) {
			t.Errorf("%s is not part of the account", name)
		}
	}
}
