package bearer

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/bearertest"
)

const audience = "https://mcp.example.com/mcp"

func startIssuer(t *testing.T, path string) *bearertest.Issuer {
	t.Helper()
	i := bearertest.Start(path)
	t.Cleanup(i.Close)
	return i
}

// verifier returns a Verifier for tokens of i, as changed by change.
func verifier(t *testing.T, i *bearertest.Issuer, change func(*Config)) *Verifier {
	t.Helper()
	c := Config{Issuer: i.URL, Audience: audience, Scopes: []string{"tools:read"}}
	if change != nil {
		change(&c)
	}
	v, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// outcome names what Verify returned.
func outcome(who Identity, err error) string {
	switch err := err.(type) {
	case nil:
		return "accepted " + who.Subject + "/" + who.Client
	case *Invalid:
		return "invalid: " + err.Why
	case *MissingScope:
		return "scope"
	case *Unavailable:
		return "unavailable: " + err.Error()
	}
	return "an error of an unknown type"
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestTokens(t *testing.T) {
	i := startIssuer(t, "")
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, _ := ed25519.GenerateKey(rand.Reader)
	i.Publish("rsa", rsaKey)
	i.Publish("ed", edKey)
	own := newKey(t)
	i.Publish("ec", own)
	v := verifier(t, i, nil)

	type change = map[string]any
	with := func(c change) string { return i.Token(i.Claims(audience, c)) }
	signed := func(header change, key any) string { return bearertest.Sign(header, i.Claims(audience, nil), key) }
	ec := func(more change) change {
		header := change{"alg": "ES256", "kid": "ec", "typ": "at+jwt"}
		for name, value := range more {
			header[name] = value
		}
		return header
	}
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	valid := with(nil)
	parts := strings.Split(valid, ".")
	var jwk any
	json.Unmarshal(i.PublicKey(), &jwk)
	other, _ := json.Marshal(i.Claims(audience, change{"sub": "mallory"}))

	for _, test := range []struct{ name, token, want string }{
		{"valid", valid, "accepted alice/editor"},
		{"RS256", signed(change{"alg": "RS256", "kid": "rsa"}, rsaKey), "accepted alice/editor"},
		{"EdDSA", signed(change{"alg": "EdDSA", "kid": "ed"}, edKey), "accepted alice/editor"},
		{"no kid", signed(change{"alg": "ES256"}, own), "accepted alice/editor"},
		{"typ JWT", signed(ec(change{"typ": "JWT"}), own), "accepted alice/editor"},
		{"typ in full", signed(ec(change{"typ": "application/AT+JWT"}), own), "accepted alice/editor"},
		{"several audiences", with(change{"aud": []string{"x", audience}}), "accepted alice/editor"},
		{"scp as a list", with(change{"scope": nil, "scp": []string{"tools:read"}}), "accepted alice/editor"},
		{"scp as a string", with(change{"scope": nil, "scp": "a tools:read"}), "accepted alice/editor"},
		{"azp", with(change{"client_id": nil, "azp": "studio"}), "accepted alice/studio"},
		{"no subject", with(change{"sub": nil}), "accepted /editor"},
		{"just expired", with(change{"exp": in(-30 * time.Second)}), "accepted alice/editor"},
		{"valid soon", with(change{"nbf": in(30 * time.Second)}), "accepted alice/editor"},
		{"a fraction of a second", with(change{"exp": float64(in(time.Hour)) + 0.5}), "accepted alice/editor"},

		{"a different issuer", with(change{"iss": "https://evil.example.com"}), "different authorization server"},
		{"an issuer with a slash", with(change{"iss": i.URL + "/"}), "different authorization server"},
		{"no issuer", with(change{"iss": nil}), "different authorization server"},
		{"a different audience", with(change{"aud": "https://mcp.example.com"}), "different audience"},
		{"a longer audience", with(change{"aud": audience + "/x"}), "different audience"},
		{"audiences that begin alike", with(change{"aud": []string{audience + "/"}}), "different audience"},
		{"no audience", with(change{"aud": nil}), "different audience"},
		{"an audience of null", with(change{"aud": json.RawMessage("null")}), "different audience"},
		{"expired", with(change{"exp": in(-2 * time.Minute)}), "expired"},
		{"no expiry", with(change{"exp": nil}), "no expiry"},
		{"an expiry that overflows", with(change{"exp": 1e300}), "malformed"},
		{"an expiry as a string", with(change{"exp": "tomorrow"}), "malformed"},
		{"not valid yet", with(change{"nbf": in(2 * time.Minute)}), "not valid yet"},
		{"bound to a key", with(change{"cnf": change{"jkt": "x"}}), "bound to a key"},
		{"an ID token", with(change{"at_hash": "x"}), "ID token"},
		{"nobody", with(change{"sub": nil, "client_id": nil}), "neither"},
		{"no scope", with(change{"scope": nil}), "scope"},
		{"a different scope", with(change{"scope": "tools:readonly tools"}), "scope"},
		{"a subject that is not a string", with(change{"sub": 7}), "malformed"},

		{"alg none", signed(change{"alg": "none"}, nil), "algorithm"},
		{"alg None", signed(change{"alg": "None"}, nil), "algorithm"},
		{"no alg", signed(change{"typ": "JWT"}, nil), "algorithm"},
		{"HS256 with the public key", signed(change{"alg": "HS256", "kid": "first"}, i.PublicKey()), "algorithm"},
		{"HS256 with nothing", signed(change{"alg": "HS256", "kid": "first"}, []byte{}), "algorithm"},
		{"the key of a different type", signed(change{"alg": "RS256", "kid": "ec"}, rsaKey), "not signed with a key"},
		{"its own key in the header", signed(ec(change{"kid": "mine", "jwk": jwk}), newKey(t)), "not signed with a key"},
		{"its own key set in the header", signed(ec(change{"kid": "mine", "jku": "https://evil.example.com/keys"}), newKey(t)), "not signed with a key"},
		{"an unknown key", signed(ec(change{"kid": "unknown"}), newKey(t)), "not signed with a key"},
		{"a known name, a different key", signed(ec(nil), newKey(t)), "not signed with a key"},
		{"a critical extension", signed(ec(change{"crit": []string{"x"}, "x": 1}), own), "invalid"},
		{"a logout token", signed(ec(change{"typ": "logout+jwt"}), own), "another type"},
		{"a proof of possession", signed(ec(change{"typ": "dpop+jwt"}), own), "another type"},
		{"no signature", parts[0] + "." + parts[1] + ".", "not signed with a key"},
		{"a changed payload", parts[0] + "." + base64.RawURLEncoding.EncodeToString(other) + "." + parts[2], "not signed with a key"},
		{"two parts", parts[0] + "." + parts[1], "not a signed JWT"},
		{"four parts", valid + "." + parts[2], "not a signed JWT"},
		{"five parts", valid + ".a.b", "not a signed JWT"},
		{"JSON", `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`, "characters"},
		{"white space", valid[:10] + "\n" + valid[10:], "characters"},
		{"opaque", "gho_0123456789", "not a signed JWT"},
		{"empty", "", "characters"},
		{"huge", parts[0] + "." + strings.Repeat("A", 1<<20) + "." + parts[2], "longer than"},
		{"huge and deep", parts[0] + "." + strings.Repeat("Wwww", 3000) + "." + parts[2], "not signed with a key"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v.keys.limit.SetBurst(1000) // each unknown key is looked up: that is not the subject here
			got := outcome(v.Verify(t.Context(), test.token))
			accepted, must := strings.HasPrefix(got, "accepted "), strings.HasPrefix(test.want, "accepted ")
			if accepted != must || !strings.Contains(got, test.want) {
				t.Errorf("%s, want %s", got, test.want)
			}
			if len(test.token) > 20 && strings.Contains(got, test.token) {
				t.Error("the token is in the error")
			}
		})
	}
}

func TestIdentitiesAreApart(t *testing.T) {
	all := []Identity{
		{Issuer: "i", Subject: "alice", Client: "editor"}, {Issuer: "i", Subject: "bob", Client: "editor"}, {Issuer: "i", Subject: "alice", Client: "studio"}, {Issuer: "j", Subject: "alice", Client: "editor"},
		{Issuer: "i", Subject: "alice", Client: ""}, {Issuer: "i", Subject: "", Client: "alice"}, {Issuer: "i", Subject: `alice","editor`, Client: ""}, {Issuer: "i", Subject: "aliceeditor", Client: ""}, {},
	}
	seen := map[[32]byte]Identity{{}: {Issuer: "no one"}}
	for _, one := range all {
		if other, known := seen[one.Key()]; known {
			t.Errorf("%v has the key of %v", one, other)
		}
		seen[one.Key()] = one
	}
}

func TestARotatedKeyIsFetchedOnce(t *testing.T) {
	i := startIssuer(t, "")
	v := verifier(t, i, nil)
	old := i.Token(i.Claims(audience, nil))
	for range 3 {
		if got := outcome(v.Verify(t.Context(), old)); got != "accepted alice/editor" {
			t.Fatal(got)
		}
	}
	i.Rotate("second")
	fresh := i.Token(i.Claims(audience, nil))
	for range 3 {
		if got := outcome(v.Verify(t.Context(), fresh)); got != "accepted alice/editor" {
			t.Fatal(got)
		}
	}
	if n := i.Seen(bearertest.KeysPath); n != 2 {
		t.Errorf("the keys were fetched %d times, want 2", n)
	}
	if got := outcome(v.Verify(t.Context(), old)); !strings.HasPrefix(got, "invalid") {
		t.Errorf("a token with a removed key: %s", got)
	}
}

// The response to a request for keys may be older than a token that arrives before it.
func TestATokenIsNotJudgedByOlderKeys(t *testing.T) {
	i := startIssuer(t, "")
	v := verifier(t, i, nil)
	slow := &late{RoundTripper: v.issuer.transport, path: bearertest.KeysPath, answered: make(chan struct{}), pass: make(chan struct{})}
	v.issuer.client.Transport = slow
	old, fresh := make(chan string), make(chan string)
	first := i.Token(i.Claims(audience, nil))
	go func() { old <- outcome(v.Verify(t.Context(), first)) }()
	<-slow.answered
	i.Rotate("second")
	second := i.Token(i.Claims(audience, nil))
	go func() { fresh <- outcome(v.Verify(t.Context(), second)) }()
	close(slow.pass)
	if got := <-old; got != "accepted alice/editor" {
		t.Errorf("the token that caused the first request: %s", got)
	}
	if got := <-fresh; got != "accepted alice/editor" {
		t.Errorf("the token with the new key: %s", got)
	}
}

// late passes the first response of a path on when it is told to.
type late struct {
	http.RoundTripper
	path           string
	once           sync.Once
	answered, pass chan struct{}
}

func (l *late) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(r)
	if r.URL.Path == l.path {
		l.once.Do(func() {
			close(l.answered)
			<-l.pass
		})
	}
	return response, err
}

