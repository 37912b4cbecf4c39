package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// standIn is the least that passes: a proxy that reads each request whole before it passes it on. With a method refused
// it is one that the suite must notice.
type standIn struct{ refuses string }

func (s standIn) open(_ context.Context, t target) (string, func() error, error) {
	to, err := url.Parse(t.url)
	if err != nil {
		return "", nil, err
	}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.URL.Path = to.Scheme, to.Host, to.Path
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == s.refuses {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	return server.URL + "/mcp", func() error { server.CloseClientConnections(); return nil }, nil
}

// The suite starts the test binary in the place of the client, as it starts the command in earnest.
func TestMain(m *testing.M) {
	if client := os.Getenv(envClient); client != "" {
		os.Exit(runClientThrough(context.Background(), standIn{}, client, os.Args[1:]))
	}
	os.Exit(m.Run())
}

func testLab(t *testing.T) *lab {
	t.Helper()
	windowstest.Skip(t)
	return &lab{parts: realparts.NeedConformance(t), dir: t.TempDir(), log: t.Output()}
}

func (l *lab) must(t *testing.T, leg leg, f front) sheet {
	t.Helper()
	s, err := l.once(t.Context(), leg, f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheSuiteSeesWhatAFrontDoes(t *testing.T) {
	l, leg := testLab(t), leg{"2025-11-25", httpToHTTP}
	direct := []sheet{l.must(t, leg, nil)}
	if n := direct[0].verdicts(); n < 80 {
		t.Fatalf("only %d checks", n)
	}
	again := func() { // for a check that varies without a proxy, too
		for len(direct) < 3 {
			direct = append(direct, l.must(t, leg, nil))
		}
	}
	plain := report{leg: leg, through: []sheet{l.must(t, leg, standIn{})}}
	if plain.compare(direct); len(plain.differences) > 0 {
		again()
		plain.compare(direct)
	}
	if show(t.Output(), []report{plain}, true) != 0 {
		t.Error("the plain proxy makes a difference")
	}
	deaf := report{leg: leg, through: []sheet{l.must(t, leg, standIn{refuses: http.MethodDelete})}}
	if deaf.compare(direct); len(deaf.differences) > 2 {
		again()
		deaf.compare(direct)
	}
	var got []string
	for _, d := range deaf.differences {
		got = append(got, d.id+" "+d.direct+" "+d.through)
	}
	want := "server-session-delete-accepted SUCCESS SKIPPED\nserver-session-terminated-returns-404 SUCCESS SKIPPED"
	if strings.Join(got, "\n") != want {
		t.Errorf("a front that refuses DELETE makes these differences:\n%s", strings.Join(got, "\n"))
	}
}

func TestAFrontIsPutBetweenClientAndSuite(t *testing.T) {
	l, leg := testLab(t), leg{"2026-07-28", client}
	direct := l.must(t, leg, nil)
	through := l.must(t, leg, standIn{})
	maps.DeleteFunc(through, func(k key, _ []check) bool { return k.login() }) // the proxy does not log in
	r := report{leg: leg, through: []sheet{through}}
	r.compare([]sheet{direct})
	if status := show(t.Output(), []report{r}, false); status != 0 {
		t.Error("the plain proxy makes a difference")
	}
}
