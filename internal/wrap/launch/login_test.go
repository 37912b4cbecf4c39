package launch

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestLoginHidesItsSecret(t *testing.T) {
	const canary = "canary-of-the-client"
	l := Login{ClientID: "robot", ClientSecret: canary, SecretSource: "the variable X"}
	s := Spec{URL: "https://example.com/mcp", Login: l}
	inJSON, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("login", "login", l)
	printed := []string{string(inJSON), logged.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		printed = append(printed, fmt.Sprintf(verb, l), fmt.Sprintf(verb, &l), fmt.Sprintf(verb, s), fmt.Sprintf(verb, []Login{l}))
	}
	for _, text := range printed {
		if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
			t.Errorf("the secret is shown: %s", text)
		}
	}
	if text := fmt.Sprint(l); !strings.Contains(text, "robot") || !strings.Contains(text, "the variable X") {
		t.Errorf("%s says nothing about the login", text)
	}
	other := s
	other.Login.ClientSecret = "a different one"
	if other.Fingerprint() == s.Fingerprint() {
		t.Error("the fingerprint does not contain the secret")
	}
}
