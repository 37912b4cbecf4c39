package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// checkLogins rejects the flags for a login of the operator's own if each client has one of its own.
func checkLogins(front *gateway.Options) error {
	flag := ""
	switch l := front.Session.Spec.Login; {
	case !front.OwnLogins():
	case l.Mode == launch.LoginAuto:
		flag = "--login auto"
	case l.Account != "":
		flag = "--account"
	}
	if flag == "" {
		return nil
	}
	return fmt.Errorf("%s is for your own login, but the clients are different users, each with their own login; to use yours for all of them: --login shared", flag)
}

// announceLogin reports that clients of different users all act as one user at the server, because
// the login of the operator is used for all of them, or that it is not used.
func announceLogin(stderr io.Writer, spec launch.Spec, front *gateway.Options) {
	if !spec.LogsIn() || front.OAuth == nil && len(front.Tokens) == 1 {
		return
	}
	dir, err := backup.StateDir()
	if err != nil {
		return
	}
	resource := login.Resource(spec.URL)
	found, err := login.Open(dir).Find(resource, spec.Login.Account)
	if errors.Is(err, login.ErrNone) || found.Ended != "" {
		return
	}
	who := "your login"
	switch {
	case found.Who != "":
		who = "the login of " + redact.Quote(found.Who)
	case spec.Login.Account != "":
		who = "the login for the account " + redact.Quote(spec.Login.Account)
	}
	if front.OwnLogins() {
		fmt.Fprintf(stderr, "gauze: %s at %s is not used: each client has its own login; to use this one for all of them: --login shared\n", who, redact.Quote(resource))
		return
	}
	fmt.Fprintf(stderr, "gauze: all clients use %s at %s, with all of its permissions\n", who, redact.Quote(resource))
}
