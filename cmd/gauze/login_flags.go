package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// loginFlags are the flags about the login to a server at a URL, which gauze run, gauze serve, gauze
// test and gauze login share. A client secret has no flag of its own: other users can read command
// lines.
type loginFlags struct {
	launch.Login
	secretEnv  string
	secretFile string
	mayShare   bool // allows LoginShared
}

// modes lists the modes that --login accepts.
func (f *loginFlags) modes() string {
	if f.mayShare {
		return "ask, auto, off or shared"
	}
	return "ask, auto or off"
}

// add adds the flags. Their names are the same in every command.
func (f *loginFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.Account, "account", "", "`name` for this login, to use several accounts on one server")
	flags.StringArrayVar(&f.Scopes, "scope", nil, "`scope` to request in addition to those that the server lists (repeatable)")
	flags.StringVar(&f.ClientID, "client-id", "", "`ID` of a client that is registered with the authorization server, or the https URL of its metadata (default: gauze registers itself)")
	flags.StringVar(&f.secretEnv, "client-secret-env", "", "environment `variable` that contains the client secret")
	flags.StringVar(&f.secretFile, "client-secret-file", "", "`file` that contains the client secret; only you may have access to it")
	flags.StringVar(&f.RedirectURL, "redirect-url", "", "loopback `URL` that is registered for the client, such as http://127.0.0.1:8976/callback (default: a free port)")
	flags.StringVar(&f.Issuer, "login-issuer", "", "`host` or URL of the only authorization server that may issue the login; gauze login then does not ask you to confirm it")
	flags.StringArrayVar(&f.Endpoints, "login-endpoint", nil, "additional `host` that the authorization server uses during the login (repeatable); gauze login then does not ask you to confirm it")
	flags.BoolVar(&f.NoResource, "no-resource", false, "do not tell the authorization server which server the token is for; use this if it rejects such requests")
	flags.StringVar(&f.Grant, "grant", "", "`grant` for unattended logins: "+launch.GrantClient+", or "+launch.GrantAssertion+" with --assertion-file")
	flags.StringVar(&f.AssertionFile, "assertion-file", "", "`file` with this workload's identity token, read again for each login")
}

// addMode adds the flag that says what happens if a login is needed.
func (f *loginFlags) addMode(flags *pflag.FlagSet) {
	flags.StringVar(&f.Mode, "login", "", "login `mode` for the URL: ask (use the stored login and renew it; report when a new one is needed), auto (open the browser) or off (send only the given headers). Default: ask")
}

// given returns the name of a flag that was set, "" if there is none.
func (f *loginFlags) given() string {
	for _, flag := range []struct {
		name string
		set  bool
	}{
		{"--account", f.Account != ""}, {"--scope", len(f.Scopes) > 0}, {"--client-id", f.ClientID != ""}, {"--client-secret-env", f.secretEnv != ""},
		{"--client-secret-file", f.secretFile != ""}, {"--redirect-url", f.RedirectURL != ""}, {"--login-issuer", f.Issuer != ""}, {"--login-endpoint", len(f.Endpoints) > 0}, {"--no-resource", f.NoResource}, {"--grant", f.Grant != ""}, {"--assertion-file", f.AssertionFile != ""},
	} {
		if flag.set {
			return flag.name
		}
	}
	return ""
}

// fill uses the settings of a server's entry where no flag was given. A client, its secret and its
// redirect address belong together, and so do a grant and its file.
func (f *loginFlags) fill(own launch.Login) {
	f.Account = cmp.Or(f.Account, own.Account)
	if len(f.Scopes) == 0 {
		f.Scopes = own.Scopes
	}
	f.Issuer, f.NoResource = cmp.Or(f.Issuer, own.Issuer), f.NoResource || own.NoResource
	if len(f.Endpoints) == 0 {
		f.Endpoints = own.Endpoints
	}
	if f.ClientID == "" {
		f.ClientID, f.RedirectURL = own.ClientID, cmp.Or(f.RedirectURL, own.RedirectURL)
		if f.secretEnv == "" && f.secretFile == "" {
			f.ClientSecret, f.SecretSource = own.ClientSecret, own.SecretSource
		}
	}
	if f.Grant == "" && f.AssertionFile == "" {
		f.Grant, f.AssertionFile = own.Grant, own.AssertionFile
	}
}

// normalize writes the hosts of the flags as they are compared, and rejects what is none.
func (f *loginFlags) normalize() error {
	whole, err := url.Parse(f.Issuer)
	isURL := err == nil && (whole.Scheme == "https" || whole.Scheme == "http" && launch.IsLoopback(whole.Hostname())) && whole.Host != ""
	if host, ok := hostOnly(f.Issuer); ok {
		f.Issuer = host
	} else if f.Issuer != "" && !isURL {
		return invalid("login-issuer", f.Issuer, "must be a host such as login.example.com, or the https URL of an authorization server")
	}
	for i, given := range f.Endpoints {
		host, ok := hostOnly(given)
		if !ok {
			return invalid("login-endpoint", given, "must be a host such as login.example.com")
		}
		f.Endpoints[i] = host
	}
	return nil
}

