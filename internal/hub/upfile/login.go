package upfile

import (
	"slices"

	"github.com/gauze-mcp/gauze/internal/text/document"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// modes are the words of login that are not the name of an account.
var modes = []string{launch.LoginAsk, launch.LoginAuto, launch.LoginOff, launch.LoginShared}

// login reads how gauze logs in to a URL: the name of an account, a mode, or a mapping with what the
// flags of gauze login also say. secretEnv is the variable with the secret of the client.
func (r *reader) login(n *document.Node) (l launch.Login, secretEnv string) {
	if n.Kind == document.IsScalar {
		if word := r.Text(n, "login"); slices.Contains(modes, word) {
			l.Mode = word
		} else {
			l.Account = word
		}
		return l, ""
	}
	text := func(to *string, what string) func(*document.Node) {
		return func(n *document.Node) { *to = r.Text(n, what) }
	}
	words := func(to *[]string, what string) func(*document.Node) {
		return func(n *document.Node) { *to = r.Words(n, what, "[a, b]") }
	}
	r.FieldsOf(n, "login", map[string]func(*document.Node){
		"mode":              func(n *document.Node) { l.Mode = r.oneOf(n, "mode", modes...) },
		"account":           text(&l.Account, "account"),
		"client-id":         text(&l.ClientID, "client-id"),
		"client-secret-env": text(&secretEnv, "client-secret-env"),
		"redirect-url":      text(&l.RedirectURL, "redirect-url"),
		"scopes":            words(&l.Scopes, "scopes"),
		"issuer":            text(&l.Issuer, "issuer"),
		"endpoints":         words(&l.Endpoints, "endpoints"),
		"grant":             func(n *document.Node) { l.Grant = r.oneOf(n, "grant", launch.GrantClient, launch.GrantAssertion) },
		"assertion-file":    text(&l.AssertionFile, "assertion-file"),
		"no-resource": func(n *document.Node) {
			ok := false
			if l.NoResource, ok = n.Scalar.(bool); !ok {
				r.Report(n.Position, "no-resource must be true or false, not %s", n.Says())
			}
		},
	})
	switch {
	case secretEnv != "" && l.ClientID == "":
		r.Report(n.Position, "client-secret-env requires client-id: add it")
	case l.Grant == launch.GrantClient && secretEnv == "":
		r.Report(n.Position, "grant: %s requires client-id and client-secret-env: add them", l.Grant)
	case (l.Grant == launch.GrantAssertion) != (l.AssertionFile != ""):
		r.Report(n.Position, "grant: %s and assertion-file require each other: add the missing one", launch.GrantAssertion)
	}
	return l, secretEnv
}
