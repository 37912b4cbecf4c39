package login

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	system "github.com/zalando/go-keyring"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
)

const server = "https://mcp.example.com/mcp"

// testStore returns an empty store with a keyring of its own; nil: none.
func testStore(t *testing.T, r ring) *Store {
	t.Helper()
	t.Setenv("GAUZE_KEYRING", "")
	s := Open(t.TempDir())
	s.key.ring = r
	return s
}

// sample returns a login whose secrets all contain canary.
func sample() Login {
	return Login{
		Key:      Key{server, "https://as.example.com", ""},
		Client:   Client{ID: "gauze", Secret: canary + "secret", Method: "client_secret_post"},
		TokenURL: "https://as.example.com/token",
		Scopes:   []string{"read", "offline_access"},
		Access:   canary + "access", Refresh: canary + "refresh", Previous: canary + "previous",
		Expires: time.Now().Add(time.Hour).Round(0).UTC(), Began: time.Now().Round(0).UTC(), Who: "ada@example.com",
	}
}

const canary = "Kq7vX2wZ9s-canary-"

// memory is a keyring that works.
type memory struct {
	err    error
	hangs  chan struct{} // waited for before each response; nil: it responds
	mu     sync.Mutex
	items  map[string]string
	reads  int
	writes int
}

func (m *memory) Get(service, item string) (string, error) {
	if m.hangs != nil {
		<-m.hangs
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	if m.err != nil {
		return "", m.err
	}
	if secret, ok := m.items[service+"/"+item]; ok {
		return secret, nil
	}
	return "", system.ErrNotFound
}

func (m *memory) Set(service, item, secret string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	if m.err != nil {
		return m.err
	}
	if m.items == nil {
		m.items = map[string]string{}
	}
	m.items[service+"/"+item] = secret
	return nil
}

func put(t *testing.T, s *Store, l Login) {
	t.Helper()
	if err := s.Add(t.Context(), l); err != nil {
		t.Fatal(err)
	}
}

// onlyFile returns the path of the only login.
func onlyFile(t *testing.T, s *Store) string {
	t.Helper()
	names, err := s.names()
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	return names[0]
}

func TestALoginIsReadAsItWasWritten(t *testing.T) {
	for what, r := range map[string]ring{"in plain text": nil, "encrypted": &memory{}} {
		t.Run(what, func(t *testing.T) {
			s := testStore(t, r)
			l := sample()
			if _, err := s.Find(l.Resource, ""); !errors.Is(err, ErrNone) {
				t.Fatal("before:", err)
			}
			put(t, s, l)
			got, err := s.Find(l.Resource, "")
			if err != nil || !reflect.DeepEqual(got, l) {
				t.Fatalf("%v, %v", got, err)
			}
			text, err := os.ReadFile(onlyFile(t, s))
			if err != nil || strings.Contains(string(text), canary) != (r == nil) || !strings.Contains(string(text), server) {
				t.Errorf("the file has the wrong content, %v", err)
			}
			if _, err := s.Find(l.Resource, "work"); !errors.Is(err, ErrNone) {
				t.Error("a different account:", err)
			}
			if err := s.Remove(l.Key); err != nil {
				t.Error(err)
			}
			if err := s.Remove(l.Key); !errors.Is(err, ErrNone) {
				t.Error("removed twice:", err)
			}
			if _, err := s.Find(l.Resource, ""); !errors.Is(err, ErrNone) {
				t.Error("after:", err)
			}
		})
	}
}

func TestTheLatestLoginIsFoundUnlessItHasEnded(t *testing.T) {
	s := testStore(t, nil)
	old, latest := sample(), sample()
	latest.Issuer, latest.Began = "https://moved.example.com", old.Began.Add(time.Hour)
	put(t, s, latest)
	put(t, s, old)
	if l, err := s.Find(server, ""); err != nil || l.Issuer != latest.Issuer {
		t.Error(l, err)
	}
	latest.Ended = "revoked"
	put(t, s, latest)
	if l, err := s.Find(server, ""); err != nil || l.Issuer != old.Issuer {
		t.Error(l, err)
	}
}

func TestAllReadsTheKeyringOnce(t *testing.T) {
	r := &memory{}
	s := testStore(t, r)
	for _, account := range []string{"b", "a", ""} {
		l := sample()
		l.Account = account
		put(t, s, l)
	}
	other := Open(filepath.Dir(s.dir)) // a different process
	other.key.ring = r
	r.reads = 0
	all, err := other.All()
	var accounts []string
	for _, l := range all {
		accounts = append(accounts, l.Account)
	}
	if err != nil || !slices.Equal(accounts, []string{"", "a", "b"}) || r.reads != 1 {
		t.Error(accounts, r.reads, err)
	}
}

func TestOnlyTheUserMayReadLogins(t *testing.T) {
	windowstest.Skip(t)
	s := testStore(t, nil)
	put(t, s, sample())
	file := onlyFile(t, s)
	mode := func(path string) fs.FileMode {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	if mode(file) != 0o600 || mode(s.dir) != 0o700 {
		t.Error(mode(file), mode(s.dir))
	}
	os.Chmod(file, 0o644)
	os.Chmod(s.dir, 0o755)
	if _, err := s.Find(server, ""); err != nil || mode(file) != 0o600 {
		t.Error("a file that others can read:", mode(file), err)
	}
	put(t, s, sample())
	if mode(s.dir) != 0o700 {
		t.Error("a directory that others can read:", mode(s.dir))
	}
}

func TestADamagedLoginIsExplained(t *testing.T) {
	encrypted := &memory{}
	for what, c := range map[string]struct {
		ring   ring
		change func(string) string
		says   string
	}{
		"empty":           {nil, func(string) string { return "" }, "is damaged"},
		"truncated":       {nil, func(s string) string { return s[:len(s)/2] }, "is damaged"},
		"not a login":     {nil, func(string) string { return "{}" }, "is damaged"},
		"different key":   {nil, func(s string) string { return strings.Replace(s, "as.example.com", "evil.example.com", 1) }, "is damaged"},
		"newer":           {nil, func(s string) string { return strings.Replace(s, `"gauze_login": 1`, `"gauze_login": 2`, 1) }, "newer version of gauze"},
		"moved to a host": {encrypted, func(s string) string { return strings.Replace(s, "as.example.com", "evil.example.com", 1) }, "is damaged"},
		"sealed differs":  {encrypted, func(s string) string { return strings.Replace(s, `"sealed": "`, `"sealed": "AAAA`, 1) }, "is damaged"},
	} {
		t.Run(what, func(t *testing.T) {
			s := testStore(t, c.ring)
			put(t, s, sample())
			file := onlyFile(t, s)
			text, _ := os.ReadFile(file)
			if err := os.WriteFile(file, []byte(c.change(string(text))), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := s.Find(server, "")
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "gauze login") {
				t.Error(err)
			}
			if _, err := s.All(); err == nil {
				t.Error("All does not report it")
			}
			put(t, s, sample())
			if _, err := s.Find(server, ""); err != nil {
				t.Error("after a new login:", err)
			}
		})
	}
}

func TestALockedKeyringLosesNoLogin(t *testing.T) {
	r := &memory{}
	s := testStore(t, r)
	put(t, s, sample())
	before, _ := os.ReadFile(onlyFile(t, s))

	locked := Open(filepath.Dir(s.dir))
	locked.key.ring = &memory{err: errors.New("prompt dismissed")}
	for range 2 {
		if _, err := locked.Find(server, ""); err == nil || !strings.Contains(err.Error(), "encrypted with a key in the system keyring, which is locked") {
			t.Error(err)
		}
	}
	if reads := locked.key.ring.(*memory).reads; reads != 1 {
		t.Errorf("it was asked %d times", reads)
	}
	if all, err := locked.All(); err == nil || len(all) != 1 || all[0].Key != sample().Key {
		t.Error(all, err)
	}
	if err := locked.Add(t.Context(), sample()); err == nil {
		t.Error("the login was replaced")
	}
	if after, _ := os.ReadFile(onlyFile(t, s)); string(after) != string(before) {
		t.Error("the file changed")
	}

	other := sample()
	other.Account = "a login that is not encrypted"
	put(t, locked, other)
	if l, err := locked.Find(server, other.Account); err != nil || l.Access != other.Access {
		t.Error(err)
	}

	t.Setenv("GAUZE_KEYRING", "off")
	if _, err := locked.Find(server, ""); err == nil || !strings.Contains(err.Error(), "GAUZE_KEYRING") {
		t.Error(err)
	}
}

func TestTheSystemKeyringIsUsedThroughItsLibrary(t *testing.T) {
	system.MockInit()
	s := testStore(t, systemRing{})
	put(t, s, sample())
	if text, _ := os.ReadFile(onlyFile(t, s)); strings.Contains(string(text), canary) {
		t.Error("it is not encrypted")
	}
	system.MockInitWithError(errors.New("locked"))
	other := Open(filepath.Dir(s.dir))
	other.key.ring = systemRing{}
	if _, err := other.Find(server, ""); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Error(err)
	}
	system.MockInit() // a new keyring, without the key
	other = Open(filepath.Dir(s.dir))
	other.key.ring = systemRing{}
	if _, err := other.Find(server, ""); err == nil || !strings.Contains(err.Error(), "no longer contains it: log in again with gauze login") {
		t.Error(err)
	}
	put(t, other, sample())
	if _, err := other.Find(server, ""); err != nil {
		t.Error(err)
	}
}

func TestAKeyringThatDoesNotRespondIsNotWaitedFor(t *testing.T) {
	r := &memory{}
	s := testStore(t, r)
	put(t, s, sample())
	hanging := &memory{hangs: make(chan struct{})}
	defer close(hanging.hangs)
	s.key = &keyring{ring: hanging, timeout: time.Millisecond}
	for range 2 {
		if _, err := s.Find(server, ""); err == nil || !strings.Contains(err.Error(), "no response within 1ms") {
			t.Error(err)
		}
	}
}

func TestTheKeyIsMadeOnce(t *testing.T) {
	r := &memory{}
	first := testStore(t, r)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			s := Open(filepath.Dir(first.dir))
			s.key.ring = r
			l := sample()
			l.Account = fmt.Sprint(n)
			if err := s.Add(t.Context(), l); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if found, err := first.All(); err != nil || len(found) != 8 || r.writes != 1 {
		t.Error(len(found), r.writes, err)
	}
}

// A login of a session without a keyring must stay readable there after a process with one renewed
// it.
func TestARenewedLoginStaysReadable(t *testing.T) {
	s := testStore(t, nil)
	l := sample()
	put(t, s, l)
	desktop := Open(filepath.Dir(s.dir))
	desktop.key.ring = &memory{}
	l.Access = canary + "renewed"
	put(t, desktop, l)
	if got, err := s.Find(server, ""); err != nil || got.Access != l.Access {
		t.Error(err)
	}
	l.Began = l.Began.Add(time.Minute) // a new login
	put(t, desktop, l)
	if _, err := s.Find(server, ""); err == nil {
		t.Error("the new login is not encrypted")
	}
}

func TestResourceIsCanonical(t *testing.T) {
	for in, want := range map[string]string{
		"https://MCP.Example.com:443/":                "https://mcp.example.com",
		"https://mcp.example.com":                     "https://mcp.example.com",
		"HTTP://localhost:80/mcp/":                    "http://localhost/mcp",
		"http://[::1]:8080/Mcp":                       "http://[::1]:8080/Mcp",
		"https://u:p@mcp.example.com/a%2Fb?key=1#top": "https://mcp.example.com/a%2Fb",
	} {
		if got := Resource(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
		if got := Resource(want); got != want {
			t.Errorf("%s is not stable: %s", want, got)
		}
	}
}
