package bearer

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/bearertest"
)

// members returns the members of a JSON object as text, without braces.
func members(t *testing.T, object map[string]any) string {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Trim(string(text), "{}")
}

func TestClaimsMatchByTheirExactNames(t *testing.T) {
	i := startIssuer(t, "")
	key := newKey(t)
	i.Publish("ec", key)
	v := verifier(t, i, nil)
	const header = `"alg":"ES256","kid":"ec"`
	valid := members(t, i.Claims(audience, nil))
	without := func(name string) string { return members(t, i.Claims(audience, map[string]any{name: nil})) }
	future := fmt.Sprint(1 << 36)

	for _, test := range []struct{ name, header, claims, want string }{
		{"valid", header + `,"typ":"at+jwt"`, valid, "accepted alice/editor"},
		{"unknown names", header + `,"Typ":"logout+jwt"`, valid + `,"AUD":"x","Sub":"mallory","Client_ID":"x","AT_HASH":"x"`, "accepted alice/editor"},

		{"an audience in capitals", header, without("aud") + `,"AUD":"` + audience + `"`, "different audience"},
		{"two audiences in different cases", header, members(t, i.Claims("https://other.example.com", nil)) + `,"Aud":"` + audience + `"`, "different audience"},
		{"an issuer in capitals", header, without("iss") + `,"ISS":"` + i.URL + `"`, "different authorization server"},
		{"an expiry with a capital", header, without("exp") + `,"Exp":` + future, "no expiry"},
		{"a scope with a long s", header, without("scope") + `,"ſcope":"tools:read"`, "scope"},
		{"a scope in capitals", header, without("scope") + `,"SCOPE":"tools:read"`, "scope"},
		{"scp with a capital", header, without("scope") + `,"Scp":["tools:read"]`, "scope"},
		{"a subject and a client with capitals", header, members(t, i.Claims(audience, map[string]any{"sub": nil, "client_id": nil})) + `,"Sub":"mallory","AZP":"x"`, "neither"},
		{"a type in a different case", header + `,"typ":"logout+jwt","Typ":"at+jwt"`, valid, "another type"},

		{"two subjects", header, valid + `,"sub":"mallory"`, "malformed"},
		{"two subjects, one escaped", header, valid + `,"s\u0075b":"mallory"`, "malformed"},
		{"the same audience twice", header, valid + `,"aud":"` + audience + `"`, "malformed"},
		{"two unknown claims", header, valid + `,"x":1,"x":2`, "malformed"},
		{"two types", header + `,"typ":"logout+jwt","typ":"at+jwt"`, valid, "not a signed JWT"},
		{"two algorithms", header + `,"alg":"ES256"`, valid, "not a signed JWT"},
	} {
		t.Run(test.name, func(t *testing.T) {
			token := bearertest.SignText("{"+test.header+"}", "{"+test.claims+"}", key)
			if got := outcome(v.Verify(t.Context(), token)); !strings.Contains(got, test.want) {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestAnswersOfIntrospectionMatchByTheirExactNames(t *testing.T) {
	i := startIssuer(t, "")
	valid := members(t, i.Claims(audience, nil))
	for body, want := range map[string]string{
		`{"active":true,` + valid + `}`:                                       "accepted alice/editor",
		`{"active":true,"Active":false,` + valid + `}`:                        "accepted alice/editor",
		`{"active":false,"Active":true,` + valid + `}`:                        "revoked",
		`{"ACTIVE":true,` + valid + `}`:                                       "revoked",
		`{"active":true,` + strings.Replace(valid, `"aud"`, `"Aud"`, 1) + `}`: "different audience",
		`{"active":false,` + valid + `,"active":true}`:                        "unavailable",
		`{"active":true,` + valid + `,"sub":"mallory"}`:                       "unavailable",
		`{"active":true,` + valid + `}{"active":true}`:                        "unavailable",
		`[{"active":true,` + valid + `}]`:                                     "unavailable",
	} {
		v, _ := introspecting(t, i)
		v.issuer.client.Transport = replacing{v.issuer.transport, bearertest.IntrospectPath, body}
		if got := outcome(v.Verify(t.Context(), "opaque")); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

func TestDocumentsOfTheIssuerMatchByTheirExactNames(t *testing.T) {
	i := startIssuer(t, "")
	const path = "/.well-known/oauth-authorization-server"
	i.MetadataOnlyAt(path)
	token := i.Token(i.Claims(audience, nil))
	for body, want := range map[string]string{
		`{"issuer":"` + i.URL + `","jwks_uri":"` + i.URL + bearertest.KeysPath + `"}`:                                     "accepted alice/editor",
		`{"issuer":"` + i.URL + `","jwks_uri":"` + i.URL + bearertest.KeysPath + `","JWKS_URI":"https://127.0.0.1:1/"}`:   "accepted alice/editor",
		`{"issuer":"https://evil.example.com","Issuer":"` + i.URL + `","jwks_uri":"` + i.URL + bearertest.KeysPath + `"}`: "unavailable",
		`{"issuer":"` + i.URL + `","jwks_uri":"https://127.0.0.1:1/","jwks_uri":"` + i.URL + bearertest.KeysPath + `"}`:   "unavailable",
	} {
		v := verifier(t, i, nil)
		v.issuer.client.Transport = replacing{v.issuer.transport, path, body}
		if got := outcome(v.Verify(t.Context(), token)); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

func TestKeysMatchByTheirExactName(t *testing.T) {
	i := startIssuer(t, "")
	token := i.Token(i.Claims(audience, nil))
	own := `[` + string(i.PublicKey()) + `]`
	for body, want := range map[string]string{
		`{"keys":` + own + `}`:           "accepted alice/editor",
		`{"keys":` + own + `,"Keys":[]}`: "accepted alice/editor",
		`{"keys":[],"Keys":` + own + `}`: "not signed with a key",
		`{"Keys":` + own + `}`:           "unavailable",
		`{"keys":[],"keys":` + own + `}`: "unavailable",
	} {
		v := verifier(t, i, nil)
		v.issuer.client.Transport = replacing{v.issuer.transport, bearertest.KeysPath, body}
		if got := outcome(v.Verify(t.Context(), token)); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

func TestAKeyThatCannotBeUsedIsIgnored(t *testing.T) {
	i := startIssuer(t, "")
	token, own := i.Token(i.Claims(audience, nil)), string(i.PublicKey())
	foreign := bearertest.Sign(map[string]any{"alg": "ES256", "kid": "new"}, i.Claims(audience, nil), newKey(t))
	for _, other := range []string{`null`, `"text"`, `[]`, `{"kty":"EC","crv":"secp256k1","x":"AQ","y":"AQ","kid":"x"}`, `{"kty":"new"}`} {
		v := verifier(t, i, nil)
		v.issuer.client.Transport = replacing{v.issuer.transport, bearertest.KeysPath, `{"keys":[` + other + `,` + own + `]}`}
		if got := outcome(v.Verify(t.Context(), token)); got != "accepted alice/editor" {
			t.Errorf("beside %s: %s", other, got)
		}
		v.issuer.client.Transport = replacing{v.issuer.transport, bearertest.KeysPath, `{"keys":[` + other + `]}`}
		if got := outcome(v.Verify(t.Context(), foreign)); !strings.HasPrefix(got, "unavailable") {
			t.Errorf("with nothing but %s: %s", other, got)
		}
		if got := outcome(v.Verify(t.Context(), token)); got != "accepted alice/editor" {
			t.Errorf("after nothing but %s: %s", other, got)
		}
	}
}

// replacing replaces the response of one path.
type replacing struct {
	http.RoundTripper
	path, body string
}

func (r replacing) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Path != r.path {
		return r.RoundTripper.RoundTrip(req)
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Header: http.Header{}, Request: req,
		Body: io.NopCloser(strings.NewReader(r.body))}, nil
}
