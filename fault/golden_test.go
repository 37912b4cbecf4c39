package fault_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/text/shell"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew")

var noon = time.Date(2026, 11, 14, 12, 0, 0, 0, time.UTC)

// sample is one life-like fault per code: what the fields hold when Gauze really meets it.
func sample(code fault.Code) *fault.Fault {
	f := &fault.Fault{
		Code: code, Server: "npx -y @modelcontextprotocol/server-filesystem /srv/data", Name: "files", At: noon,
		Method: "tools/call", Tool: "write_file",
	}
	died := &fault.Evidence{
		Exit: "exit status 1", Ran: 412 * time.Millisecond,
		Stderr: []string{"node:internal/modules/cjs/loader:1228", "  throw err;", "", "Error: Cannot find module 'zod'", "Node.js v22.11.0"},
		Stdout: []string{"Welcome to the filesystem server!"},
	}
	switch code {
	case fault.ServerUnavailable, fault.CrashLoop:
		f.Since, f.NextTry, f.Attempts = noon.Add(-95*time.Second), noon.Add(12*time.Second), 6
		f.State, f.Closures, f.Recoveries = "dead", 7, 1
		f.Evidence = died
	case fault.ServerStarting:
		f.State = "starting"
		f.Waited = 30 * time.Second
	case fault.CommandNotFound:
		f.Method, f.Tool = "initialize", ""
		f.Server, f.Detail = "no-such-bin", `"no-such-bin" was not found in PATH (/usr/bin, /bin)`
	case fault.CommandNotExecutable:
		f.Method, f.Tool = "initialize", ""
		f.Detail = `"/srv/server.sh" has mode 0644: nobody may execute it`
	case fault.CommandBadFormat:
		f.Method, f.Tool = "initialize", ""
		f.Detail = `"/srv/server.py" asks for the interpreter "/usr/bin/python2", which does not exist`
	case fault.WorkdirMissing:
		f.Method, f.Tool = "initialize", ""
		f.Detail = `the directory "/srv/gone" does not exist`
	case fault.ServerExitsEarly:
		f.Method, f.Tool = "initialize", ""
		f.Since, f.Attempts, f.Evidence = noon.Add(-3*time.Second), 3, died
	case fault.StartTimeout:
		f.Method, f.Tool = "initialize", ""
		f.Limit, f.Attempts, f.NextTry = 10*time.Second, 1, noon.Add(400*time.Millisecond)
		f.Evidence = &fault.Evidence{Exit: "signal: killed", Ran: 10 * time.Second, Stdout: []string{"Listening on http://localhost:8080"}}
	case fault.SpawnFailed:
		f.Detail = "fork/exec /usr/bin/npx: resource temporarily unavailable"
		f.Since, f.NextTry, f.Attempts = noon.Add(-5*time.Second), noon.Add(3*time.Second), 4
	case fault.SessionChanged:
		f.Detail = "the session agreed on 2025-11-25, the server now offers 2024-11-05"
	case fault.DiscoverUnanswered:
		f.Method, f.Tool, f.Waited = "server/discover", "", 3*time.Second
		f.Delivery = fault.Unknown
		f.Safe = true
	case fault.OutcomeUnknown:
		f.Delivery = fault.Unknown
		f.Evidence = &fault.Evidence{Exit: "signal: killed", Ran: 3 * time.Hour, Stderr: []string{"writing /srv/data/a.txt"}}
	case fault.CallTimeout:
		f.State, f.Recoveries = "degraded", 2
		f.Delivery, f.Waited, f.Limit = fault.Unknown, time.Minute, time.Minute
	case fault.ReplayExhausted:
		f.Delivery, f.Safe, f.Tool = fault.Unknown, true, "read_file"
	case fault.CallQuarantined:
		f.NextTry = noon.Add(5 * time.Minute)
	case fault.RetryBudgetSpent:
		f.Delivery, f.Safe, f.Tool = fault.Unknown, true, "read_file"
	case fault.ServerBusy:
		f.Detail = "1024 messages are waiting"
	case fault.ToolChanged:
		f.Delivery, f.Safe = fault.Unknown, true
	case fault.ToolLocked:
		f.Detail = "changed: write_file"
	case fault.ResponseTooLarge:
		f.Delivery, f.Detail = fault.Answered, "52428800 bytes, the limit is 16777216"
	case fault.RequestTooLarge:
		f.Detail = "20971520 bytes, the limit is 16777216"
	case fault.ResponseInvalid:
		f.Delivery = fault.Answered
	case fault.MessageInvalid:
		f.Method, f.Tool, f.Detail = "", "", `the key "method" occurs in two spellings`
	case fault.IDInUse:
		f.Detail = "id 7 belongs to a request that has no answer yet"
	case fault.ServerUnreachable:
		f.Server, f.Detail = "https://mcp.example.com/mcp", "connection failed: dial tcp 192.0.2.7:443: connect: connection refused"
		f.Since, f.NextTry, f.Attempts = noon.Add(-31*time.Second), noon.Add(2*time.Second), 9
	case fault.HostNotFound:
		f.Server, f.Detail = "https://mcp.exmaple.com/mcp", "connection failed: dial tcp: lookup mcp.exmaple.com: no such host"
	case fault.TLSFailed:
		f.Server, f.Detail = "https://mcp.example.com/mcp", "connection failed: tls: failed to verify certificate: x509: certificate has expired"
	case fault.AuthRequired:
		f.Delivery = fault.Refused
		f.Server = "https://mcp.example.com/mcp"
		f.Detail = `HTTP 401; credentials sent: Authorization from the environment variable EXAMPLE_TOKEN; the server requires the authentication scheme Bearer with realm="mcp"`
	case fault.AuthDenied:
		f.Delivery = fault.Refused
		f.Server = "https://mcp.example.com/mcp"
		f.Detail = `HTTP 403; credentials sent: none; the server requires the authentication scheme Bearer with error="insufficient_scope"`
	case fault.LoginUnavailable:
		f.Delivery = fault.Refused
		f.Server, f.Detail = "https://mcp.example.com/mcp", "the token endpoint of https://login.example.com responded with HTTP 503"
	case fault.RateLimited:
		f.Delivery = fault.Refused
		f.Server, f.Detail, f.NextTry, f.Attempts = "https://mcp.example.com/mcp", "HTTP 429", noon.Add(2*time.Second), 2
	case fault.HTTPUnavailable:
		f.Server, f.Detail, f.Delivery, f.NextTry = "https://mcp.example.com/mcp", "HTTP 503", fault.Unknown, noon.Add(5*time.Second)
	case fault.HTTPRefused:
		f.Delivery = fault.Refused
		f.Server, f.Detail = "https://mcp.example.com/", "HTTP 404: page not found"
	case fault.RedirectRefused:
		f.Delivery = fault.Refused
		f.Server, f.Detail = "http://mcp.example.com/mcp", "HTTP 307 redirect to https://login.example.com/start"
	case fault.NotMCP:
		f.Server, f.Detail, f.Delivery = "https://mcp.example.com/", "HTTP 200 with content of type text/html", fault.Unknown
	case fault.AnswerMissing:
		f.Server, f.Delivery = "https://mcp.example.com/mcp", fault.Unknown
	case fault.SessionLimit:
		f.Method, f.Tool = "initialize", ""
		f.Detail = "64 sessions are open; --max-sessions allows 64"
	case fault.BodyLimit:
		f.Method, f.Tool = "tools/call", ""
		f.Detail = "request bodies in flight are limited to 96 MiB in total"
	case fault.ArgumentsInvalid:
		f.Method, f.Tool, f.Delivery = "tools/call", "get_weather", fault.Unsent
		f.Message = "The call to `get_weather` was not run: 1 of 2 arguments needs a change.\n1. days - received \"five\" (string); expected integer 1..14 (required). Fix: send a number, e.g. 5."
		f.Report = []byte(`{"type":"invalid_arguments"}`)
	case fault.ToolUnknown:
		f.Method, f.Tool, f.Delivery = "tools/call", "get_wether", fault.Unsent
		f.Message = "There is no tool `get_wether`. Nothing was run. Nearest: `get_weather`."
		f.Report = []byte(`{"type":"unknown_tool"}`)
	case fault.ToolsUnlisted:
		f.Detail = "the server did not answer tools/list within 30s"
	case fault.Stopping:
	default:
		panic("no sample for " + string(code))
	}
	return f
}

