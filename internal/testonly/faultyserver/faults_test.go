package faultyserver

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
)

// faultRuns has one run per fault: the input of the server, how it ends, and its output. S is
// replaced by a state file of the test.
var faultRuns = []struct {
	flags  string
	lines  []string
	code   int
	signal string
	stdout []string // each is somewhere in stdout
	stderr []string
	never  []string // none of these is in stdout
}{
	{flags: "", lines: []string{hello, helloDone, ping}, stdout: []string{`"id":"init"`, `{"jsonrpc":"2.0","id":"ping","result":{}}`}},
	{flags: "-exit-at-start=code=7,stderr=bye", lines: []string{ping}, code: 7, stderr: []string{"bye\n"}, never: []string{"ping"}},
	{flags: "-exit-at-start=SEGV", lines: []string{ping}, signal: "SEGV"},
	{flags: "-exit-at-start=ABRT", lines: []string{ping}, signal: "ABRT"},
	{flags: "-exit-after=n=1", lines: []string{hello, ping}, code: 1, stdout: []string{`"id":"init"`}, never: []string{`"ping"`}},
	{flags: "-exit-after=20ms,code=4 -ignore-eof", lines: nil, code: 4},
	{flags: "-slow-start=20ms", lines: []string{ping}, stdout: []string{`"ping"`}},
	{flags: "-exit-on-initialize=code=5", lines: []string{ping, hello}, code: 5, never: []string{`"init"`}},
	{flags: "-exit-after-initialize=KILL", lines: []string{hello}, signal: "KILL", stdout: []string{`"id":"init"`}},
	{flags: "-ignore-initialize", lines: []string{hello, ping}, stdout: []string{`"ping"`}, never: []string{`"init"`}},
	{flags: "-late-initialize=20ms", lines: []string{hello}, stdout: []string{`"id":"init"`}},
	{flags: "-fail-initialize=code=-32000", lines: []string{hello}, stdout: []string{`"id":"init","error":{"code":-32000`}},
	{flags: "-era=legacy -exit-on-discover=code=1", lines: []string{discover}, code: 1, never: []string{"disc"}},
	{flags: "-era=legacy -ignore-discover", lines: []string{discover, hello}, stdout: []string{`"init"`}, never: []string{"disc"}},
	{flags: "-era=legacy", lines: []string{discover}, stdout: []string{`"id":"disc","error":{"code":-32601`}},
	{flags: "-late-discover=20ms", lines: []string{discover}, stdout: []string{`"supportedVersions":["2026-07-28"`}},
	{flags: "-era=modern", lines: []string{hello}, stdout: []string{`"code":-32022`, `"supported":["2026-07-28"],"requested":"2025-06-18"`}},
	{flags: "-unsupported-version=2027-01-01+2026-07-28", lines: []string{discover}, stdout: []string{`"code":-32022`, `"supported":["2027-01-01","2026-07-28"],"requested":"2026-07-28"`}},
	{flags: "-other-version=2024-11-05,skip=0", lines: []string{hello}, stdout: []string{`"protocolVersion":"2024-11-05"`}},
	{flags: "-drop-capability=resources+prompts,skip=0", lines: []string{hello, `{"id":2,"method":"resources/list"}`}, stdout: []string{`"id":2,"error":{"code":-32601`}, never: []string{`"resources":{`}},
	{flags: "-hang=n=1", lines: []string{hello, ping}, stdout: []string{`"init"`}, never: []string{"ping"}},
	{flags: "-lax -serial -hang=calls=1", lines: []string{toolCall("1", "echo", `{"text":"one"}`), ping, toolCall("2", "echo", `{"text":"two"}`)}, stdout: []string{`"one"`, `"ping"`}, never: []string{`"two"`}},
	{flags: "-hang", lines: []string{ping}, never: []string{"ping"}},
	{flags: "-spin=n=1 -lifetime=100ms", lines: []string{hello, ping}, code: 99, stdout: []string{`"init"`}, never: []string{"ping"}},
	{flags: "-stop-reading=n=1 -lifetime=100ms", lines: []string{ping, hello}, code: 99, never: []string{"init"}},
	{flags: "-ignore-eof -lifetime=100ms", lines: []string{hello}, code: 99, stdout: []string{`"init"`}},
	{flags: "-stray=" + strings.Join(strayNames(), "+"), lines: []string{hello}, stdout: []string{"Server started", "\x1b[32m", `{"level":"info"`, "\xEF\xBB\xBF", "hello\r\n", `"error":{"code":-32600`, "caf\xe9", "\x00", "{\n", `}}{"`}},
	{flags: "-stray=banner,at=each -serial", lines: []string{hello, ping}, stdout: []string{"Server started on stdio, have a nice day\n" + `{"jsonrpc":"2.0","id":"ping"`}},
	{flags: "-shape=crlf", lines: []string{ping}, stdout: []string{`"result":{}}` + "\r\n"}},
	{flags: "-shape=pretty", lines: []string{ping}, stdout: []string{"{\n  \"jsonrpc\": \"2.0\""}},
	{flags: "-shape=glued", lines: []string{ping}, stdout: []string{`2026-10-01 INFO {"jsonrpc"`}},
	{flags: "-shape=twin", lines: []string{ping}, stdout: []string{`"data":"twin"}}{"jsonrpc":"2.0","id":"ping"`}},
	{flags: "-shape=bom", lines: []string{ping}, stdout: []string{"\xEF\xBB\xBF" + `{"jsonrpc"`}},
	{flags: "-shape=spaces", lines: []string{ping}, stdout: []string{" \t " + `{"jsonrpc"`}},
	{flags: "-shape=nul", lines: []string{ping}, stdout: []string{"}\x00\n"}},
	{flags: "-shape=utf16", lines: []string{ping}, stdout: []string{"{\x00\"\x00j\x00"}},
	{flags: "-shape=nonl", lines: []string{ping}, stdout: []string{`"result":{}}`}, never: []string{"\n"}},
	{flags: "-stderr=" + strings.Join(stderrNames(), "+"), stderr: []string{"sk-live-CANARY", "\x1b]0;owned", "ignore previous", "goroutine 1", "ready"}},
	{flags: "-stderr-flood=n=100000 -lifetime=200ms -ignore-eof", code: 99, stderr: []string{"stderr flood "}},
	{flags: "-notify-storm=n=500", lines: []string{hello}, stdout: []string{"notifications/tools/list_changed"}},
	{flags: "-tools-change=" + strings.Join([]string{"add", "annotate", "describe", "remove", "schema"}, "+") + ",skip=0", lines: []string{hello, `{"id":2,"method":"tools/list"}`}, stdout: []string{`"extra"`, "id_rsa", `"really"`}, never: []string{`"get"`}},
	{flags: "-many-tools=n=50", lines: []string{hello, `{"id":2,"method":"tools/list"}`}, stdout: []string{`"echo_49"`}},
	{flags: "-schema=" + strings.Join(schemaNames(), "+"), lines: []string{hello, `{"id":2,"method":"tools/list"}`}, stdout: []string{`"inputSchema":{"$ref":"#"}`, "d26", "file:///etc/passwd"}},
	{flags: "-forget-resources=n=2,skip=0 -resources=5", lines: []string{hello, `{"id":2,"method":"resources/subscribe","params":{"uri":"mem://3"}}`, `{"id":3,"method":"resources/subscribe","params":{"uri":"mem://2"}}`}, stdout: []string{`"id":2,"error":{"code":-32002`, `"id":3,"result":{}`}},
	{flags: "-grandchild=setsid=true,after=10ms,n=2 -exit-at-start=code=3", code: 3},
	{flags: "-lax", lines: []string{toolCall("1", "echo", `{"text":"early"}`)}, stdout: []string{`"early"`}},
	{flags: "", lines: []string{toolCall("1", "echo", `{"text":"early"}`)}, stdout: []string{`"id":1,"error":{"code":-32600`}},
	{flags: "", lines: []string{"this is not JSON"}, stdout: []string{`"id":null,"error":{"code":-32700`}},
	{flags: "-lax", lines: []string{`[` + ping + `,` + toolCall("1", "echo", `{"text":"two"}`) + `]`}, stdout: []string{`"ping"`, `"two"`}},
	{flags: "-lax", lines: []string{`{"id":1,"method":"no/such"}`}, stdout: []string{`"id":1,"error":{"code":-32601`}},
}

