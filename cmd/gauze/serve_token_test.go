//go:build linux

package main

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestServeCreatesATokenAndKeepsIt(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	s := startServeIn(t, state, "--", "faultyserver")
	if code, answer, _ := s.post("", `{}`); code != 401 {
		t.Errorf("without a token: status %d: %s", code, answer)
	}
	file := filepath.Join(state, "serve-token")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token file: %v, %v", info.Mode(), err)
	}
	s.token = strings.TrimSpace(string(text))
	if s.initialize() == "" {
		t.Error("the token in the file does not open a session")
	}
	if said := s.stop(); !strings.Contains(said, file) || strings.Contains(said, s.token) {
		t.Errorf("said %s", said)
	}
	var config struct {
		MCPServers map[string]struct {
			Type, URL string
			Headers   map[string]string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(s.out.Bytes(), &config); err != nil {
		t.Fatalf("printed %s: %v", s.out.String(), err)
	}
	if entry := config.MCPServers["gauze"]; entry.Type != "http" || entry.URL != s.url || entry.Headers["Authorization"] != "Bearer "+s.token {
		t.Errorf("printed %s", s.out.String())
	}

	again := startServeIn(t, state, "--", "faultyserver")
	again.token = s.token
	if again.initialize() == "" {
		t.Error("the token is not used again")
	}
	if said := again.stop(); !strings.Contains(said, file) || strings.Contains(said+again.out.String(), s.token) {
		t.Errorf("said %s, printed %s", said, again.out.String())
	}
	if names, _ := filepath.Glob(filepath.Join(state, "*token*")); len(names) != 2 { // of clients, and of the dashboard
		t.Errorf("the state directory has %v", names)
	}
}

func TestWithoutATokenTheGuardStays(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--", "faultyserver")
	if s.initialize() == "" {
		t.Error("a token is needed")
	}
	for header, value := range map[string]string{"Origin": "https://evil.example", "Host": "evil.example"} {
		if code := s.statusWith(header, value); code != 403 {
			t.Errorf("%s: %s gets status %d", header, value, code)
		}
	}
}

// runUntilListening runs gauze serve, which must fail, and returns its output.
func runUntilListening(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		if strings.HasPrefix(lines.Text(), "gauze: listening on ") {
			t.Error("it serves")
			cmd.Process.Kill()
		}
	}
	if cmd.Wait() == nil {
		t.Error("it succeeded")
	}
	return said.String()
}

// statusWith returns the status of a GET with this header.
func (s *served) statusWith(name, value string) int {
	s.t.Helper()
	r, err := http.NewRequest("GET", s.url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if r.Header.Set(name, value); name == "Host" {
		r.Host = value
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

func TestWeakTokensAreRefused(t *testing.T) {
	for _, token := range []string{
		"short", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "1234567890123456", "passwordpassword", "password12345678", "qwertyuiopasdfgh",
		"changeme-changeme-changeme", "abcdefghijklmnopqrstuvwxyz", "0123456789abcdef0123456789abcdef", "my-secret-token-1",
	} {
		if err := checkToken(token, "the token"); err == nil || strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), "openssl rand") {
			t.Errorf("%s: %v", token, err)
		}
	}
	for range 10_000 {
		var random [16]byte
		rand.Read(random[:])
		if token := hex.EncodeToString(random[:]); checkToken(token, "the token") != nil {
			t.Errorf("%s, which is random, is refused", token)
		}
	}
	for _, token := range []string{"3f2b8c1e-9a47-4d05-b6e2-71c0f8a95d34", "kX9-vQ2_mT7pLz4RbW1nHs"} {
		if err := checkToken(token, "the token"); err != nil {
			t.Errorf("%s: %v", token, err)
		}
	}
}

const goodToken = "5d1f0c7a92e84b36f1a7c03e6d82b549"

func TestServeRefusesWhatDoesNotProtect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // not subject to umask
			t.Fatal(err)
		}
		return path
	}
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"a weak variable":      {[]string{"--token-env", "WEAK"}, "the token in WEAK is too easy to guess"},
		"a weak file":          {[]string{"--token-file", file("weak", goodToken+"\npasswordpassword\n", 0o600)}, "weak, line 2, is too easy to guess"},
		"a file for the group": {[]string{"--token-file", file("group", goodToken, 0o640)}, "chmod 600 " + dir},
		"a file for everybody": {[]string{"--token-file", file("all", goodToken, 0o644)}, "(mode 0644)"},
		"an empty file":        {[]string{"--token-file", file("empty", "\n", 0o600)}, "no token in"},
		"no file":              {[]string{"--token-file", filepath.Join(dir, "none")}, "cannot read the token file"},
		"two sources":          {[]string{"--token-file", "x", "--token-env", "WEAK"}, "cannot be combined"},
		"a token and no token": {[]string{"--no-token", "--token-env", "WEAK"}, "cannot be combined"},
		"a variable not set":   {[]string{"--token-env", "NOT_SET"}, "is not set"},
		"a state file for all": {nil, "serve-token (mode 0644)"},
	} {
		t.Run(name, func(t *testing.T) {
			state := filepath.Join(dir, "state")
			os.MkdirAll(state, 0o700)
			file("state/serve-token", goodToken, 0o644)
			cmd := program(t, "gauze", append(append([]string{"serve", "--listen", "127.0.0.1:0"}, test.args...), "--", "faultyserver")...)
			cmd.Env = append(os.Environ(), "WEAK=passwordpassword", "GAUZE_STATE_DIR="+state)
			out := runUntilListening(t, cmd)
			flat := strings.ToLower(strings.Join(strings.Fields(out), " ")) // errors are wrapped and begin with a capital
			if !strings.Contains(flat, strings.ToLower(test.says)) || strings.Contains(out, "passwordpassword") || strings.Contains(out, goodToken) {
				t.Errorf("said %s", out)
			}
		})
	}
}
