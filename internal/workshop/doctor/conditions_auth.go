package doctor

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// LoginRequired is the cause of a server that requires a login.
const LoginRequired = "oauth_not_completed"

// CredentialRequired is the cause of a server that returned 401 without saying what it requires.
const CredentialRequired = "http_unauthorized"

func (x *exam) returned401() bool { return x.URL != "" && x.Live && x.status(&match{}, 401) }

// lacksScope reports whether the server rejected a token because of its scopes.
func lacksScope(h HTTP) bool { return strings.Contains(h.Authenticate, `error="insufficient_scope"`) }

var requiredScope = regex.New(`\bscope="([\w:./ -]{1,100})"`)

func scopeRejected(m *match) bool {
	at := slices.IndexFunc(m.x.HTTP, lacksScope)
	if at < 0 {
		return false
	}
	m.said = "HTTP 403, WWW-Authenticate: " + m.x.HTTP[at].Authenticate
	if scope := requiredScope.FindStringSubmatch(m.x.HTTP[at].Authenticate); scope != nil {
		m.names = map[string]string{"scope": "the scope " + scope[1]}
	}
	return true
}

func bearerChallenge(m *match) bool {
	for _, answer := range m.x.HTTP {
		if answer.Status == 401 && strings.Contains(answer.Authenticate, "Bearer") {
			m.said = "HTTP 401, WWW-Authenticate: Bearer"
			return true
		}
	}
	return false
}