func TestUnknownKeysCauseFewRequests(t *testing.T) {
	i := startIssuer(t, "")
	v := verifier(t, i, nil)
	valid := i.Token(i.Claims(audience, nil))
	key := newKey(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 25 {
				foreign := bearertest.Sign(map[string]any{"alg": "ES256", "kid": rand.Text()}, i.Claims(audience, nil), key)
				if got := outcome(v.Verify(t.Context(), foreign)); !strings.HasPrefix(got, "invalid") {
					t.Error(got)
				}
			}
		})
	}
	all.Wait()
	if got := outcome(v.Verify(t.Context(), valid)); got != "accepted alice/editor" {
		t.Error(got)
	}
	if n := i.Seen(bearertest.KeysPath); n > 2*keyBurst {
		t.Errorf("200 tokens caused %d requests for keys", n)
	}
}

func TestAnIssuerThatIsDown(t *testing.T) {
	i := startIssuer(t, "")
	var reports []error
	v := verifier(t, i, func(c *Config) { c.Report = func(err error) { reports = append(reports, err) } })
	i.SetDown(true)
	valid := i.Token(i.Claims(audience, nil))
	for range 3 {
		if got := outcome(v.Verify(t.Context(), valid)); !strings.HasPrefix(got, "unavailable") || !strings.Contains(got, "502") {
			t.Fatal(got)
		}
	}
	if len(reports) != 1 {
		t.Errorf("reported %d times: %v", len(reports), reports)
	}
	if down, ok := errors.AsType[*Unavailable](v.Prepare(t.Context())); !ok || !strings.Contains(down.Error(), i.URL) {
		t.Errorf("prepared with %v", down)
	}
	i.SetDown(false)
	v.issuer.tried = time.Time{} // as after the pause
	if got := outcome(v.Verify(t.Context(), valid)); got != "accepted alice/editor" {
		t.Fatal(got)
	}
	i.SetDown(true)
	if got := outcome(v.Verify(t.Context(), valid)); got != "accepted alice/editor" {
		t.Errorf("with cached keys: %s", got)
	}
	// Its key may be new, so nothing is known about this one, however often it is sent.
	foreign := bearertest.Sign(map[string]any{"alg": "ES256", "kid": "new"}, i.Claims(audience, nil), newKey(t))
	for range 2 * keyBurst {
		if got := outcome(v.Verify(t.Context(), foreign)); !strings.HasPrefix(got, "unavailable") {
			t.Fatal(got)
		}
	}
	if got := outcome(v.Verify(t.Context(), valid)); got != "accepted alice/editor" {
		t.Errorf("after that: %s", got)
	}
}

