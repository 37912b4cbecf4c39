package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/gauze-mcp/gauze/internal/backup"
	"github.com/gauze-mcp/gauze/internal/gateway"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/login"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// announceLogin reports that clients of different users all act as one user at the server: the login
// of gauze is used for all of them.
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
		who = "the login of the account " + redact.Quote(spec.Login.Account)
	}
	fmt.Fprintf(stderr, "gauze: all clients use %s at %s, with all of its permissions\n", who, redact.Quote(resource))
}
