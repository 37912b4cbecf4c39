package login

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// childVariable makes the test binary a process that uses a login: what it does, the URL of the
// issuer, and its name.
const childVariable = "GAUZE_LOGIN_TEST_CHILD"

func TestMain(m *testing.M) {
	if fields := strings.Fields(os.Getenv(childVariable)); len(fields) == 3 {
		if err := child(fields[0], fields[1], fields[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// numCalls is how many calls a child makes.
const numCalls = 40

func child(what, address, name string) error {
	i := &issuer{Server: &httptest.Server{URL: address}}
	s := New(address+"/mcp?"+name, launch.Login{}, Config{Client: http.DefaultClient})
	if what == "die" {
		s.answered = func() {
			p, _ := os.FindProcess(os.Getpid())
			p.Kill()
			select {}
		}
	}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	for n := range numCalls {
		if status, err := i.callTo(context.Background(), s, s.url, http.DefaultClient); status != 200 || err != nil {
			return fmt.Errorf("call %d: %d, %w", n, status, err)
		}
	}
	Wait(context.Background())
	return nil
}

// children starts processes that share a store, lets them begin together, and returns their errors.
func children(t *testing.T, store *Store, i *issuer, what string, number int) []error {
	t.Helper()
	errs := make([]error, number)
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for n := range number {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s p%d", childVariable, what, i.URL, n), "GAUZE_KEYRING=off", "GAUZE_STATE_DIR="+strings.TrimSuffix(store.dir, "logins"))
		var stderr strings.Builder
		cmd.Stderr = &stderr
		stdin, _ := cmd.StdinPipe()
		stdout, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ready.Add(1)
		done.Go(func() {
			bufio.NewReader(stdout).ReadString('\n')
			ready.Done()
			<-start
			io.WriteString(stdin, "go\n")
			if err := cmd.Wait(); err != nil {
				errs[n] = fmt.Errorf("%w: %s", err, stderr.String())
			}
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	return errs
}

// A token is accepted a few times from each process, so that each expires while others use it.
func TestProcessesRenewALoginOnce(t *testing.T) {
	const maxUses, numProcesses = 8, 8
	i := newIssuer(t)
	uses := map[string]int{}
	i.set(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/mcp" {
			return false
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		use := bearer(r) + r.URL.RawQuery
		if uses[use]++; uses[use] > maxUses {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return false
	})
	store := testStore(t, nil)
	put(t, store, i.login())
	for n, err := range children(t, store, i, "call", numProcesses) {
		if err != nil {
			t.Error(n, err)
		}
	}
	sent := i.received()
	if slices.Sort(sent); len(slices.Compact(slices.Clone(sent))) != len(sent) {
		t.Error("a refresh token was sent twice")
	}
	if len(sent) < numCalls/maxUses {
		t.Errorf("%d renewals: the tokens did not expire", len(sent))
	}
	l, err := store.Find(Resource(i.URL+"/mcp"), "")
	if err != nil || l.Ended != "" || l.Refresh != i.refresh {
		t.Error(l.Status(), err)
	}
}

// A process is killed after the server rotated the token and before it is stored: the token is lost.
// The old one is tried; if the server rejects it, the user is asked once.
func TestAProcessKilledBeforeItStoresATokenLosesNothingElse(t *testing.T) {
	for _, forgiving := range []bool{true, false} {
		t.Run(fmt.Sprint("the server accepts the old one: ", forgiving), func(t *testing.T) {
			i := newIssuer(t)
			i.stays = forgiving
			store := testStore(t, nil)
			put(t, store, i.login())
			if err := children(t, store, i, "die", 1)[0]; err == nil {
				t.Fatal("it was not killed")
			}
			l, err := store.Find(Resource(i.URL+"/mcp"), "")
			if err != nil || l.Refresh != i.login().Refresh || len(i.received()) != 1 {
				t.Fatal("it stored the token:", l.Status(), err)
			}
			var ended []Status
			s := i.source(store, Config{Renewed: func(s Status) { ended = append(ended, s) }})
			status, err := i.call(t.Context(), s)
			if forgiving {
				if status != 200 || err != nil {
					t.Error(status, err)
				}
				return
			}
			var needed *Needed
			if !errors.As(err, &needed) || len(ended) != 1 || ended[0].Ended == "" {
				t.Error(err, ended)
			}
			if sent := i.received(); !slices.Equal(sent, []string{canary + "refresh-0", canary + "refresh-0"}) {
				t.Errorf("%d tokens were sent", len(sent))
			}
			if l, err = store.Find(s.resource, ""); err != nil || l.Ended == "" || l.Access+l.Refresh+l.Previous != "" || l.Client.ID == "" {
				t.Error("the record:", l.Status(), err)
			}
			i.call(t.Context(), s)
			if len(ended) != 1 || len(i.received()) != 2 {
				t.Error("it was tried again")
			}
		})
	}
}

func BenchmarkHeader(b *testing.B) {
	b.Setenv("GAUZE_KEYRING", "off")
	i := newIssuer(b)
	measure := func(b *testing.B, store *Store) {
		s := i.source(store, Config{})
		s.header(b.Context())
		for b.Loop() {
			s.header(b.Context())
		}
	}
	b.Run("no store", func(b *testing.B) { measure(b, Open(b.TempDir())) })
	b.Run("no login", func(b *testing.B) {
		store := Open(b.TempDir())
		store.Add(b.Context(), sample())
		settle(b, store.dir)
		measure(b, store)
	})
	b.Run("login", func(b *testing.B) {
		store := Open(b.TempDir())
		l := i.login()
		store.Add(b.Context(), l)
		settle(b, store.path(l.Key))
		measure(b, store)
	})
	b.Run("login written now", func(b *testing.B) {
		store := Open(b.TempDir())
		l := i.login()
		store.Add(b.Context(), l)
		os.Chtimes(store.path(l.Key), time.Now(), time.Now().Add(time.Second/2))
		measure(b, store)
	})
}

// settle makes a file look as if it was written a while ago.
func settle(b *testing.B, path string) {
	b.Helper()
	past := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, past, past); err != nil {
		b.Fatal(err)
	}
}