func TestFaultsFailAsTheirNameSays(t *testing.T) {
	for _, tt := range faultRuns {
		t.Run(strings.TrimSpace("server "+tt.flags), func(t *testing.T) {
			t.Parallel()
			flags := tt.flags
			if !strings.Contains(flags, "-state") {
				flags += " -state=" + filepath.Join(t.TempDir(), "state")
			}
			got := run(t, flags, tt.lines...)
			got.wantEnd(t, tt.code, tt.signal)
			contains(t, "stdout", got.stdout, tt.stdout...)
			contains(t, "stderr", got.stderr, tt.stderr...)
			for _, part := range tt.never {
				if strings.Contains(got.stdout, part) {
					t.Errorf("stdout is %q\nwant it without %q", got.stdout, part)
				}
			}
		})
	}
}

func TestEveryFaultHasAStory(t *testing.T) {
	told := map[string]bool{"ignore-sigterm": true, "daemonise": true} // tested separately below
	for _, r := range faultRuns {
		for flag := range strings.FieldsSeq(r.flags) {
			name, _, _ := strings.Cut(strings.TrimPrefix(flag, "-"), "=")
			told[name] = true
		}
	}
	for _, f := range faults {
		if !told[f.name] {
			t.Errorf("-%s has no story", f.name)
		}
	}
}