func TestARemovedKeyEnds(t *testing.T) {
	i := startIssuer(t, "")
	var mu sync.Mutex
	now := time.Now()
	v := verifier(t, i, func(c *Config) {
		c.now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	})
	old := i.Token(i.Claims(audience, nil))
	if got := outcome(v.Verify(t.Context(), old)); got != "accepted alice/editor" {
		t.Fatal(got)
	}
	later := func() {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(maxKeyAge + time.Second)
	}
	i.SetDown(true)
	later()
	if got := outcome(v.Verify(t.Context(), old)); got != "accepted alice/editor" {
		t.Errorf("while the issuer is down: %s", got)
	}
	v.keys.renewing.Wait()
	if got := outcome(v.Verify(t.Context(), old)); got != "accepted alice/editor" {
		t.Errorf("after new keys could not be fetched: %s", got)
	}
	i.SetDown(false)
	i.Rotate("second")
	later()
	v.Verify(t.Context(), old) // with the old keys, while the new ones are fetched
	v.keys.renewing.Wait()
	if got := outcome(v.Verify(t.Context(), old)); !strings.HasPrefix(got, "invalid") {
		t.Errorf("a token with a removed key: %s", got)
	}
}

func TestTheAddressOfTheKeysMoves(t *testing.T) {
	i, other := startIssuer(t, ""), startIssuer(t, "")
	now := time.Now()
	v := verifier(t, i, func(c *Config) { c.now = func() time.Time { return now } })
	v.keys.limit.SetBurst(1000)
	if got := outcome(v.Verify(t.Context(), i.Token(i.Claims(audience, nil)))); got != "accepted alice/editor" {
		t.Fatal(got)
	}
	other.Rotate("moved")
	i.ChangeMetadata(func(meta map[string]any) { meta["jwks_uri"] = other.URL + bearertest.KeysPath })
	fresh := other.Token(i.Claims(audience, nil))
	// Each of these also makes gauze fetch the keys, at the old address.
	for range 3 {
		now = now.Add(maxKeyAge/2 + time.Second)
		v.Verify(t.Context(), fresh)
		v.keys.renewing.Wait()
	}
	if got := outcome(v.Verify(t.Context(), fresh)); got != "accepted alice/editor" {
		t.Error(got)
	}
}

