package correct

import "testing"

func TestRejectsToken(t *testing.T) {
	for _, c := range []struct {
		text      string
		claimed   bool
		arguments string
		want      bool
	}{
		{text: "401 Unauthorized: the access token has expired", want: true},
		{text: "Request failed with status code 401", want: true},
		{text: "Error: HTTP 401", want: true},
		{text: `{"error":"invalid_token","error_description":"The access token expired"}`, want: true},
		{text: "Bearer token is invalid", want: true},
		{text: "The access token expired\nPlease log in again.", want: true},
		{text: "Token has expired", want: true},
		{text: "TokenExpiredError: jwt expired", want: true},

		{text: "Unexpected token } in JSON at position 3"},
		{text: "invalid token near line 3"},
		{text: "invalid refresh token: invalid_token"},
		{text: "There are 401 open orders"},
		{text: "invalid API key (HTTP 401)"},
		{text: "wrong password: status 401"},
		{text: "no results"},
		{text: "HTTP 401", arguments: `{"url":"https://elsewhere.example/"}`},
		{text: "nothing found about: access token expired", arguments: `{"query":"access token expired"}`},

		{claimed: true, text: "401 Unauthorized", want: true},
		{claimed: true, text: "Error: 401 Unauthorized", want: true},
		{claimed: true, text: `{"error":{"code":401,"message":"invalid_token"}}`, want: true},
		{claimed: true, text: `{"error":"invalid_token","items":[]}`},
		{claimed: true, text: `{"notes":"the server answers HTTP 401 if the access token expired"}`},
		{claimed: true, text: "HTTP 401 Unauthorized\n\nThe 401 status code means that the access token is invalid."},
		{claimed: true, text: "A guide to what to do when the access token is expired (HTTP 401)"},
	} {
		if got := RejectsToken(c.text, c.claimed, []byte(c.arguments)); got != c.want {
			t.Errorf("%q, claimed %v, arguments %s: %v", c.text, c.claimed, c.arguments, got)
		}
	}
}
