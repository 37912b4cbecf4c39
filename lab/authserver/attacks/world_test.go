package attacks

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// world is the hosts and people of one script.
type world struct {
	*testing.T
	*network
	*ledger
	self, roots string

	lenient, strict      *provider // lenient remembers consent and ignores the resource.
	mail, calendar, bank *service  // mail and calendar accept tokens of lenient, bank those of strict.
	hostile              *provider
	evil                 *service // evil accepts every token.

	people                        map[string]*person
	alice, bob, carol, dave, erin *person
}

const (
	mailURL     = "https://mcp.mail.example/mcp"
	calendarURL = "https://mcp.calendar.example/mcp"
	bankURL     = "https://mcp.bank.example/mcp"
	evilURL     = "https://mcp.evil.example/mcp"
)

func newWorld(t *testing.T) *world {
	w := &world{T: t, network: newNetwork(t), ledger: &ledger{}, people: map[string]*person{}}
	w.roots = filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(w.roots, authorityPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.self, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	w.lenient = w.newProvider("https://login.lenient.example", mailURL, false)
	w.strict = w.newProvider("https://login.strict.example", bankURL, true)
	w.hostile = w.newProvider("https://login.evil.example", "", false)
	w.hostile.open = true
	of := func(p *provider, resource string) func(string) string {
		return func(token string) string { return p.owner(token, resource) }
	}
	w.mail = w.newService(mailURL, w.lenient.origin, of(w.lenient, mailURL))
	w.calendar = w.newService(calendarURL, w.lenient.origin, of(w.lenient, calendarURL))
	w.bank = w.newService(bankURL, w.strict.origin, of(w.strict, bankURL))
	w.evil = w.newService(evilURL, w.hostile.origin, w.anybody)
	w.at(gaveUp, w.leave)
	for _, p := range []**person{&w.alice, &w.bob, &w.carol, &w.dave, &w.erin} {
		name := []string{"alice", "bob", "carol", "dave", "erin"}[len(w.people)]
		*p = w.newPerson(name)
		w.people[name] = *p
	}
	return w
}

// anybody is the owner of every token that some provider issued and did not revoke.
func (w *world) anybody(token string) string {
	for _, p := range []*provider{w.lenient, w.strict, w.hostile} {
		if p.valid(token) != nil {
			return "anybody"
		}
	}
	return ""
}

// gauze returns the path of the program, which the check builds. Go's test cache records what tests
// read, and nothing before them.
func gauze(t *testing.T) string {
	t.Helper()
	path := os.Getenv("GAUZE_BINARY")
	if path == "" {
		t.Fatal("GAUZE_BINARY is not set\nnext: go -C lab run ./check -only test-logins")
	}
	return path
}

// judge fails the test for each secret that was seen where it does not belong, or that was shown.
func (w *world) judge() {
	w.Helper()
	var heard strings.Builder
	for _, p := range w.people {
		heard.WriteString(p.heard.String())
	}
	for _, wrong := range w.verdict(w.all(), heard.String()) {
		w.Error(wrong)
	}
}

// redirect answers with a redirect to an address.
func redirect(status int, to string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Location", to)
		rw.WriteHeader(status)
	}
}
