//go:build linux

package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gauze-mcp/gauze/internal/dashboard"
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

func TestDashboardPrintsItsAddress(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	var before string
	for range 2 {
		cmd := program(t, "gauze", "dashboard", "--listen", "127.0.0.1:0")
		cmd.Env = append(os.Environ(), "GAUZE_STATE_DIR="+state)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		url, token, found := strings.Cut(strings.TrimSpace(line), "#token=")
		if !found || len(token) < 32 || !strings.HasPrefix(url, "http://127.0.0.1:") {
			t.Fatalf("printed %q", line)
		}
		if before != "" && token != before {
			t.Error("the token is a different one after a restart")
		}
		before = token
		if with, without := getWith(t, url, token), getWith(t, url, "x"); with != 200 || without != 401 {
			t.Errorf("status %d with the token, %d with a different one", with, without)
		}
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
	}
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
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(state, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	own, client := read("dashboard-token"), read("serve-token")
	url := strings.TrimSuffix(plain, "/") + dashboard.SecretPath(own) + "/"
	if code := getWith(t, plain, own); code != 404 {
		t.Errorf("status %d without the path of the token", code)
	}
	if with, without := getWith(t, plain+"metrics", own), getWith(t, plain+"metrics", client); with != 200 || without != 401 {
		t.Errorf("metrics: status %d with the user's token, %d with that of an MCP client", with, without)
	}
	if with, without := getWith(t, url, own), getWith(t, url, client); with != 200 || without != 401 {
		t.Errorf("status %d with the user's token, %d with that of an MCP client", with, without)
	}
	s.token = own
	if code, answer, _ := s.post("", `{}`); code != 401 {
		t.Errorf("the token of the dashboard opens the endpoint: %d %s", code, answer)
	}
	// A stream that is open does not delay the end.
	r, _ := http.NewRequest("GET", url+"live", nil)
	r.Header.Set("Authorization", "Bearer "+own)
	stream, err := http.DefaultClient.Do(r)
	if err != nil || stream.StatusCode != 200 {
		t.Fatalf("%v, %v", stream, err)
	}
	defer stream.Body.Close()
	if said := s.stop(); !strings.Contains(said, url) || strings.Contains(said, own) {
		t.Errorf("said %s", said)
	}

	s = startServeIn(t, state, "--no-dashboard", "--", "faultyserver")
	url = strings.TrimSuffix(s.url, "/mcp") + "/dashboard/"
	if code := getWith(t, url, client); code != 404 {
		t.Errorf("with --no-dashboard: status %d", code)
	}
	s.stop()
}
