package gateway

import (
	"encoding/hex"
	"maps"
	"net/http"

	"github.com/gauze-mcp/gauze/internal/access/bearer"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// account is what one user has at the server: connections and a login of their own. All sessions of
// the user share it.
type account struct {
	remote   *upstream.Remote
	sessions int
}

// OwnLogins reports whether each user has a login of their own at the server: if there may be several,
// the login of one must not be used for the others. Credentials that the operator chose for all, such
// as a header or the login of a program, are used for all.
func (o Options) OwnLogins() bool {
	several := o.OAuth != nil || max(len(o.Tokens), o.Users) > 1
	l := o.Session.Spec.Login
	return several && o.Session.Spec.LogsIn() && l.Mode != launch.LoginShared && l.Grant == ""
}

// accountOf returns the name under which the login of the user who sent a request is stored; empty if
// it is not known who the user is.
func (g *guard) accountOf(r *http.Request, sender principal) string {
	if g.oauth == nil {
		return tokenAccount(string(sender[:]))
	}
	who, _ := r.Context().Value(identityKey{}).(bearer.Identity)
	if who.Person() == "" {
		return ""
	}
	return launch.ClientAccount(who.Person())
}

// tokenAccount is the account of who has a token.
func tokenAccount(principal string) string {
	return launch.ClientAccount("token " + hex.EncodeToString([]byte(principal[:16])))
}

// optionsFor returns the options of a session of the user who sent a request, and a function to call
// when the session has ended. The caller holds t.mu.
func (t *table) optionsFor(r *http.Request, who principal) (o proxy.Options, ended func()) {
	o, ended = t.session, func() {}
	o.Principal = string(who[:])
	if !t.ownLogins {
		return o, ended
	}
	return o, t.useAccount(&o, t.guard.accountOf(r, who))
}

// useAccount makes o those of a session with an account, or without a login if the account has no name, and returns a
// function to call when the session has ended. The caller holds t.mu.
func (t *table) useAccount(o *proxy.Options, name string) (ended func()) {
	if o.Remote = nil; name == "" {
		o.Spec.Login = launch.Login{Mode: launch.LoginOff}
		return func() {}
	}
	o.Spec.Login.Account, o.Spec.Login.Mode = name, launch.LoginAsk // the browser of this machine is the operator's
	a := t.accounts[name]
	if a == nil {
		remote, err := upstream.NewRemote(o.Spec)
		if err != nil {
			return func() {} // the session will report it
		}
		if len(t.accounts) >= t.options.MaxSessions {
			t.forgetUnused()
		}
		a = &account{remote: remote}
		t.accounts[name] = a
	}
	a.sessions++
	o.Remote = a.remote
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		a.sessions--
	}
}

// forgetUnused removes the accounts without sessions. They are kept as long as possible, because they
// know whether their user declined to log in. The caller holds t.mu.
func (t *table) forgetUnused() {
	maps.DeleteFunc(t.accounts, func(_ string, a *account) bool {
		if a.sessions == 0 {
			a.remote.Close()
		}
		return a.sessions == 0
	})
}
