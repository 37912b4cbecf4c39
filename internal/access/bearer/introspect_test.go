package bearer

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/bearertest"
)

// introspecting returns a Verifier that asks i, and a function that moves its clock.
func introspecting(t *testing.T, i *bearertest.Issuer) (*Verifier, func(time.Duration)) {
	t.Helper()
	var mu sync.Mutex
	var offset time.Duration
	v := verifier(t, i, func(c *Config) {
		c.Introspection = &Credentials{i.Client, i.Secret}
		c.now = func() time.Time { mu.Lock(); defer mu.Unlock(); return time.Now().Add(offset) }
	})
	return v, func(d time.Duration) { mu.Lock(); defer mu.Unlock(); offset += d }
}

func TestIntrospection(t *testing.T) {
	i := startIssuer(t, "")
	v, _ := introspecting(t, i)
	if err := v.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n, test := range []struct {
		change map[string]any
		want   string
	}{
		{nil, "accepted alice/editor"},
		{map[string]any{"iss": nil}, "accepted alice/editor"},
		{map[string]any{"exp": nil}, "accepted alice/editor"},
		{map[string]any{"iss": "https://evil.example.com"}, "different authorization server"},
		{map[string]any{"aud": nil}, "different audience"},
		{map[string]any{"aud": []string{"x"}}, "different audience"},
		{map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}, "expired"},
		{map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}, "not valid yet"},
		{map[string]any{"scope": "x"}, "scope"},
		{map[string]any{"cnf": map[string]any{"x5t#S256": "x"}}, "bound to a key"},
		{map[string]any{"sub": nil, "client_id": nil}, "neither"},
		{map[string]any{"active": false}, "revoked"},
	} {
		token := fmt.Sprint("opaque-", n)
		i.Activate(token, i.Claims(audience, test.change))
		if got := outcome(v.Verify(t.Context(), token)); !strings.Contains(got, test.want) {
			t.Errorf("%v: %s", test.change, got)
		}
	}
	if got := outcome(v.Verify(t.Context(), "never-issued")); !strings.Contains(got, "revoked") {
		t.Errorf("a token that nobody issued: %s", got)
	}
}

func TestARevokedTokenEnds(t *testing.T) {
	i := startIssuer(t, "")
	v, pass := introspecting(t, i)
	i.Activate("one", i.Claims(audience, nil))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := outcome(v.Verify(t.Context(), "one")); got != "accepted alice/editor" {
				t.Error(got)
			}
		})
	}
	all.Wait()
	if n := i.Seen(bearertest.IntrospectPath); n != 1 {
		t.Errorf("asked %d times, want 1", n)
	}
	i.Activate("one", nil)
	pass(answerTTL)
	if got := outcome(v.Verify(t.Context(), "one")); !strings.Contains(got, "revoked") {
		t.Error(got)
	}
}

func TestAnAnswerIsNotUsedBeyondTheExpiry(t *testing.T) {
	i := startIssuer(t, "")
	v, pass := introspecting(t, i)
	i.Activate("short", i.Claims(audience, map[string]any{"exp": time.Now().Add(10 * time.Second).Unix()}))
	if got := outcome(v.Verify(t.Context(), "short")); got != "accepted alice/editor" {
		t.Fatal(got)
	}
	i.Activate("short", nil)
	pass(11 * time.Second)
	if got := outcome(v.Verify(t.Context(), "short")); !strings.Contains(got, "revoked") {
		t.Error(got)
	}
}

func TestIntrospectionThatFails(t *testing.T) {
	i := startIssuer(t, "")
	v, pass := introspecting(t, i)
	i.Activate("one", i.Claims(audience, nil))
	v.Verify(t.Context(), "one")
	i.SetDown(true)
	pass(answerTTL)
	if got := outcome(v.Verify(t.Context(), "one")); !strings.HasPrefix(got, "unavailable") {
		t.Error(got)
	}
	i.SetDown(false)
	if got := outcome(v.Verify(t.Context(), "one")); got != "accepted alice/editor" {
		t.Errorf("a failure was remembered: %s", got)
	}
	i.Secret = "changed"
	pass(answerTTL)
	got := outcome(v.Verify(t.Context(), "one"))
	if !strings.HasPrefix(got, "unavailable") || !strings.Contains(got, "client ID or secret") || strings.Contains(got, v.Introspection.Secret) {
		t.Error(got)
	}
	if err := v.Prepare(t.Context()); err == nil || strings.Contains(err.Error(), v.Introspection.Secret) {
		t.Errorf("prepared with %v", err)
	}
}

func TestIntrospectionUsesTheMethodThatIsOffered(t *testing.T) {
	i := startIssuer(t, "")
	i.ChangeMetadata(func(meta map[string]any) {
		meta["introspection_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
	})
	v, _ := introspecting(t, i)
	if err := v.Prepare(t.Context()); err != nil {
		t.Error(err)
	}
	i.ChangeMetadata(func(meta map[string]any) { delete(meta, "introspection_endpoint") })
	v, _ = introspecting(t, i)
	if err := v.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "introspection_endpoint") {
		t.Error(err)
	}
}

func TestAnswersAreLimited(t *testing.T) {
	i := startIssuer(t, "")
	v, _ := introspecting(t, i)
	until := time.Now().Add(time.Hour)
	for n := range maxAnswers {
		v.answers.all[[32]byte{byte(n), byte(n >> 8), 1}] = &answer{until: until}
	}
	i.Activate("one", i.Claims(audience, nil))
	if got := outcome(v.Verify(t.Context(), "one")); got != "accepted alice/editor" || len(v.answers.all) > maxAnswers {
		t.Errorf("%s, with %d answers", got, len(v.answers.all))
	}
	for _, a := range v.answers.all {
		a.until = time.Time{} // all are being asked for
	}
	for n := range maxAnswers {
		v.answers.all[[32]byte{byte(n), byte(n >> 8), 2}] = &answer{}
	}
	if got := outcome(v.Verify(t.Context(), "two")); !strings.HasPrefix(got, "unavailable") {
		t.Error(got)
	}
}
