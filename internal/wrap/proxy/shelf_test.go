package proxy

import (
	"slices"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
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

// memory is a Shelf.
type memory map[string]string

func (m memory) Get(whose string) []byte          { return []byte(m[whose]) }
func (m memory) Put(whose string, content []byte) { m[whose] = string(content) }

// What one client listed is known to the user's other commands, but not what another user listed.
func TestRemembered(t *testing.T) {
	const tools = `{"tools":[{"name":"get"}]}`
	spec := launch.Spec{Command: "notes", Args: []string{"-v"}, Dir: "/work", Env: []string{"A=1"}}
	for principal, want := range map[string]string{"": tools, "someone": ""} {
		m, w := memory{}, &words{}
		w.use(spec)
		s := &shelf{m, w.given, principal, w}
		s.Put(s.Whose("initialize", nil, nil), kernel.Portrait{Result: "{}", Lists: map[string]string{"tools/list": tools}})
		if got := string(Remembered(m, launch.Spec{Command: "notes", Args: []string{"-v"}})); got != want {
			t.Errorf("principal %q: %q", principal, got)
		}
		if got := Remembered(m, launch.Spec{Command: "notes"}); len(got) > 0 {
			t.Errorf("another server: %s", got)
		}
	}
}