// hostOnly returns a host in lower case and without the default port, if text is one.
func hostOnly(text string) (host string, ok bool) {
	host = strings.TrimSuffix(strings.ToLower(text), ":443")
	u, err := url.Parse("https://" + host)
	return host, err == nil && host != "" && u.Host == host && u.User == nil
}

// login returns the login that the flags describe, with the client's secret.
func (f *loginFlags) login() (l launch.Login, err error) {
	if err := f.normalize(); err != nil {
		return f.Login, err
	}
	l = f.Login
	switch {
	case l.Mode == launch.LoginShared && f.mayShare:
	case !slices.Contains([]string{"", launch.LoginAsk, launch.LoginAuto, launch.LoginOff}, l.Mode):
		return l, invalid("login", l.Mode, "must be "+f.modes())
	}
	switch {
	case l.Mode == launch.LoginOff && f.given() != "":
		return l, fmt.Errorf("--login off cannot be combined with %s", f.given())
	case f.secretEnv != "" && f.secretFile != "":
		return l, errors.New("--client-secret-env cannot be combined with --client-secret-file")
	case (f.secretEnv != "" || f.secretFile != "") && l.ClientID == "":
		return l, errors.New("--client-secret-env and --client-secret-file require --client-id")
	case !slices.Contains([]string{"", launch.GrantClient, launch.GrantAssertion}, l.Grant):
		return l, invalid("grant", l.Grant, "must be "+launch.GrantClient+" or "+launch.GrantAssertion)
	case l.Grant == launch.GrantClient && f.secretEnv == "" && f.secretFile == "" && l.ClientSecret == "":
		return l, fmt.Errorf("--grant %s requires --client-id, and --client-secret-env or --client-secret-file", launch.GrantClient)
	case (l.Grant == launch.GrantAssertion) != (l.AssertionFile != ""):
		return l, fmt.Errorf("--grant %s requires --assertion-file, and --assertion-file requires --grant %[1]s", launch.GrantAssertion)
	case l.Grant != "" && l.RedirectURL != "":
		return l, errors.New("--grant cannot be combined with --redirect-url: no browser is used")
	}
	if err := checkRedirect(l.RedirectURL); err != nil {
		return l, err
	}
	if l.Scopes, err = scopes(f.Scopes); err != nil {
		return l, err
	}
	secret, source, err := readSecret(f.secretEnv, "--client-secret-env", f.secretFile)
	if secret != "" {
		l.ClientSecret, l.SecretSource = secret, source
	}
	return l, err
}

// isLoopbackPath reports whether u is an http address with a port on the loopback interface, and nothing
// but a path after it.
func isLoopbackPath(u *url.URL) bool {
	isLoopback := u.Scheme == "http" && launch.IsLoopback(u.Hostname()) && u.Port() != ""
	return isLoopback && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// checkRedirect rejects an address at which gauze cannot wait for the browser.
func checkRedirect(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || !isLoopbackPath(u) {
		return invalid("redirect-url", address, "must be a loopback address with a port, such as http://127.0.0.1:8976/callback")
	}
	return nil
}

// scopes splits the values of --scope at spaces and rejects what is not a scope (RFC 6749, 3.3).
func scopes(values []string) (all []string, err error) {
	for _, one := range strings.Fields(strings.Join(values, " ")) {
		if strings.ContainsFunc(one, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			return nil, invalid("scope", one, "must be ASCII characters without quotes or backslashes")
		}
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all, nil
}

// maxSecretLen limits the file with a client's secret.
const maxSecretLen = 64 << 10

// readSecret reads the secret of a client from a variable, which flag names, or else from a file. It
// also says where the secret comes from. Without both there is none.
func readSecret(variable, flag, path string) (value, source string, err error) {
	switch {
	case variable != "":
		if value = strings.TrimSpace(os.Getenv(variable)); value == "" {
			return "", "", fmt.Errorf("invalid %s: the environment variable %s is not set", flag, variable)
		}
		return value, "the variable " + variable, nil
	case path == "":
		return "", "", nil
	}
	file, err := os.Open(path)
	if err != nil {
		return "", "", fmt.Errorf("cannot read the client secret: %w", err)
	}
	defer file.Close()
	if err := checkMode(file, "client secret"); err != nil {
		return "", "", err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSecretLen))
	if err != nil {
		return "", "", fmt.Errorf("cannot read the client secret: %w", err)
	}
	if value = strings.TrimSpace(string(text)); value == "" || strings.ContainsAny(value, "\r\n") {
		return "", "", fmt.Errorf("no client secret in %s: the file must contain the secret on one line", path)
	}
	return value, "the file " + path, nil
}
