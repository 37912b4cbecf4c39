package life

import (
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Loss describes how a request ended without a response while the connection continues.
type Loss struct {
	Delivery fault.Delivery
	Code     fault.Code    // the reason
	Detail   string        // details of this case
	Final    bool          // sending it again cannot help
	After    time.Duration // how long to wait before retrying; 0 means soon
	Status   int           // HTTP status; 0 if there was none
	Session  bool          // rejected only because the server no longer knows the session
	Login    *login.Needed // rejected because a person has to log in first; nil: for a different reason
}

// MayHaveKilled reports whether the request may have crashed the server or ended its connection: it
// was delivered, and no response came back.
func (l Loss) MayHaveKilled() bool {
	return l.Delivery == fault.Unknown && l.Status == 0 && l.Code != fault.AnswerMissing
}

// OfLogin reports whether the request was lost because of the login.
func (l Loss) OfLogin() bool { return l.Login != nil || l.Code == fault.LoginUnavailable }

// LoginCause describes a login that a person has to make. failed is why an attempt failed, nil if
// there was none.
func LoginCause(n *login.Needed, failed error) fault.Cause {
	server := launch.Spec{URL: n.URL}.Shown() // the query may contain a secret, and logins do not depend on it
	c := fault.Cause{Code: "oauth_not_completed", Explanation: launch.LoginMissing}
	switch {
	case len(n.Scopes) > 0:
		c.Explanation = "The login lacks permissions that the server requires (" + strings.Join(n.Scopes, " ") + ")."
	case n.Partial:
		c.Explanation = "The server accepted the login for other requests, but not for this one. Either the account does not have permission for it, or the login is no longer valid."
	case n.Unasked:
		c.Explanation = launch.CredentialMissing
	}
	if n.Why != "" && n.Why != login.NotLoggedIn {
		c.Explanation += " The reason: " + n.Why + "."
	}
	if failed != nil {
		c.Explanation += " The last attempt to log in failed: " + failed.Error() + "."
	}
	command := launch.LoginCommand(server, n.Account, n.Scopes...)
	switch {
	case n.Next != "":
		c.Remedy = strings.ToUpper(n.Next[:1]) + n.Next[1:] + "."
		if before, command, ok := strings.Cut(c.Remedy, "run: "); ok {
			c.Remedy = before + "run: `" + strings.TrimSuffix(command, ".") + "`"
		}
	case n.Grant == launch.GrantClient:
		c.Remedy = "Check the client ID and client secret that gauze was started with (--client-id, and --client-secret-env or --client-secret-file)."
	case n.Grant == launch.GrantAssertion:
		c.Remedy = "Check the workload's token in the file that gauze was started with (--assertion-file)."
	case n.Partial:
		c.Remedy = "In the service, check whether the account has permission for this request. If other requests fail as well, log in again: `" + command + "`"
	case n.Unasked:
		c.Remedy = launch.LogInOrSendKey(command, shell.Here().Line("gauze", "run", "--url", server))
	case launch.IsClientAccount(n.Account):
		c.Remedy = "Log in with a client that can open login pages (URL-mode elicitation), or ask the operator of gauze serve to log in for you: `" + command + "`"
	default:
		c.Remedy = launch.LogIn(command)
	}
	return c
}

// Cause returns what a person has to do about the loss, if it is about a login.
func (l Loss) Cause() fault.Cause {
	if l.Login == nil {
		return fault.Cause{}
	}
	return LoginCause(l.Login, nil)
}
