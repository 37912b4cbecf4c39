package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// callMachine is a machine on which nothing accepts connections but these addresses.
func callMachine(t *testing.T, accepts ...string) *Machine {
	t.Helper()
	m := ThisMachine()
	m.Home, m.Dir, m.Root = t.TempDir(), t.TempDir(), t.TempDir()
	m.Env = func(string) (string, bool) { return "", false }
	m.Lookup = func(_ context.Context, host string) ([]string, error) {
		if strings.HasSuffix(host, ".invalid") {
			return nil, errors.New("no such host")
		}
		return []string{"192.0.2.1"}, nil
	}
	m.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
		for _, one := range accepts {
			if one == address {
				a, _ := net.Pipe()
				return a, nil
			}
		}
		return nil, errors.New("refused")
	}
	return m
}

var lazyServer = launch.Spec{Command: "lazy-server", Args: []string{"--stdio"}, Env: []string{"LEVEL=1"}}

func TestAFailedCallIsExplained(t *testing.T) {
	for _, c := range []struct{ class, text, want string }{
		{"refused", "connect ECONNREFUSED 127.0.0.1:5432", "companion_app_not_running"},
		{"refused", "Error: Redis connection to 127.0.0.1:6399 failed - connect ECONNREFUSED ::1:6399", "companion_app_not_running"},
		{"refused", `OperationalError: connection to server at "localhost" (127.0.0.1), port 5499 failed: Connection refused`, "companion_app_not_running"},
		{"refused", "dial tcp 127.0.0.1:9201: connect: connection refused", "companion_app_not_running"},
		{"key", "401 bad credentials", "invalid_api_key"},
		{"key", "Error calling tracker: API key not valid. Please pass a valid API key.", "invalid_api_key"},
		{"key", "Request failed with status code 401", "http_unauthorized"},
		{"key", "invalid_token: The access token expired", "invalid_api_key"},
		{"database login", `password authentication failed for user "orders"`, "db_grant_missing"},
		{"database login", "Access denied for user 'app'@'localhost' (using password: YES)", "db_grant_missing"},
		{"database login", "FATAL: database \"orders_dev\" does not exist", "database_missing"},
		{"name", "getaddrinfo ENOTFOUND tracker.corp.example", "hostname_wrong"},
		{"name", "dial tcp: lookup db.orders.example on 10.0.0.2:53: no such host", "hostname_wrong"},
		{"name", "request to the tracker failed, reason: getaddrinfo EAI_AGAIN tracker.corp.example", "hostname_wrong"},
		{"certificate", "request failed: self-signed certificate in certificate chain", "private_ca_not_trusted"},
		{"certificate", "x509: certificate signed by unknown authority", "private_ca_not_trusted"},
		{"certificate", "Error: certificate has expired", "certificate_not_valid"},
		{"variable", "TRACKER_TOKEN environment variable is not set", "env_not_set"},
		{"variable", "Missing environment variable: ORDERS_DSN", "env_not_set"},
		{"variable", "Please set the WIKI_API_KEY environment variable", "env_not_set"},
	} {
		d := &CallDoctor{Machine: callMachine(t)}
		f := upstream.FailedCall{Tool: "list_orders", Text: c.text, Arguments: []byte(`{"limit":3}`)}
		if !d.Suspects(lazyServer, f) {
			t.Errorf("%s: %q is not examined", c.class, c.text)
			continue
		}
		if got := d.Examine(t.Context(), lazyServer, f); got.Code != c.want || got.Explanation == "" || got.Remedy == "" {
			t.Errorf("%s: %q: %+v, want %s", c.class, c.text, got, c.want)
		}
	}
}

// withProgram returns the machine with a program on its PATH.
func withProgram(t *testing.T, m *Machine, name string) *Machine {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, m.spellings(name)[0]), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	m.Env = func(name string) (string, bool) { return dir, name == "PATH" }
	return m
}

