package fleet

import (
	"time"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// asClient returns how a server is reached as its client does: without the login of gauze, unless it
// runs through gauze.
func (s *Server) asClient(spec launch.Spec) launch.Spec {
	if !Through(s.Entry) && spec.LogsIn() {
		spec.Login = launch.Login{Mode: launch.LoginOfClient}
	}
	return spec
}

// explainLogin says what a rejection means if the server was tested without the login of gauze: the
// client may have one of its own. Both ways to log in are named.
func (f *Fleet) explainLogin(c *Checked) {
	d := c.Report.Diagnosis
	spec := c.Real()
	if d == nil || Through(c.Entry) || !spec.LogsIn() || d.Cause != doctor.LoginRequired && d.Cause != doctor.CredentialRequired {
		return
	}
	loggedIn := f.StoredLogin(spec) != ""
	if d.Cause == doctor.CredentialRequired && !loggedIn {
		return // it may require a key
	}
	own := *d // servers that are reached in the same way share the report
	own.Explanation, own.Command = "The server requires a login.", ""
	wrap := shell.Here().Line("gauze", "wrap", "--remote", c.ID())
	if loggedIn {
		own.Explanation += " Gauze is logged in to it, but the client connects without gauze and does not use that login."
	} else {
		own.Explanation += " The client connects to it without gauze."
		wrap = shell.Here().Then(launch.LoginCommand(c.ID(), spec.Login.Account), wrap)
	}
	own.Explanation += " Gauze cannot determine whether the client itself is logged in."
	own.Fix = launch.SignInOrWrap(wrap)
	c.Report.Diagnosis, c.Report.Todo, c.Report.Command = &own, own.Fix, ""
}

// StoredLogin describes the login of gauze that requests to a server use, and whose it is; empty if
// they use none.
func (f *Fleet) StoredLogin(spec launch.Spec) string {
	if f.Logins == nil || !spec.LogsIn() {
		return ""
	}
	l, err := f.Logins.Find(login.Resource(spec.URL), spec.Login.Account)
	if err != nil || !l.Usable(time.Now()) {
		return ""
	}
	whose := "your stored login"
	if l.Who != "" {
		whose = "the stored login of " + plaintext.Visible(l.Who)
	}
	return whose + " at " + plaintext.Visible(l.Issuer)
}
