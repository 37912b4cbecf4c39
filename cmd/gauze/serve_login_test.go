package main

import (
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

func TestServeTellsWhoseLoginAllClientsUse(t *testing.T) {
	state := t.TempDir()
	t.Setenv("GAUZE_STATE_DIR", state)
	t.Setenv("GAUZE_KEYRING", "off")
	const address = "https://mcp.example.com/mcp"
	put := func(account, who, ended string) {
		err := login.Open(state).Put(login.Login{Key: login.Key{Resource: login.Resource(address), Issuer: "https://auth.example.com", Account: account},
			Who: who, Ended: ended, Access: "the-canary", Refresh: "the-canary", Began: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
	}
	put("", "alice@example.com", "")
	put("work", "", "")
	put("old", "alice@example.com", "it was revoked")
	one, several := gateway.Options{Tokens: []string{"a"}}, gateway.Options{Tokens: []string{"a", "b"}}
	shared, program := launch.Login{Mode: launch.LoginShared}, launch.Login{Grant: launch.GrantClient}
	for _, test := range []struct {
		name  string
		spec  launch.Spec
		front gateway.Options
		want  string
	}{
		{"several tokens", launch.Spec{URL: address, Login: shared}, several, "all clients use the login of alice@example.com at " + address},
		{"several tokens, not shared", launch.Spec{URL: address}, several, "the login of alice@example.com at " + address + " is not used"},
		{"a program", launch.Spec{URL: address, Login: program}, several, "all clients use the login of alice@example.com"},
		{"users of an issuer", launch.Spec{URL: address, Login: shared}, gateway.Options{OAuth: &gateway.OAuth{}}, "the login of alice@example.com"},
		{"no token", launch.Spec{URL: address}, gateway.Options{}, "the login of alice@example.com"},
		{"an account", launch.Spec{URL: address, Login: launch.Login{Account: "work", Mode: launch.LoginShared}}, several, "the login for the account work"},
		{"one token", launch.Spec{URL: address}, one, ""},
		{"an ended login", launch.Spec{URL: address, Login: launch.Login{Account: "old"}}, several, ""},
		{"no login", launch.Spec{URL: "https://other.example.com/mcp"}, several, ""},
		{"logins are off", launch.Spec{URL: address, Login: launch.Login{Mode: launch.LoginOff}}, several, ""},
		{"a credential of its own", launch.Spec{URL: address, Header: []launch.Header{{Name: "authorization", Value: "x"}}}, several, ""},
		{"a command", launch.Spec{Command: "true"}, several, ""},
	} {
		var out strings.Builder
		test.front.Session.Spec = test.spec
		announceLogin(&out, test.spec, &test.front)
		if got := out.String(); (test.want == "") != (got == "") || !strings.Contains(got, test.want) || strings.Contains(got, "canary") {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestServeRejectsALoginOfOneUserForAll(t *testing.T) {
	several := gateway.Options{Tokens: []string{"a", "b"}}
	users := gateway.Options{OAuth: &gateway.OAuth{}}
	one := gateway.Options{Tokens: []string{"a"}}
	for _, test := range []struct {
		front gateway.Options
		login launch.Login
		want  string
	}{
		{several, launch.Login{Mode: launch.LoginAuto}, "--login auto"},
		{users, launch.Login{Mode: launch.LoginAuto}, "--login auto"},
		{users, launch.Login{Account: "work"}, "--account"},
		{users, launch.Login{Account: "work", Mode: launch.LoginShared}, ""},
		{users, launch.Login{Account: "work", Mode: launch.LoginOff}, ""},
		{users, launch.Login{Grant: launch.GrantClient, Account: "work"}, ""},
		{users, launch.Login{}, ""},
		{one, launch.Login{Mode: launch.LoginAuto, Account: "work"}, ""},
		{gateway.Options{}, launch.Login{Mode: launch.LoginAuto}, ""},
	} {
		test.front.Session.Spec = launch.Spec{URL: "https://mcp.example.com/mcp", Login: test.login}
		err := checkLogins(&test.front)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test.login, err)
		}
	}
}

func TestOnlyServeSharesALogin(t *testing.T) {
	for mayShare, want := range map[bool]string{true: "", false: "must be ask, auto or off"} {
		f := loginFlags{Login: launch.Login{Mode: launch.LoginShared}, mayShare: mayShare}
		if _, err := f.login(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", mayShare, err)
		}
	}
}
