//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// served is a gauze serve process.
type served struct {
	t     *testing.T
	cmd   *exec.Cmd
	url   string
	token string
	out   bytes.Buffer // complete after stop
	err   *bufio.Reader
}

// startServe starts gauze serve without a token on a free port and waits until
// it listens.
func startServe(t *testing.T, args ...string) *served {
	t.Helper()
	return startServeIn(t, t.TempDir(), append([]string{"--no-token"}, args...)...)
}

// startServeIn starts gauze serve with this state directory.
func startServeIn(t *testing.T, state string, args ...string) *served {
	t.Helper()
	return startServeWith(t, []string{"GAUZE_STATE_DIR=" + state}, args...)
}

// startServeWith starts gauze serve with additional variables.
func startServeWith(t *testing.T, environ []string, args ...string) *served {
	t.Helper()
	return startListening(t, environ, "serve", args...)
}

// startListening starts gauze serve or gauze up.
func startListening(t *testing.T, environ []string, command string, args ...string) *served {
	t.Helper()
	cmd := program(t, "gauze", slices.Concat([]string{command, "--listen", "127.0.0.1:0"}, args)...)
	cmd.Env = append(os.Environ(), environ...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, cmd: cmd}
	cmd.Stdout = &s.out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.err = bufio.NewReader(stderr)
	t.Cleanup(func() { cmd.Wait() })
	line, _ := s.err.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "gauze: listening on ")
	if !ok {
		t.Fatalf("said %q", line)
	}
	s.url = url
	return s
}

// stop ends gauze serve and returns its stderr since it listened.
func (s *served) stop() string {
	s.t.Helper()
	s.cmd.Process.Signal(syscall.SIGTERM)
	said, _ := io.ReadAll(s.err)
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("it ended with %v", err)
	}
	return string(said)
}

func (s *served) post(session, body string) (status int, answer string, header http.Header) {
	s.t.Helper()
	response := s.open(session, body)
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text), response.Header
}

// open posts and returns as soon as the response begins.
func (s *served) open(session, body string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequest("POST", s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return response
}

// initialize begins a session and returns its id.
func (s *served) initialize() string {
	s.t.Helper()
	_, _, header := s.post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	return header.Get("Mcp-Session-Id")
}

func TestServeAnswersAndStopsInOrder(t *testing.T) {
	t.Parallel()
	status := filepath.Join(t.TempDir(), "status")
	s := startServe(t, "--status-file", status, "--", "faultyserver")
	session := s.initialize()
	if code, answer, _ := s.post(session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`); code != 200 || !strings.Contains(answer, "hello") {
		t.Errorf("status %d: %s", code, answer)
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	io.Copy(io.Discard, s.err)
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	var counted struct {
		Sessions int
		Calls    struct{ Calls int }
	}
	text, err := os.ReadFile(status)
	if err != nil || json.Unmarshal(text, &counted) != nil || counted.Sessions != 1 || counted.Calls.Calls != 2 {
		t.Errorf("the status is %s, %v", text, err)
	}
}

func TestASecondSignalHurries(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--drain", "10m", "--", "faultyserver")
	response := s.open(s.initialize(), `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":1},"name":"progress","arguments":{"n":-1,"interval_ms":10}}}`)
	defer response.Body.Close() // its first bytes have arrived: the call is running
	s.cmd.Process.Signal(syscall.SIGTERM)
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/mcp")
	for {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			break // the signal has arrived: no new connections
		}
		conn.Close()
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	if answer, _ := io.ReadAll(response.Body); !strings.Contains(string(answer), "[gauze: ") {
		t.Errorf("answered %s", answer)
	}
	io.Copy(io.Discard, s.err)
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestServeDoesNotTellItsToken(t *testing.T) {
	t.Parallel()
	const token = "a-secret-of-many-characters"
	s := startServeWith(t, []string{"GAUZE_STATE_DIR=" + t.TempDir(), "TEST_TOKEN=" + token}, "--token-env", "TEST_TOKEN", "--", "faultyserver")
	if code, answer, header := s.post("", `{}`); code != 401 || strings.Contains(answer, token) || header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("status %d: %s", code, answer)
	}
	s.token = token
	session := s.initialize()
	if _, answer, _ := s.post(session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"env","arguments":{}}}`); !strings.Contains(answer, "PATH=") || strings.Contains(answer, token) {
		t.Errorf("the server has the token: %s", answer)
	}
	s.cmd.Process.Signal(os.Interrupt)
	if said, _ := io.ReadAll(s.err); strings.Contains(string(said), token) {
		t.Errorf("said %s", said)
	}
}

// A client with the token of a profile must not learn that of everything from a tool that shows variables.
func TestUpDoesNotTellItsTokens(t *testing.T) {
	t.Parallel()
	const all, pinned = "a-secret-of-many-characters", "another-secret-of-many-characters"
	dir := t.TempDir()
	path := filepath.Join(dir, "up.yaml")
	file := "servers: {faulty: {command: [faultyserver]}}\nprofiles: {p: {servers: [faulty]}}\ntokens: {ci: {env: TEST_PINNED, profile: p}}\n"
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"GAUZE_STATE_DIR=" + dir, "TEST_ALL=" + all, "TEST_PINNED=" + pinned}
	s := startListening(t, environ, "up", "--token-env", "TEST_ALL", path)
	s.token = pinned
	session := s.initialize()
	_, answer, _ := s.post(session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"faulty__env","arguments":{}}}`)
	if !strings.Contains(answer, "PATH=") || strings.Contains(answer, all) || strings.Contains(answer, pinned) {
		t.Errorf("the server has a token: %s", answer)
	}
	s.stop()
}

