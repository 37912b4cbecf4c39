//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/dashlogin"
)

// getWith gets a page with a token and returns its status.
func getWith(t *testing.T, url, token string) int {
	t.Helper()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// startDashboard starts gauze dashboard and returns the address that it prints.
func startDashboard(t *testing.T, state string) (address string, stop func() (said string)) {
	t.Helper()
	cmd := program(t, "gauze", "dashboard", "--listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "GAUZE_STATE_DIR="+state)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(stdout)
	line, _ := out.ReadString('\n')
	t.Cleanup(func() { cmd.Wait() })
	return strings.TrimSpace(line), func() string {
		cmd.Process.Signal(syscall.SIGTERM)
		rest, _ := io.ReadAll(out)
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
		return string(rest) + stderr.String()
	}
}

// logIn opens the address of a dashboard and returns a client that is logged in, and the first page.
func logIn(t *testing.T, address string) (client *http.Client, home string) {
	t.Helper()
	client, home, err := dashlogin.Open(address)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	return client, home
}

// wantRefused checks that an address logs nobody in, and that the page says what to do.
func wantRefused(t *testing.T, address, next string) {
	t.Helper()
	_, _, err := dashlogin.Open(address)
	if !errors.Is(err, dashlogin.ErrRefused) || !strings.Contains(err.Error(), next) {
		t.Errorf("%s: %v, want a refusal that says %q", address, err, next)
	}
}

// output runs gauze with a state directory and returns its stdout.
func output(t *testing.T, state string, args ...string) string {
	t.Helper()
	cmd := program(t, "gauze", args...)
	cmd.Env = append(os.Environ(), "GAUZE_STATE_DIR="+state)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("gauze %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// readToken returns the token in a file of the state directory.
func readToken(t *testing.T, state, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(state, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func TestTheAddressOfTheDashboardIsUsedOnce(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	address, stop := startDashboard(t, state)
	plain, _, found := strings.Cut(address, "#")
	if !found || !strings.HasPrefix(plain, "http://127.0.0.1:") || strings.Contains(address, readToken(t, state, "dashboard-token")) {
		t.Fatalf("printed %q", address)
	}
	client, home := logIn(t, address)
	if status, page, err := dashlogin.Get(client, home+"/timeline"); status != 200 || err != nil {
		t.Errorf("after the login: %d %v %s", status, err, page)
	}
	again := "gauze dashboard --at " + plain
	wantRefused(t, address, again)
	secret := strings.TrimPrefix(home+"/", plain)

	// A second process gives a new address for the one that runs, which also works once.
	second := output(t, state, "dashboard", "--at", plain)
	logIn(t, second)
	wantRefused(t, second, again)
	// The token is not shown to the port: whatever listens there must not get it.
	unused := output(t, state, "dashboard", "--at", plain)
	other, stopOther := startDashboard(t, state)
	otherPlain, _, _ := strings.Cut(other, "#")
	wantRefused(t, strings.Replace(unused, plain, otherPlain, 1), "gauze dashboard --at "+otherPlain)
	foreign := program(t, "gauze", "dashboard", "--at", plain)
	foreign.Env = append(os.Environ(), "GAUZE_STATE_DIR="+filepath.Join(t.TempDir(), "foreign"))
	if out, err := foreign.CombinedOutput(); err == nil || !strings.Contains(string(out), "no dashboard that uses this state directory is running at "+plain) {
		t.Errorf("with a different state directory: %v, %s", err, out)
	}
	stopOther()
	if left, err := os.ReadDir(filepath.Join(state, "dashboards")); err != nil || len(left) != 1 {
		t.Errorf("%v, %v, want the one that runs", left, err)
	}

	said := stop()
	wantNowhere(t, strings.Trim(secret, "/"), said, state)
	info, err := os.Stat(filepath.Join(state, "dashboard-token"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token's file: %v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(state, "journal.db")); err == nil {
		t.Error("a page created the journal")
	}
}

func TestTheDashboardIsForThisMachineOnly(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0", "127.0.0.1"} {
		if l, err := listenDashboard(listen); err == nil {
			l.Close()
			t.Errorf("it listens on %s", listen)
		}
	}
}

func TestServeHasADashboardForTheUserOnly(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	s := startServeIn(t, state, "--", "faultyserver")
	plain := strings.TrimSuffix(s.url, "/mcp") + "/dashboard/"
	own, client := readToken(t, state, "dashboard-token"), readToken(t, state, "serve-token")
	if with, without := getWith(t, plain+"metrics", own), getWith(t, plain+"metrics", client); with != 200 || without != 401 {
		t.Errorf("metrics: status %d with the user's token, %d with that of an MCP client", with, without)
	}
	if code := getWith(t, plain, own); code != 401 {
		t.Errorf("the token, which programs have, opens a page: %d", code)
	}
	browser, home := logIn(t, output(t, state, "dashboard", "--at", plain))
	s.token = own
	if code, answer, _ := s.post("", `{}`); code != 401 {
		t.Errorf("the token of the dashboard opens the endpoint: %d %s", code, answer)
	}
	// A stream that is open does not delay the end.
	stream, err := browser.Get(home + "/live")
	if err != nil || stream.StatusCode != 200 {
		t.Fatalf("%v, %v", stream, err)
	}
	defer stream.Body.Close()
	secret := strings.TrimPrefix(home+"/", plain)
	said := s.stop()
	if !strings.Contains(said, "gauze dashboard --at "+plain) || strings.Contains(said, own) || strings.Contains(said, "#") {
		t.Errorf("said %s", said)
	}
	wantNowhere(t, strings.Trim(secret, "/"), said, state)

	s = startServeIn(t, state, "--no-dashboard", "--", "faultyserver")
	url := strings.TrimSuffix(s.url, "/mcp") + "/dashboard/"
	if code := getWith(t, url, client); code != 404 {
		t.Errorf("with --no-dashboard: status %d", code)
	}
	s.stop()
}

// wantNowhere checks that a secret is neither in the output nor in a file of the state directory.
func wantNowhere(t *testing.T, secret, said, state string) {
	t.Helper()
	if len(secret) < 16 {
		t.Fatalf("%q is too short to be a secret", secret)
	}
	if strings.Contains(said, secret) {
		t.Errorf("%s is in the output: %s", secret, said)
	}
	err := filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(secret)) || strings.Contains(path, secret) {
			t.Errorf("%s is in %s", secret, path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