func TestEveryCodeSpeaksInItsThreeVoices(t *testing.T) {
	for _, e := range fault.All() {
		t.Run(string(e.Code), func(t *testing.T) {
			f := sample(e.Code)
			var b strings.Builder
			part := func(title, text string) { fmt.Fprintf(&b, "=== %s\n%s\n", title, strings.TrimSuffix(text, "\n")) }
			part("error", f.Error())
			part("model", f.Model())
			part("terminal", f.TerminalIn(shell.For("linux"), false))
			if windows := f.TerminalIn(shell.For("windows"), false); windows != f.TerminalIn(shell.For("linux"), false) {
				part("terminal on Windows", windows)
			}
			part("json", indented(t, f.JSON()))
			part("rpc error, without data", fmt.Sprintf("%d %s", f.RPCCode(), rpcMessage(t, f)))
			compare(t, filepath.Join("testdata", string(e.Code)+".golden"), b.String())
		})
	}
}

func TestTheFramesOfAFaultAreGolden(t *testing.T) {
	f := sample(fault.OutcomeUnknown)
	compare(t, "testdata/frames.golden", strings.Join([]string{
		"=== tool result, legacy", indented(t, f.ToolResult(false)),
		"=== tool result, modern", indented(t, f.ToolResult(true)),
		"=== rpc error", indented(t, f.RPCError()),
		"=== terminal in colour", fmt.Sprintf("%q", f.TerminalIn(shell.For("linux"), true)), "",
	}, "\n"))
}

func TestNoGoldenIsLeftBehind(t *testing.T) {
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		code := strings.TrimSuffix(filepath.Base(file), ".golden")
		if _, ok := fault.Lookup(code); !ok && code != "frames" {
			t.Errorf("%s belongs to no code", file)
		}
	}
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (make it with: go test ./fault -update)", err)
	}
	if got != string(want) {
		t.Errorf("%s differs; look at it with -update and git diff.\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

func indented(t *testing.T, raw []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		t.Fatalf("not JSON: %v: %s", err, raw)
	}
	return b.String()
}

func rpcMessage(t *testing.T, f *fault.Fault) string {
	t.Helper()
	var e struct{ Message string }
	if err := json.Unmarshal(f.RPCError(), &e); err != nil {
		t.Fatal(err)
	}
	return e.Message
}