// peakRSS returns the peak memory of the process in bytes.
func (s *served) peakRSS() int {
	s.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kB, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		s.t.Fatal(err)
	}
	return kB << 10
}

// unfinished sends a body of 16 MiB but for its last byte, or as much of it as
// is accepted, and keeps the connection open.
func (s *served) unfinished() {
	const size = 16 << 20
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/mcp")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		s.t.Error(err)
		return
	}
	s.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience.Limit()))
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n", address, size)
	io.Copy(conn, io.LimitReader(spaces{}, size-1)) // fails where the body is refused
}

// A request may be as long as the longest message that the user lets pass.
func TestServeAcceptsWhatMaxMessageLetsPass(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--max-message", "18MiB", "--", "faultyserver")
	long := strings.Repeat("x", 17<<20)
	code, answer, _ := s.post(s.initialize(), `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`+long+`"}}}`)
	if code != 200 || !strings.Contains(answer, long) {
		t.Errorf("status %d, %d bytes: %.300s", code, len(answer), answer)
	}
}

type spaces struct{}

func (spaces) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

func TestUnfinishedBodiesCostLittleAndKeepNobodyOut(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--", "faultyserver")
	serveOne := func() {
		session := s.initialize()
		code, answer, _ := s.post(session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"served"}}}`)
		if code != 200 || !strings.Contains(answer, "served") {
			t.Errorf("status %d: %s", code, answer)
		}
	}
	var all sync.WaitGroup
	for range 200 {
		all.Go(s.unfinished)
	}
	serveOne() // while they send
	all.Wait()
	serveOne() // while those that were accepted are held
	peak := s.peakRSS()
	t.Logf("gauze serve used %d MiB", peak>>20)
	if peak > 400<<20 {
		t.Errorf("gauze serve used %d MiB, want at most 400", peak>>20)
	}
}

func TestFaultD10AnAddressOthersCanReachNeedsAToken(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:0"} {
		out, err := program(t, "gauze", "serve", "--listen", address, "--", "true").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--token-env") {
			t.Errorf("%s: %v, %s", address, err, out)
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	out, err := program(t, "gauze", "serve", "--no-token", "--listen", taken.Addr().String(), "--", "true").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "in use") || !strings.Contains(string(out), "--listen") {
		t.Errorf("%v, %s", err, out)
	}
}
