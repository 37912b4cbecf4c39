package upfile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/access/httpguard"
	"github.com/gauze-mcp/gauze/internal/text/document"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
)

var variable = regex.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// minTokenLen is how long a token must be.
const minTokenLen = 20

// keepPrivate notes the variables with tokens before the servers are read: a client with one token must not learn
// another from a tool that shows variables.
func (r *reader) keepPrivate(n *document.Node) {
	for _, f := range n.Fields {
		if name, ok := valueOf(f.Value, "env").Scalar.(string); ok {
			r.private = append(r.private, name)
		}
	}
}

// tokens reads the section tokens. The tokens themselves are in the environment, which is that of a
// client if gauze connect reads the file: only Pinned looks at them.
func (r *reader) tokens(n *document.Node) {
	r.named(n, "tokens", "{env: VARIABLE, profile: NAME}", func(f document.Field) {
		t, at := Token{Name: f.Name}, f.Position
		seen := r.FieldsOf(f.Value, "the token "+redact.Quote(f.Name), map[string]func(*document.Node){
			"env": func(n *document.Node) {
				at = n.Position
				if t.Env = r.Text(n, "env"); t.Env != "" {
					r.checkTokenEnv(t.Env, at)
				}
			},
			"profile": func(n *document.Node) {
				if t.Profile = r.Text(n, "profile"); t.Profile != "" && r.file.Profile(t.Profile) == nil {
					r.unknownProfile(n.Position, t.Profile)
				}
			},
		})
		if f.Value.Kind == document.IsMapping && !seen["env"] {
			r.Report(f.Position, "the token has no env: add the name of the environment variable that contains it")
		}
		r.file.Tokens = append(r.file.Tokens, t)
		r.file.tokensAt[t.Name] = at
	})
}

// checkTokenEnv checks the name of the variable with a token.
func (r *reader) checkTokenEnv(env string, at document.Position) {
	name := redact.Quote(env)
	switch {
	case !variable.MatchString(env):
		r.Report(at, "invalid env %q: must be the name of an environment variable such as GAUZE_CI_TOKEN, not the token itself", name)
	case trust.Loads(env):
		r.Report(at, "the variable %s is not a secret: use one of its own, such as GAUZE_CI_TOKEN", name)
	}
}

func (r *reader) unknownProfile(at document.Position, name string) {
	var all []string
	for _, p := range r.file.Profiles {
		all = append(all, p.Name)
	}
	if len(all) == 0 {
		r.Report(at, "unknown profile %q: the file has no profiles; add one, or remove the key for a token that is for every server", redact.Quote(name))
		return
	}
	r.Report(at, "unknown profile %q: must be one of %s%s", redact.Quote(name), strings.Join(all, ", "), document.DidYouMean(name, all))
}

// Pinned returns the profile of each token of the file, by the token; "" is every server. getenv returns
// a variable of the environment, and general are the tokens of gauze up itself. If a token is missing, weak or
// not the only one of its kind, the error is of type Problems and has all that are.
func (f *File) Pinned(getenv func(string) string, general []string) (map[string]string, error) {
	var r document.Reader
	profiles, known := map[string]string{}, map[string]string{} // by the token: its profile, whose it is
	for _, token := range general {
		known[token] = "gauze up itself, which is for every server"
	}
	for _, t := range f.Tokens {
		token := strings.TrimSpace(getenv(t.Env))
		if why := wrongToken(token, redact.Quote(t.Env), known[token]); why != "" {
			r.Report(f.tokensAt[t.Name], "%s", why)
		}
		profiles[token], known[token] = t.Profile, strconv.Quote(redact.Quote(t.Name))
	}
	if len(r.Problems) > 0 {
		return nil, Problems(r.Problems.In(f.shown))
	}
	return profiles, nil
}

// wrongToken returns what is wrong with the token in a variable without showing it, or "". other is
// whose token it also is.
func wrongToken(token, env, other string) string {
	const better = "set it to a random value, such as the output of openssl rand -hex 32"
	switch {
	case token == "":
		return fmt.Sprintf("the environment variable %s is not set: %s", env, better)
	case len(token) < minTokenLen || httpguard.Guessable(token):
		return fmt.Sprintf("the token in %s is weak: it must have at least %d random characters; %s", env, minTokenLen, better)
	case strings.ContainsAny(token, " \t\r\n"):
		return fmt.Sprintf("the token in %s contains spaces: remove them", env)
	case other != "":
		return fmt.Sprintf("the token in %s is also that of %s: %s", env, other, better)
	}
	return ""
}
