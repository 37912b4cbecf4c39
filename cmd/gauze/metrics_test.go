//go:build linux

package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// get sends a request without a body.
func get(t *testing.T, method, url, token string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestPrometheusReadsServeAndDashboard(t *testing.T) {
	t.Parallel()
	state, err := os.MkdirTemp("", "gauze-live-") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	const token = "a-secret-of-many-characters"
	s := startServeWith(t, []string{"GAUZE_STATE_DIR=" + state, "TEST_TOKEN=" + token}, "--token-env", "TEST_TOKEN", "--name", "notes", "--", "faultyserver")
	url := strings.TrimSuffix(s.url, "/mcp") + "/metrics"
	for _, wrong := range []struct {
		method, token string
		status        int
	}{{"GET", "", 401}, {"GET", "guessed", 401}, {"POST", token, 405}, {"DELETE", token, 405}} {
		if status, text := get(t, wrong.method, url, wrong.token); status != wrong.status || strings.Contains(text, "gauze_") {
			t.Errorf("%s with the token %q: %d %s", wrong.method, wrong.token, status, text)
		}
	}
	s.token = token
	session := s.initialize()
	for range 3 {
		s.post(session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`)
	}
	s.post(session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"die","arguments":{"key":"k"}}}`)
	want := []string{
		`gauze_calls_total{server="notes",client="t",outcome="answered"} 3`,
		`gauze_calls_total{server="notes",client="t",outcome="failed"} 1`,
		`gauze_faults_total{server="notes",client="t",code="outcome-unknown"} 1`,
		`gauze_closures_total{server="notes",client="t",reason="signal"} 1`,
		`mcp_server_operation_duration_seconds_count{server="notes",client="t",mcp_method_name="tools/call"} 3`,
	}
	check := func(url, token string) {
		t.Helper()
		status, text := get(t, "GET", url, token)
		for _, line := range want {
			if status != 200 || !strings.Contains(text, line+"\n") {
				t.Errorf("%s: %d, no %s in\n%s", url, status, line, text)
			}
		}
	}
	check(url, token)

	announced(t, state, 1)
	printed, _ := startDashboard(t, state)
	address, _, _ := strings.Cut(printed, "#")
	key := readToken(t, state, "dashboard-token")
	check(address+"metrics", key)
	if status, text := get(t, "GET", address+"metrics", token); status != 401 || strings.Contains(text, "gauze_") {
		t.Errorf("a client's token reads the dashboard: %d %s", status, text)
	}
}