func TestAFailureThatIsNotTheSetupsIsNotExplained(t *testing.T) {
	long := "FAIL orders_test.go\n" + strings.Repeat("    an assertion of a test that a tool ran\n", 60) + "connect ECONNREFUSED 127.0.0.1:5432"
	for _, c := range []struct{ class, text, arguments string }{
		{"the task", `relation "users" does not exist`, `{"sql":"select * from users"}`},
		{"the task", "ENOENT: no such file or directory, open '/home/me/notes.txt'", `{"path":"/home/me/notes.txt"}`},
		{"the task", "Not Found", `{}`},
		{"the task", "403 Forbidden: you cannot merge your own change", `{"change":7}`},
		{"what the call names", "connect ECONNREFUSED 127.0.0.1:3000", `{"url":"http://localhost:3000/"}`},
		{"what the call names", "getaddrinfo ENOTFOUND shop.example", `{"host":"shop.example"}`},
		{"what the call names", "Request failed with status code 401", `{"address":"https://intranet.example/private"}`},
		{"what the call names", "connect ECONNREFUSED 127.0.0.1:8123", `{"command":"curl -s 127.0.0.1:8123"}`},
		{"output of a tool", long, `{"package":"orders"}`},
		{"a parser", "Invalid token: unexpected end of input at line 3", `{"sql":"selec"}`},
		{"a parser", "Unexpected token } in JSON at position 17", `{"body":"{}}"}`},
		{"a parser", "syntax error: invalid token near 'x'", `{"code":"x"}`},
		{"a limit", "token budget exceeded", `{}`},
		{"a rule", "The password must have 8 characters", `{"password":"x"}`},
		{"what the call names", "HTTP 401 Unauthorized", `{"page":"intranet.example/private"}`},
		{"what the call names", "x509: certificate has expired or is not yet valid", `{"domain":"shop.example"}`},
		{"what the call names", `FATAL: database "orders" does not exist`, `{"sql":"select 1","database":"orders"}`},
		{"what the call names", `FATAL: database "orders" does not exist`, `{"sql":"select 1","on":{"database":["orders"]}}`},
		{"credentials of the call", "401 Unauthorized: invalid username or password", `{"user":"ann","password":"canary-9"}`},
		{"credentials of the call", "Login failed: invalid credentials", `{"account":{"api_key":"canary-9"}}`},
		{"words of the call", "No results for '401 unauthorized invalid token'", `{"query":"401 unauthorized invalid token"}`},
		{"a program", "Error: connect ECONNREFUSED 127.0.0.1:5432", `{"command":"runtests --all"}`},
		{"a program", "ssh: connect to host build.example port 22: Connection refused", `{"argv":["runtests","--all"]}`},
		{"a program", "remote: Invalid username or token.\nfatal: Authentication failed for 'https://code.example/a.git/'", `{"command":"runtests"}`},
		{"a program", "Error: connect ECONNREFUSED 127.0.0.1:5432", `{"command":"./deploy.sh now"}`},
		{"a program", "Tests failed with exit code 1\nstderr: Error: connect ECONNREFUSED 127.0.0.1:5432", `{"suite":"orders"}`},
		{"a script", "Traceback (most recent call last):\n  File \"app.py\", line 3, in <module>\nKeyError: 'ORDERS_API_KEY'", `{"file":"app.py"}`},
		{"a script", "Traceback (most recent call last):\n  File \"<string>\", line 1\nConnectionRefusedError: [Errno 111] Connection refused", `{"cell":3}`},
		{"a page", "Error: page.click: net::ERR_CONNECTION_REFUSED at http://localhost:3000/", `{"element":"Next"}`},
		{"a different program", "Environment variable LEVEL_NAME is not set (at config.ts:3)", `{"path":"src"}`},
	} {
		d := &CallDoctor{Machine: withProgram(t, callMachine(t), "runtests")}
		lazyServer := lazyServer
		lazyServer.Env = append(lazyServer.Env, "LEVEL_NAME=low")
		f := upstream.FailedCall{Tool: "run", Text: c.text, Arguments: []byte(c.arguments)}
		if got := (d.Suspects(lazyServer, f)); got {
			if got := d.Examine(t.Context(), lazyServer, f); got.Known() {
				t.Errorf("%s: %q: %+v", c.class, c.text, got)
			}
		}
	}
	d := &CallDoctor{Machine: callMachine(t)}
	if d.Suspects(launch.Spec{URL: "https://example.com/mcp"}, upstream.FailedCall{Text: "connect ECONNREFUSED 127.0.0.1:5432"}) {
		t.Error("the machine of a remote server was taken for ours")
	}
}

