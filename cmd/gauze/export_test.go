//go:build linux

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// collector receives what is exported.
type collector struct {
	mu     sync.Mutex
	bodies map[string][]byte // by path
}

func startCollector(t *testing.T) (c *collector, url string) {
	t.Helper()
	c = &collector{bodies: map[string][]byte{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies[r.URL.Path] = append(c.bodies[r.URL.Path], body...)
		c.bodies["key"] = []byte(r.Header.Get("X-Key"))
	}))
	t.Cleanup(s.Close)
	return c, s.URL
}

const (
	clientTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	clientSpan  = "00f067aa0ba902b7"
	rawCall     = `{"jsonrpc":"2.0", "id":7,"method":"tools/call","params":{ "name":"echo_raw_params" ,"arguments":{"secret":"s3cr3t-value"},"_meta":{"traceparent":"00-` +
		clientTrace + `-` + clientSpan + `-01","progressToken":1}}}`
)

func TestCallsAreExportedIfTheUserConfiguredIt(t *testing.T) {
	t.Parallel()
	c, url := startCollector(t)
	w := startRun(t, []string{"GAUZE_STATE_DIR=" + t.TempDir(), "OTEL_EXPORTER_OTLP_ENDPOINT=" + url, "OTEL_EXPORTER_OTLP_HEADERS=x-key=k1", "OTEL_SERVICE_NAME=my-gauze"},
		"--quiet", "--no-journal", "--name", "notes", "--", "faultyserver").initialize()
	io.WriteString(w.in, rawCall+"\n")
	_, answer := w.response()
	parent := regexp.MustCompile(`00-` + clientTrace + `-([0-9a-f]{16})-01`).FindStringSubmatch(answer)
	if parent == nil || parent[1] == clientSpan || !strings.Contains(answer, `progressToken`) {
		t.Fatalf("the server received %s", answer)
	}
	w.in.Close()
	w.wantEnd(0)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, part := range []string{"tools/call echo_raw_params", "mcp.method.name", "gen_ai.tool.name", "execute_tool", "my-gauze", "notes"} {
		if !bytes.Contains(c.bodies["/v1/traces"], []byte(part)) {
			t.Errorf("no %q in the spans: %q", part, c.bodies["/v1/traces"])
		}
	}
	if bytes.Contains(c.bodies["/v1/traces"], []byte("s3cr3t")) {
		t.Error("arguments were exported")
	}
	if !bytes.Contains(c.bodies["/v1/metrics"], []byte("mcp.server.operation.duration")) || string(c.bodies["key"]) != "k1" {
		t.Errorf("metrics: %q", c.bodies)
	}
}

// Without a configuration, and for a trace that the client does not record, every byte is passed on.
func TestCallsAreUnchangedUnlessTheyAreExported(t *testing.T) {
	t.Parallel()
	_, url := startCollector(t)
	params := rawCall[strings.Index(rawCall, `"params":`)+len(`"params":`) : len(rawCall)-1]
	for _, test := range []struct{ env, params string }{
		{"OTEL_SERVICE_NAME=x", params},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=", params},
		{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", params},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=not a url", params},
		{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + url + "/v1/metrics", params},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=" + url, strings.Replace(params, "-01\"", "-00\"", 1)},
	} {
		w := startRun(t, []string{"GAUZE_STATE_DIR=" + t.TempDir(), test.env}, "--quiet", "--no-journal", "--", "faultyserver").initialize()
		io.WriteString(w.in, strings.Replace(rawCall, params, test.params, 1)+"\n")
		quoted := strings.ReplaceAll(test.params, `"`, `\"`)
		if _, answer := w.response(); !strings.Contains(answer, quoted) {
			t.Errorf("%s: the server received %s, want %s", test.env, answer, quoted)
		}
		w.in.Close()
		w.wantEnd(0)
	}
}

// A collector that is down must not change a session.
func TestACollectorThatIsDownChangesNothing(t *testing.T) {
	t.Parallel()
	w := startRun(t, []string{"GAUZE_STATE_DIR=" + t.TempDir(), "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", hurried}, "--quiet", "--no-journal", "--", "faultyserver").initialize()
	for range 3 {
		w.call("echo", `{"text":"x"}`)
		if _, answer := w.response(); !strings.Contains(answer, `"x"`) {
			t.Error(answer)
		}
	}
	w.in.Close()
	w.wantEnd(0)
}

// A task exports the calls and the verdicts about its servers, also when it ends with one.
func TestTasksAreExported(t *testing.T) {
	t.Parallel()
	c, url := startCollector(t)
	k := newTasks(t, "-exit-at-start=skip=1,code=3")
	k.env = append(k.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+url)
	k.write("task.yaml", theServer+"steps:\n  - {id: a, server: s, tool: echo, arguments: {text: x}}\n  - {id: b, server: s, "+dies+"}\n")
	k.gauze("run", "--yes", "--patience", "1s", "task.yaml").want(3)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !bytes.Contains(c.bodies["/v1/traces"], []byte("tools/call echo")) {
		t.Errorf("spans: %q", c.bodies["/v1/traces"])
	}
	const one = "\x21\x00\x00\x00\x00\x00\x00\xf0\x3f" // 1.0 as the value of a point
	if !bytes.Contains(c.bodies["/v1/metrics"], []byte("gauze.verdicts")) || !bytes.Contains(c.bodies["/v1/metrics"], []byte("stop_task"+one)) {
		t.Errorf("metrics: %q", c.bodies["/v1/metrics"])
	}
}