func TestKeysThatCouldNotBeRenewedAreTriedAgain(t *testing.T) {
	i := startIssuer(t, "")
	now := time.Now()
	v := verifier(t, i, func(c *Config) { c.now = func() time.Time { return now } })
	old := i.Token(i.Claims(audience, nil))
	verify := func(later time.Duration) string {
		now = now.Add(later)
		v.Verify(t.Context(), old)
		v.keys.renewing.Wait()
		return outcome(v.Verify(t.Context(), old))
	}
	verify(0)
	i.Rotate("second")
	i.SetDown(true)
	if got := verify(maxKeyAge + time.Second); got != "accepted alice/editor" {
		t.Errorf("while the issuer is down: %s", got)
	}
	i.SetDown(false)
	if got := verify(renewalPause + time.Second); !strings.HasPrefix(got, "invalid") {
		t.Errorf("after the issuer is back: %s", got)
	}
}

func TestKeysAreNotThoseThatAProxyKept(t *testing.T) {
	i := startIssuer(t, "")
	v := verifier(t, i, nil)
	strict := &asked{RoundTripper: v.issuer.transport}
	v.issuer.client.Transport = strict
	if got := outcome(v.Verify(t.Context(), i.Token(i.Claims(audience, nil)))); got != "accepted alice/editor" {
		t.Fatal(got)
	}
	if got := strict.last.Get("Cache-Control"); got != "no-cache" {
		t.Errorf("Cache-Control: %q", got)
	}
	if got := strict.last.Get("Accept"); !strings.Contains(got, "application/jwk-set+json") || !strings.Contains(got, "application/json") {
		t.Errorf("Accept: %q", got)
	}
}

