package login

import (
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// bearerChallenge returns the parameters of the Bearer challenges of a response, such as
// resource_metadata, scope and error. There are none if the header cannot be parsed.
func bearerChallenge(header http.Header) map[string]string {
	params := map[string]string{}
	for _, line := range header.Values("WWW-Authenticate") {
		challenges, err := oauthex.ParseWWWAuthenticate([]string{line})
		if err != nil {
			continue
		}
		for _, c := range challenges {
			if c.Scheme != "bearer" {
				continue
			}
			for name, value := range c.Params {
				if _, known := params[name]; !known {
					params[name] = value
				}
			}
		}
	}
	return params
}

// insufficientScope returns the scopes that a server requires, if it rejected a request because the
// token does not have them.
func insufficientScope(header http.Header) (scopes []string, insufficient bool) {
	params := bearerChallenge(header)
	return scopesOf(params["scope"]), params["error"] == "insufficient_scope"
}

// without returns the elements of a that are not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}
