package clientconfig

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig/reference"
	"github.com/gauze-mcp/gauze/internal/workshop/splice"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// LoginFields are the names of the fields by which an entry configures the client's own login, as far
// as gauze run has flags for them.
type LoginFields struct {
	Field    string   // the map that contains them; empty if they are fields of the entry
	ClientID string   // a registered client
	Secret   string   // its secret
	Scopes   string   // a list, or a string with blanks between them
	Port     string   // the port of http://localhost:PORT/callback
	Redirect string   // the whole redirect address
	Callback string   // the redirect address of the client's own, for which a client is registered
	Unneeded []string // settings that gauze run does not need
}

// secretVariable passes the secret of a registered client to gauze run.
const secretVariable = "GAUZE_CLIENT_SECRET"

// takeLogin hands on the settings of the client's own login. The field stays where the client ignores
// it beside a command.
func (w *urlWrap) takeLogin() string {
	l := w.fields.Login
	for _, name := range common().OtherLogins {
		if name != l.Field && has(w.e.src.outer, name) {
			return cannotUse(name)
		}
	}
	name := l.Field
	if name == "" {
		name = l.Scopes
	}
	settings, there := member(w.e.src.outer, name)
	if !there {
		return ""
	}
	why := w.loginFlags(settings, name)
	switch {
	case why != "":
		return why
	case w.fields.tolerant():
		return ""
	case w.fields.Argv && has(w.e.src.node, w.fields.Headers), len(w.copies) > 0, len(reference.Find(settings.Raw())) > 0:
		return cannotUse(name)
	case w.fields.Argv && !w.fill(&w.spare, name), !w.fields.Argv && !w.fill(&w.slot, name):
		return notReversible
	}
	return ""
}

// cannotUse is the reason why an entry with a login of its own is not wrapped.
func cannotUse(field string) string {
	return "its " + field + " field configures a login that gauze run cannot use; remove the field to log in with gauze login instead"
}

// loginFlags adds the flags of gauze run for the settings of a login.
func (w *urlWrap) loginFlags(settings splice.Node, name string) string {
	l := w.fields.Login
	if l.Field == "" {
		return w.scopes(settings, name)
	}
	if on, is := boolean(settings); is && !on {
		w.flags = append(w.flags, "--login=off")
		return ""
	}
	if settings.Kind() != splice.MapKind {
		return cannotUse(name)
	}
	redirect := ""
	for field, n := range settings.Members() {
		value, isText := text(n)
		port, isNumber := n.Value().(json.Number)
		full := name + "." + field
		switch {
		case slices.Contains(l.Unneeded, field):
		case field == l.Scopes:
			if why := w.scopes(n, full); why != "" {
				return why
			}
		case field == l.Port && isNumber:
			redirect = "http://localhost:" + string(port) + "/callback"
		case !isText || value == "" || field != l.Secret && len(reference.Find(value)) > 0:
			return cannotUse(full)
		case field == l.ClientID:
			w.flags = append(w.flags, "--client-id="+value)
			if redirect == "" {
				redirect = l.Callback
			}
		case field == l.Redirect:
			redirect = value
		case field == l.Secret:
			expanded := w.e.Client.Dialect.In&reference.Environment != 0 || len(reference.Find(value)) == 0
			located, ok := w.locate(n, has(settings, l.ClientID) && expanded)
			if !ok {
				return cannotUse(full)
			}
			w.copies = append(w.copies, variableCopy{secretVariable, located.Raw()})
			w.flags = append(w.flags, "--client-secret-env", secretVariable)
		default:
			return cannotUse(full)
		}
	}
	if redirect != "" {
		if !loopback(redirect) {
			return "its login redirects to an address that gauze run cannot use; remove the " + name +
				" field to log in with gauze login instead"
		}
		w.flags = append(w.flags, "--redirect-url="+redirect)
	}
	return ""
}

func (w *urlWrap) scopes(n splice.Node, field string) string {
	value, isText := text(n)
	all := strings.Fields(value)
	if !isText {
		all = words(n)
	}
	if !isText && (n.Kind() != splice.ListKind || len(all) != len(n.Items())) {
		return cannotUse(field)
	}
	special := func(r rune) bool { return r <= ' ' || r == '"' || r == '\\' || r > '~' }
	for _, scope := range all {
		if len(reference.Find(scope)) > 0 || strings.ContainsFunc(scope, special) {
			return cannotUse(field)
		}
		w.flags = append(w.flags, "--scope="+scope)
	}
	return ""
}

// loopback reports whether gauze can receive the answer to a login at an address.
func loopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "http" && launch.IsLoopback(u.Hostname()) && u.Port() != "" &&
		u.User == nil && u.RawQuery == "" && u.Fragment == ""
}
