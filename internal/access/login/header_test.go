package login

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// FuzzChallenges compares with the Go SDK, whose clients read the same headers.
func FuzzChallenges(f *testing.F) {
	for _, line := range []string{
		`Bearer`, `bearer error="invalid_token", scope="a b"`, `Bearer resource_metadata="https://example.com/x,y", DPoP algs="ES256"`,
		`Basic YWJj`, `Negotiate abc==`, `Bearer a=b,c=d`, `Bearer a = "b" , C = d`, `Bearer a="x\"y", b="\\"`, `Bearer a="open`, `"Bearer" a=b`, `Bearer a=`, `Bearer =b`,
		`Bearer a=b c=d`, `Bearer a="b" c`, `,,Bearer a=b,,`, `A b=c, D e=f, G`, `Bearer a="b", a="c"`, "Bearer\ta=b", `Bearer a="b\`, ` Bearer  a=b`, `A x, B y=z`, `é="x"`, `A b=",", C d=","`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		theirs, err := oauthex.ParseWWWAuthenticate([]string{line})
		ours := parseChallenges(line)
		if err != nil {
			theirs = nil
		}
		if len(ours) != len(theirs) {
			t.Fatalf("%q: %v, the SDK has %v, %v", line, ours, theirs, err)
		}
		for i, one := range ours {
			if one.scheme != theirs[i].Scheme || len(one.params) != len(theirs[i].Params) {
				t.Errorf("%q: %v, the SDK has %v", line, one, theirs[i])
			}
			for name, value := range one.params {
				if theirs[i].Params[name] != value {
					t.Errorf("%q: %s is %q, the SDK has %q", line, name, value, theirs[i].Params[name])
				}
			}
		}
	})
}
