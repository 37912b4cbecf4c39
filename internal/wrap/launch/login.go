package launch

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/shell"
)

// Login is how gauze logs in to a server at a URL. The zero value uses the login that the user has
// for the URL, if there is one.
type Login struct {
	Mode    string // Mode is LoginAsk, LoginAuto, LoginOff, LoginShared or LoginOfClient; empty means LoginAsk.
	Account string // Account tells several logins to one server apart; empty is the default one.

	// ClientID is a client that is registered with the authorization server, or the https URL of a
	// client ID metadata document. Empty: gauze registers itself.
	ClientID     string
	ClientSecret string `json:"-"` // ClientSecret is never shown.
	SecretSource string // SecretSource is where ClientSecret comes from, such as "the variable X".

	// Grant is how a program logs in without a person: GrantClient or GrantAssertion. Empty: a
	// person logs in with a browser.
	Grant         string
	AssertionFile string // AssertionFile has the token of a workload identity (GrantAssertion). It is read for each request of a token.

	Scopes      []string // Scopes are asked for in addition to those that the server names.
	Issuer      string   // Issuer is the only authorization server that may give the login, or its host; empty: any.
	Endpoints   []string // Endpoints are other hosts at which that server may have its endpoints.
	NoResource  bool     // NoResource does not tell the authorization server which server the token is for.
	RedirectURL string   // RedirectURL is the loopback address that a registered client must use; empty: a free port.
}

// String returns the login without its secret.
func (l Login) String() string {
	if l.ClientSecret != "" {
		l.ClientSecret = "[hidden]"
	}
	type fields Login // without methods
	return fmt.Sprintf("%+v", fields(l))
}

// Format keeps the secret out of messages, whatever verb prints a Login.
func (l Login) Format(f fmt.State, _ rune) { io.WriteString(f, l.String()) }

// LogValue keeps the secret out of logs.
func (l Login) LogValue() slog.Value { return slog.StringValue(l.String()) }

// Modes of a login.
const (
	LoginAsk  = "ask"  // use and renew a login; if a new one is needed, say how to get it
	LoginAuto = "auto" // open the browser if a new login is needed
	LoginOff  = "off"  // send only the configured headers

	// LoginShared uses and renews the login of the user who runs gauze serve for all clients. They are
	// not asked for a new one.
	LoginShared = "shared"

	// LoginOfClient is for tests of a server that its client reaches without gauze, with a login of
	// its own if it has one. Only the configured headers are sent.
	LoginOfClient = "client"
)

// Grants without a person.
const (
	GrantClient    = "client-credentials"
	GrantAssertion = "workload-identity"
)

// LoginCommand returns the command line with which the user logs in to a server, which is given by
// its name in a client's configuration or by its URL without secrets, and asks for scopes.
func LoginCommand(server, account string, scopes ...string) string {
	words := []string{"gauze", "login", plaintext.Clean(server)}
	if account != "" {
		words = append(words, "--account", plaintext.Clean(account))
	}
	for _, scope := range scopes {
		words = append(words, "--scope", plaintext.Clean(scope))
	}
	return shell.Here().Line(words...)
}

// clientAccounts is what the accounts of clients of gauze serve begin with.
const clientAccounts = "client of gauze serve: "

// ClientAccount returns the account of one user of gauze serve, who has a login of their own.
func ClientAccount(who string) string { return clientAccounts + who }

// IsClientAccount reports whether an account is of a user of gauze serve.
func IsClientAccount(account string) bool { return strings.HasPrefix(account, clientAccounts) }

// LogsIn reports whether requests to the URL use a login: not if they have a credential of their own.
func (s Spec) LogsIn() bool {
	if s.URL == "" || s.Login.Mode == LoginOff || s.Login.Mode == LoginOfClient {
		return false
	}
	u, err := url.Parse(s.URL)
	return err == nil && u.User == nil && !slices.ContainsFunc(s.Header, func(h Header) bool { return strings.EqualFold(h.Name, "Authorization") })
}

// What is said about a login that is required.
const (
	LoginMissing      = "The server requires a login, and gauze does not have one that the server accepts."
	CredentialMissing = "The server returned 401: a login, key or token is missing or not valid."
)

// LogIn returns the advice to log in with a command (LoginCommand).
func LogIn(command string) string {
	return "To let gauze store and renew the login, log in once in a terminal: `" + command + "`"
}

// SignInOrWrap returns the advice for a server that its client reaches without gauze. wrap is the
// command that changes that, after the one to log in if gauze is not logged in.
func SignInOrWrap(wrap string) string {
	return "If the client is not logged in, either log in with the client, or let it use a login that gauze stores and renews: `" + wrap + "`"
}

// LogInOrSendKey returns the advice for a server that does not say which credential it requires. run
// begins the command that sends a key.
func LogInOrSendKey(command, run string) string {
	return "If the server supports logging in, run `" + command + "`. If it requires a key, put the key in an environment variable NAME " +
		"(with \"Bearer \" before it if the server requires that) and send it in a header: `" + run + " --header-env Authorization=NAME`"
}
