package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gauze-mcp/gauze/internal/access/bearer"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// oauthFlags are the flags of gauze serve for access tokens of an authorization server.
type oauthFlags struct {
	issuer     string
	audience   string
	scopes     []string
	publicURL  string
	introspect bool
	clientID   string
	secretEnv  string
	secretFile string

	down error // the authorization server could not be used at the start
}

func (f *oauthFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.issuer, "oauth-issuer", "", "`URL` of the authorization server whose access tokens clients must send; each user has their own sessions")
	flags.StringVar(&f.publicURL, "public-url", "", "`URL` of the endpoint as clients configure it, such as https://mcp.example.com/mcp; access tokens are issued for it (default: the address of --listen, if that is loopback)")
	flags.StringVar(&f.audience, "oauth-audience", "", "`audience` that access tokens must have (default: the URL of the endpoint)")
	flags.StringArrayVar(&f.scopes, "oauth-scope", nil, "`scope` that access tokens must have (repeatable)")
	flags.BoolVar(&f.introspect, "oauth-introspect", false, "ask the authorization server about each access token (RFC 7662), instead of validating JWTs with its keys")
	flags.StringVar(&f.clientID, "oauth-client-id", "", "client `ID` for --oauth-introspect")
	flags.StringVar(&f.secretEnv, "oauth-client-secret-env", "", "environment `variable` that contains the secret for --oauth-introspect")
	flags.StringVar(&f.secretFile, "oauth-client-secret-file", "", "`file` that contains the secret for --oauth-introspect; only you may have access to it")
}

// check rejects flags that do not fit together. listen is an address, withTokens means that a flag
// about the tokens of gauze was given.
func (f *oauthFlags) check(listen string, withTokens bool) error {
	introspection := f.clientID != "" || f.secretEnv != "" || f.secretFile != ""
	if f.issuer == "" {
		given := f.audience != "" || f.publicURL != "" || len(f.scopes) > 0
		if given || f.introspect || introspection {
			return errors.New("--public-url and the flags that begin with --oauth require --oauth-issuer")
		}
		return nil
	}
	if err := bearer.CheckURL(f.issuer); err != nil {
		return invalid("oauth-issuer", f.issuer, err.Error())
	}
	if f.publicURL != "" {
		if err := bearer.CheckURL(f.publicURL); err != nil {
			return invalid("public-url", f.publicURL, err.Error())
		}
	}
	for _, scope := range f.scopes {
		if scope == "" || strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			return invalid("oauth-scope", scope, "must be a single scope of ASCII characters, without spaces, quotes or backslashes")
		}
	}
	host, _, err := net.SplitHostPort(listen)
	switch {
	case withTokens:
		return errors.New("--oauth-issuer cannot be combined with --token-env, --token-file or --no-token: clients send either access tokens or gauze tokens")
	case introspection && !f.introspect:
		return errors.New("--oauth-client-id, --oauth-client-secret-env and --oauth-client-secret-file require --oauth-introspect")
	case f.introspect && (f.clientID == "" || (f.secretEnv == "") == (f.secretFile == "")):
		return errors.New("--oauth-introspect requires --oauth-client-id, and either --oauth-client-secret-env or --oauth-client-secret-file")
	case err == nil && !launch.IsLoopback(host) && f.publicURL == "":
		return fmt.Errorf("%s can be reached from other machines: --oauth-issuer requires --public-url, the URL of the endpoint as clients configure it", listen)
	}
	return nil
}

// prepareTimeout is how long the start waits for the authorization server.
const prepareTimeout = 5 * time.Second

// protect makes the gateway at addr a protected resource. An authorization server that cannot be
// reached now may be later, so that is only reported; one that cannot be used is an error.
func (f *oauthFlags) protect(ctx context.Context, front *gateway.Options, addr net.Addr) error {
	if f.issuer == "" {
		return nil
	}
	resource := f.resource(addr)
	c := bearer.Config{Issuer: f.issuer, Audience: f.audience, Scopes: f.scopes, Report: reportIssuer}
	if c.Audience == "" {
		c.Audience = resource
	}
	if f.introspect {
		secret, _, err := readSecret(f.secretEnv, "--oauth-client-secret-env", f.secretFile)
		if err != nil {
			return err
		}
		c.Introspection = &bearer.Credentials{ID: f.clientID, Secret: secret}
	}
	verifier, err := bearer.New(c)
	if err != nil {
		return fmt.Errorf("invalid --oauth-issuer: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	err = verifier.Prepare(ctx)
	if down, ok := errors.AsType[*bearer.Unavailable](err); ok {
		f.down = down
	} else if err != nil {
		return fmt.Errorf("cannot use --oauth-issuer %s: %s", f.issuer, redact.Quote(err.Error()))
	}
	front.OAuth = &gateway.OAuth{Verifier: verifier, Resource: resource}
	if u, err := url.Parse(resource); err == nil {
		front.Hosts = append(front.Hosts, u.Host)
	}
	return nil
}

// resource returns the URL of the endpoint as clients know it.
func (f *oauthFlags) resource(addr net.Addr) string {
	if f.publicURL == "" {
		return "http://" + addr.String() + gateway.Path
	}
	resource := strings.TrimRight(f.publicURL, "/")
	if u, err := url.Parse(resource); err == nil && u.Path == "" {
		resource += gateway.Path
	}
	return resource
}

// reportIssuer reports that an authorization server cannot be used at the moment.
func reportIssuer(err error) {
	fmt.Fprintln(os.Stderr, "gauze: access tokens cannot be validated at the moment:", redact.Quote(err.Error()))
}

// announce shows how clients authenticate, and whether they can.
func (f *oauthFlags) announce(o *gateway.OAuth) {
	if o == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "gauze: clients connect to %s with access tokens from %s", o.Resource, f.issuer)
	if o.Verifier.Audience != o.Resource {
		fmt.Fprintf(os.Stderr, " for the audience %s", redact.Quote(o.Verifier.Audience))
	}
	if len(f.scopes) > 0 {
		fmt.Fprintf(os.Stderr, "; required scopes: %s", strings.Join(f.scopes, " "))
	}
	fmt.Fprintln(os.Stderr)
	if f.down != nil {
		reportIssuer(f.down)
	}
}