func TestFaultWithACountAppliesToTheFirstGenerationsOnly(t *testing.T) {
	state := "-state=" + filepath.Join(t.TempDir(), "state")
	for generation, want := range []int{9, 9, 0, 0} {
		if got := run(t, state+" -exit-at-start=2,code=9", ping); got.state.ExitCode() != want {
			t.Errorf("generation %d ended with %v, want %d", generation+1, got.state, want)
		}
	}
	// A different fault has its own count, and skip skips the first time.
	for i, want := range []int{0, 8, 0} {
		if got := run(t, state+" -exit-on-initialize=1,skip=1,code=8", hello); got.state.ExitCode() != want {
			t.Errorf("initialize %d ended with %v, want %d", i+1, got.state, want)
		}
	}
	got := run(t, state+" -serial", hello, toolCall("1", "pid", ""))
	contains(t, "pid", got.stdout, `"generation":8`)
}

func TestStateFileWithATornLineIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(path, []byte("start\nstart\nsta"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := run(t, "-serial -state="+path, hello, toolCall("1", "pid", ""))
	contains(t, "pid", got.stdout, `"generation":3`)
	got = run(t, "-serial -state="+path, hello, toolCall("1", "pid", ""))
	contains(t, "pid", got.stdout, `"generation":4`)
}

func TestServerThatIgnoresSIGTERMAnswersAfterIt(t *testing.T) {
	windowstest.Skip(t)
	p := greeted(t, "-ignore-sigterm")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.write(ping)
	p.want(`"ping"`)
}

func TestDaemonServesAfterItsParentIsGone(t *testing.T) {
	p := talk(t, "-daemonise")
	p.write(hello)
	p.want(`"init"`)
	p.write(helloDone)
	var pid struct{ Structured struct{ PID int } }
	line := p.call("1", "pid", "")
	if err := json.Unmarshal([]byte(between(line, `"structuredContent":`, "}}")+"}"), &pid.Structured); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	if pid.Structured.PID == p.cmd.Process.Pid || pid.Structured.PID == 0 {
		t.Errorf("served by %d, started as %d", pid.Structured.PID, p.cmd.Process.Pid)
	}
	_ = p.stdin.Close() // ends the daemon
	if _, err := p.lines.ReadString('\n'); err == nil {
		t.Error("the daemon said something after the end of stdin")
	}
}

func between(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	part, _, _ := strings.Cut(rest, to)
	return part
}

func TestGrandchildHoldsStdoutAfterTheServerIsGone(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger")
	p := talk(t, "-grandchild=stdout,after=20s -exit-after=n=0 -ledger="+ledger)
	p.write(ping)
	if state, err := p.cmd.Process.Wait(); err != nil || state.ExitCode() != 1 {
		t.Fatalf("server ended with %v, %v", state, err)
	}
	entries, _, err := ReadLedger(ledger)
	if err != nil || len(entries) != 1 || entries[0].Op != "spawn" {
		t.Fatalf("ledger: %v, %v", entries, err)
	}
	pid, _ := strconv.Atoi(entries[0].Key)
	child, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if !Running(pid) {
		t.Errorf("grandchild %d is not alive", pid)
	}
	_ = child.Kill()
	if rest, err := p.lines.ReadString('\n'); err == nil || rest != "" {
		t.Errorf("stdout says %q, %v", rest, err)
	}
}