func TestAResultThatClaimsSuccess(t *testing.T) {
	for text, want := range map[string]bool{
		"Error: 401 Bad credentials":                                             true,
		"HTTP 401: Unauthorized":                                                 true,
		"Request failed with status code 401":                                    true,
		"401 Unauthorized":                                                       true,
		"connect ECONNREFUSED 127.0.0.1:5432":                                    false, // what a search may find
		"There are 401 open orders":                                              false,
		"Troubleshooting\nError: 401 means that the key is wrong":                false,
		"The article explains why a request fails with status code 401 so often": false,
	} {
		d := &CallDoctor{Machine: callMachine(t)}
		f := upstream.FailedCall{Tool: "search", Text: text, Claimed: true}
		got := d.Suspects(lazyServer, f) && d.Examine(t.Context(), lazyServer, f).Known()
		if got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A library that hides why a connection failed says less than the addresses in the entry.
func TestAVagueFailureIsExplainedByTheAddressesOfTheEntry(t *testing.T) {
	for _, c := range []struct{ text, argument, want string }{
		{"", "postgresql://app@localhost:5499/orders", "companion_app_not_running"},
		{"fetch failed", "--base-url=http://127.0.0.1:8899", "companion_app_not_running"},
		{"MCP error -32603: Internal error", "redis://wiki.invalid:6379", "hostname_wrong"},
		{"Error: Connection error.", "https://tracker.invalid/api", "hostname_wrong"},
		{"fetch failed", "http://127.0.0.1:7777", ""}, // it accepts connections
		{"fetch failed", "--verbose", ""},
		{"the order 17 is closed", "postgresql://app@localhost:5499/orders", ""},
	} {
		d := &CallDoctor{Machine: callMachine(t, "127.0.0.1:7777")}
		spec := launch.Spec{Command: "lazy-server", Args: []string{c.argument}, Env: []string{}}
		f := upstream.FailedCall{Tool: "get", Text: c.text, Code: -32603}
		var got string
		if d.Suspects(spec, f) {
			got = d.Examine(t.Context(), spec, f).Code
		}
		if got != c.want {
			t.Errorf("%q with %s: %q, want %q", c.text, c.argument, got, c.want)
		}
	}
}

func TestTheCertificateOfAnAddressIsProbed(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	m := callMachine(t)
	m.Dial = (&net.Dialer{}).DialContext
	d := &CallDoctor{Machine: m}
	f := upstream.FailedCall{Tool: "get", Text: "fetch failed"}
	for _, form := range []string{"%s", "--api=%s/v1", "%s/graphql"} {
		spec := launch.Spec{Command: "node", Args: []string{fmt.Sprintf(form, server.URL)}, Env: []string{}}
		if got := d.Examine(t.Context(), spec, f); got.Code != "private_ca_not_trusted" || !strings.Contains(got.Remedy, "Do not disable certificate checks") {
			t.Errorf("%s: %+v", form, got)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	spec := launch.Spec{Command: "node", Args: []string{"https://slow.example"}, Env: []string{}}
	if got := d.Examine(ended, spec, f); got.Known() {
		t.Errorf("a look-up without time: %+v", got)
	}
}

func TestAVagueFailureIsExplainedByWhatTheServerWroteMeanwhile(t *testing.T) {
	for stderr, want := range map[string]string{
		"TypeError: fetch failed\n  [cause]: Error: getaddrinfo ENOTFOUND chat.corp.example\n      at x (node:dns:1:1)": "hostname_wrong",
		"tracker: POST /graphql: 401 bad credentials":                                                                   "invalid_api_key",
		"connect ECONNREFUSED 127.0.0.1:6399":                                                                           "companion_app_not_running",
		"handled list_orders in 3 ms":                                                                                   "",
		"":                                                                                                              "",
	} {
		d := &CallDoctor{Machine: callMachine(t)}
		f := upstream.FailedCall{Tool: "list_orders", Text: "fetch failed", Stderr: func() string { return stderr }}
		if got := d.Examine(t.Context(), lazyServer, f).Code; got != want {
			t.Errorf("%q: %q, want %q", stderr, got, want)
		}
		f.Text = "the order is closed"
		if got := d.Examine(t.Context(), lazyServer, f); got.Known() {
			t.Errorf("%q outweighs the server's own words: %+v", stderr, got)
		}
	}
}

func TestAFailedCallIsRememberedUntilItWorks(t *testing.T) {
	m := callMachine(t, "127.0.0.1:54320")
	compose := filepath.Join(m.Dir, "compose.yaml")
	if err := os.WriteFile(compose, []byte("services:\n  db:\n    ports: [\"54320:5432\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &CallDoctor{Machine: m, Log: CallLogIn(t.TempDir())}
	spec := launch.Spec{Command: "lazy-server", Args: []string{"postgres://app:hunter2hunter2@localhost:5432/x"}, Env: []string{}}
	f := upstream.FailedCall{Tool: "query", Text: "connect ECONNREFUSED 127.0.0.1:5432 as app:hunter2hunter2"}
	if got := d.Examine(t.Context(), spec, f); !strings.Contains(got.Remedy, "change port 5432 to 54320") {
		t.Fatalf("%+v", got)
	}
	files, _ := filepath.Glob(filepath.Join(d.Log.Dir, "*"))
	if len(files) != 1 {
		t.Fatalf("files: %q", files)
	}
	text, _ := os.ReadFile(files[0])
	info, _ := os.Stat(files[0])
	if strings.Contains(string(text), "hunter2") || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("%v %s", info.Mode(), text)
	}
	elsewhere := callMachine(t, "127.0.0.1:54320") // gauze doctor runs in a different directory
	r := d.Log.Recall(elsewhere, spec)
	if r == nil || !r.Changed || r.Spec.Args[0] != "postgres://app:hunter2hunter2@localhost:54320/x" || r.Tool != "query" {
		t.Fatalf("%+v", r)
	}
	if r := d.Log.Recall(callMachine(t, "127.0.0.1:5432"), spec); r != nil {
		t.Errorf("the database is back: %+v", r)
	}
	if d.Ailing(spec) != "query" {
		t.Error("the tool is not ailing")
	}
	d.Succeeded(spec, "other")
	if d.Log.Recall(elsewhere, spec) == nil {
		t.Error("a different tool's success made it forget")
	}
	d.Succeeded(spec, "query")
	if r := d.Log.Recall(elsewhere, spec); r != nil || d.Ailing(spec) != "" {
		t.Errorf("still remembered: %+v", r)
	}
}

// A look-up without a result in time is no fact: a service that runs need not be started, and a
// name that resolves slowly is not wrong. The cause that the text gives is still reported.
func TestALookUpWithoutTimeProvesNothing(t *testing.T) {
	knowledge() // not on the clock of the bubbles
	for _, c := range []struct{ text, argument, want string }{
		{"connect ECONNREFUSED 127.0.0.1:5432", "postgres://app@localhost:5432/x", "companion_app_not_running"},
		{"fetch failed", "postgres://app@localhost:5432/x", ""},
		{"fetch failed", "https://slow.example/api", ""},
	} {
		for _, ended := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				m := callMachine(t)
				m.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				m.Lookup = func(ctx context.Context, _ string) ([]string, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				if err := os.WriteFile(filepath.Join(m.Dir, "compose.yaml"), []byte("services:\n  db:\n    ports: [\"5432:5432\"]\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if ended {
					cancel()
				}
				d := &CallDoctor{Machine: m}
				spec := launch.Spec{Command: "lazy-server", Args: []string{c.argument}, Env: []string{}}
				got := d.Examine(ctx, spec, upstream.FailedCall{Tool: "query", Text: c.text})
				if got.Code != c.want || strings.Contains(got.Remedy, "must start") || strings.Contains(got.Explanation+got.Remedy, "nothing is listening") {
					t.Errorf("%q with %s, ended %v: %+v", c.text, c.argument, ended, got)
				}
			})
		}
	}
}

// The cause of the first failed call arrives, also where the look-ups for its fix take long.
func TestTheCauseDoesNotWaitForItsFix(t *testing.T) {
	knowledge()
	synctest.Test(t, func(t *testing.T) {
		m := callMachine(t)
		m.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		d := &CallDoctor{Machine: m}
		spec := launch.Spec{Command: "lazy-server", Args: []string{"postgres://app@localhost:5432/x", "redis://127.0.0.1:6379", "http://localhost:8080"}, Env: []string{}}
		start := time.Now()
		got := d.Examine(t.Context(), spec, upstream.FailedCall{Tool: "query", Text: "connect ECONNREFUSED 127.0.0.1:5432"})
		if took := time.Since(start); got.Code != "companion_app_not_running" || took > fixTimeout {
			t.Errorf("after %v: %+v", took, got)
		}
	})
}

func TestTheCallLogIsBounded(t *testing.T) {
	l := CallLogIn(t.TempDir())
	for i := range maxFailures + 20 {
		l.Put(launch.Spec{Command: fmt.Sprint("server", i), Env: []string{}}, CallFailure{At: time.Now(), Tool: "t", Said: strings.Repeat("x", 100<<10)})
	}
	files, _ := os.ReadDir(l.Dir)
	if len(files) > maxFailures {
		t.Errorf("%d files", len(files))
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Size() > maxFailureSize {
			t.Errorf("%s has %d bytes", f.Name(), info.Size())
		}
	}
	old := launch.Spec{Command: "old", Env: []string{}}
	if l.Put(old, CallFailure{At: time.Now().Add(-maxFailureAge - time.Hour), Tool: "t"}); l.Recall(callMachine(t), old) != nil {
		t.Error("a failure is remembered for too long")
	}
	CallLog{}.Put(old, CallFailure{}) // remembers nothing
	if _, ok := (CallLog{}).Get(old); ok {
		t.Error("a log without a directory remembers")
	}
}

func BenchmarkSuspects(b *testing.B) {
	d := &CallDoctor{Machine: ThisMachine()}
	f := upstream.FailedCall{Text: `relation "users" does not exist`}
	for b.Loop() {
		d.Suspects(lazyServer, f)
	}
}

func BenchmarkExamine(b *testing.B) {
	m := ThisMachine()
	m.Dir, m.Home = b.TempDir(), b.TempDir()
	d := &CallDoctor{Machine: m, Log: CallLogIn(b.TempDir())}
	f := upstream.FailedCall{Text: "connect ECONNREFUSED 127.0.0.1:1"}
	for b.Loop() {
		d.Examine(b.Context(), lazyServer, f)
	}
}

// A secret is hidden in everything that is remembered, also where the text is cut.
func TestTheCallLogHasNoPartOfASecret(t *testing.T) {
	const secret = "canary-7f3a9c1e5b2d"
	spec := launch.Spec{Command: "lazy-server", Env: []string{"LAZY_API_KEY=" + secret}}
	long := strings.Repeat("x", 1<<10-9) + " "
	l := CallLog{Dir: t.TempDir()}
	l.Put(spec, CallFailure{At: time.Now(), Tool: long + secret, Explanation: long + secret, Fix: "Set it to " + secret, Said: long + secret})
	text, err := os.ReadFile(l.file(spec))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "canary") {
		t.Errorf("%s", text)
	}
}

// composeAt makes a compose file of the machine's directory publish the database as port 54320.
func composeAt(t *testing.T, m *Machine, more string) (launch.Spec, upstream.FailedCall) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.Dir, "compose.yaml"), []byte("services:\n  db:\n    ports: [\"54320:5432\"]\n"+more), 0o600); err != nil {
		t.Fatal(err)
	}
	return launch.Spec{Command: "lazy-server", Args: []string{"postgres://app@localhost:5432/x"}, Env: []string{}},
		upstream.FailedCall{Tool: "query", Text: "connect ECONNREFUSED 127.0.0.1:5432"}
}

