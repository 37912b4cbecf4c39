package web

import (
	"errors"
	"testing"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// A person is asked again soon after a login only if the server accepted it in between, and once.
func TestLoginSoonAfterALogin(t *testing.T) {
	t.Setenv("GAUZE_STATE_DIR", t.TempDir())
	l := newLogins(launch.Spec{URL: "http://127.0.0.1:1/mcp"}, &Remote{})
	needed := &login.Needed{}
	end := func(err error) {
		t.Helper()
		if !l.MayAsk(needed) {
			t.Fatal("a person may not be asked")
		}
		l.mu.Lock()
		l.remember("", err)
		l.mu.Unlock()
	}
	end(nil)
	if l.MayAsk(needed) {
		t.Error("asked again although the server did not accept the login")
	}
	l.works.Store(true)
	end(nil)
	l.works.Store(true)
	if l.MayAsk(needed) {
		t.Error("asked three times within a minute")
	}

	l = newLogins(launch.Spec{URL: "http://127.0.0.1:1/mcp"}, &Remote{})
	end(errors.New("declined"))
	l.works.Store(true)
	if l.MayAsk(needed) {
		t.Error("asked again after the person declined")
	}
	if _, begun := l.Begin(&login.Needed{Scopes: []string{"write"}}); !begun {
		t.Error("not asked for other scopes")
	}
}