// asked keeps the header of the last request.
type asked struct {
	http.RoundTripper
	last http.Header
}

func (a *asked) RoundTrip(r *http.Request) (*http.Response, error) {
	a.last = r.Header
	return a.RoundTripper.RoundTrip(r)
}

func TestMetadataIsFoundWhereIssuersHaveIt(t *testing.T) {
	for _, test := range []struct{ issuer, path string }{
		{"", "/.well-known/oauth-authorization-server"},
		{"", "/.well-known/openid-configuration"},
		{"/", "/.well-known/openid-configuration"},
		{"/realms/one", "/.well-known/oauth-authorization-server/realms/one"},
		{"/realms/one", "/.well-known/openid-configuration/realms/one"},
		{"/realms/one", "/realms/one/.well-known/openid-configuration"},
		{"/realms/one", "/realms/one/.well-known/oauth-authorization-server"},
	} {
		i := startIssuer(t, test.issuer)
		i.MetadataOnlyAt(test.path)
		v := verifier(t, i, nil)
		if err := v.Prepare(t.Context()); err != nil {
			t.Errorf("%q at %s: %v", test.issuer, test.path, err)
		}
		if got := outcome(v.Verify(t.Context(), i.Token(i.Claims(audience, nil)))); got != "accepted alice/editor" {
			t.Errorf("%q at %s: %s", test.issuer, test.path, got)
		}
	}
}

func TestMetadataThatCannotBeUsed(t *testing.T) {
	for _, test := range []struct {
		name, key string
		value     any
		want      string
	}{
		{"a different issuer", "issuer", "https://evil.example.com", `"https://evil.example.com"`},
		{"no keys", "jwks_uri", "", "--oauth-introspect"},
		{"keys over http", "jwks_uri", "http://keys.example.com/", "invalid jwks_uri"},
		{"keys in a file", "jwks_uri", "file:///etc/keys", "invalid jwks_uri"},
		{"introspection over http", "introspection_endpoint", "http://auth.example.com/", "invalid introspection_endpoint"},
		{"a type that differs", "jwks_uri", 7, "not the expected JSON"},
		{"a huge document", "padding", strings.Repeat("x", maxDocument), "larger than"},
	} {
		i := startIssuer(t, "")
		i.ChangeMetadata(func(meta map[string]any) { meta[test.key] = test.value })
		v := verifier(t, i, nil)
		err := v.Prepare(t.Context())
		if _, temporary := errors.AsType[*Unavailable](err); err == nil || temporary || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
		if got := outcome(v.Verify(t.Context(), i.Token(i.Claims(audience, nil)))); !strings.HasPrefix(got, "unavailable") {
			t.Errorf("%s: %s", test.name, got)
		}
	}
}

func TestAddressesOfIssuers(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://auth.example.com": true, "https://auth.example.com/realms/a/": true, "http://127.0.0.1:8080/x": true, "http://[::1]:1": true, "http://localhost:9": true,
		"http://auth.example.com": false, "http://10.0.0.1": false, "auth.example.com": false, "": false, "https://": false, "https://a.example.com?x=1": false,
		"https://a.example.com#": false, "https://u:p@a.example.com": false, "javascript:alert(1)": false, "https:a.example.com": false, "http://localhost.example.com": false,
	} {
		if err := CheckURL(address); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestAClientThatLeavesDoesNotEndTheDiscoveryForOthers(t *testing.T) {
	i := startIssuer(t, "")
	v := verifier(t, i, nil)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	valid := i.Token(i.Claims(audience, nil))
	v.Verify(gone, valid)
	if got := outcome(v.Verify(t.Context(), valid)); got != "accepted alice/editor" {
		t.Error(got)
	}
}