// On a busy machine every look takes long. The cause and its fix are still found while the response waits.
func TestAFailedCallIsExplainedOnABusyMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := callMachine(t, "127.0.0.1:54320")
		spec, f := composeAt(t, m, "")
		fast := m.Dial
		m.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			select {
			case <-time.After(900 * time.Millisecond):
				return fast(ctx, network, address)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		d := &CallDoctor{Machine: m, Log: CallLogIn(t.TempDir())}
		if got := d.Examine(ctx, spec, f); !strings.Contains(got.Remedy, "change port 5432 to 54320") || ctx.Err() != nil {
			t.Errorf("%+v, %v", got, ctx.Err())
		}
	})
}

// A fix that was found is not lost because a later look hangs, and nothing is said about what was not seen.
func TestALookThatHangsLosesNoFix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, port := range []string{"127.0.0.1:54320", "127.0.0.1:1"} { // the second is another service's
			m := callMachine(t, port)
			spec, f := composeAt(t, m, "  old:\n    ports: [\"54330:5432\"]\n")
			env := m.Env
			shell := filepath.Join(t.TempDir(), "sh")
			if err := os.WriteFile(shell, nil, 0o700); err != nil {
				t.Fatal(err)
			}
			m.Env = func(name string) (string, bool) {
				if name == "SHELL" {
					return shell, true
				}
				return env(name)
			}
			m.Run = func(ctx context.Context, _ []string, _ string, _ ...string) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			d := &CallDoctor{Machine: m, Log: CallLogIn(t.TempDir())}
			got := d.Examine(ctx, spec, f)
			if found := strings.Contains(got.Remedy, "change port 5432 to 54320"); found != (port == "127.0.0.1:54320") || strings.Contains(got.Remedy, "Docker") || !got.Known() || ctx.Err() != nil {
				t.Errorf("%s: %+v, %v", port, got, ctx.Err())
			}
			cancel()
		}
	})
}
