package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

var statusNow = time.Date(2026, 11, 14, 12, 0, 0, 0, time.UTC)

// statusServers are a server that works, one that does not, one whose wrap does not answer, one with
// many clients, and one whose name is meant to break the output.
func statusServers() []live.Server {
	return []live.Server{
		{ID: "1-1", Name: "notes", Client: "claude-code", PID: 1, State: "healthy", Up: statusNow.Add(-3 * time.Hour), Counts: live.Counts{ToolCount: 12, Calls: 340, P95: 23.4, Healed: 2, Repaired: 1}, Restarts: 3, LastReason: "exit"},
		{ID: "2-1", Name: "npx -y @modelcontextprotocol/server-everything --with many --more arguments", Client: "Visual Studio Code - Insiders", PID: 2, State: "dead", Since: statusNow.Add(-time.Hour), LastReason: "start-failed"},
		{ID: "3-1", Name: "stuck", PID: 3, State: live.StateSilent, Since: statusNow.Add(-time.Minute)},
		{ID: "4-1", Name: "shared", Sessions: 3, PID: 4, State: "degraded", Up: statusNow.Add(-5 * time.Second), Counts: live.Counts{ToolCount: 1, Calls: 1}},
		{ID: "5-1", Name: "evil\x1b[2J\nname\u202e" + strings.Repeat("x", 200), Client: "c\r\x07", PID: 5, State: "healthy", Since: statusNow.Add(-time.Hour)},
	}
}

func TestStatusFitsTheTerminal(t *testing.T) {
	for _, width := range []int{40, 60, 80, 120} {
		text := statusTable{now: statusNow, width: width}.text(statusServers())
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns at %d: %q", n, width, line)
			}
		}
		for _, want := range []string{"notes", "claude-code", "12", "340", "23 ms", "3 (exit)", "dead", "start-failed", "not responding", "3 sessions"} {
			if width < 120 {
				want = strings.Replace(want, "3 (exit)", "3 restarts (exit)", 1)
			}
			if !strings.Contains(text, want) {
				t.Errorf("no %q at %d columns:\n%s", want, width, text)
			}
		}
		if strings.ContainsAny(text, "\x1b\x07\r\u202e") {
			t.Errorf("control characters at %d columns: %q", width, text)
		}
	}
}

func TestStatusIsOneLineForEachServer(t *testing.T) {
	text := statusTable{now: statusNow}.text(statusServers())
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 6 || strings.Join(strings.Fields(lines[1]), " ") != "notes claude-code healthy 3 h 12 340 23 ms 2 3 (exit)" {
		t.Errorf("%d lines:\n%s", len(lines), text)
	}
	if colored := (statusTable{now: statusNow, color: true}).text(statusServers()); !strings.Contains(colored, "\x1b[31mdead\x1b[0m") {
		t.Errorf("%q", colored)
	}
}

// A server that is asleep says that it is, and what starts it, in the table and in the paragraph.
func TestStatusSaysThatAServerIsAsleep(t *testing.T) {
	servers := []live.Server{{ID: "1-1", Name: "notes", PID: 1, State: live.StateAsleep, Since: statusNow.Add(-time.Hour), Counts: live.Counts{ToolCount: 3}}}
	for _, table := range []statusTable{{now: statusNow}, {now: statusNow, detail: true}, {now: statusNow, width: 40}} {
		text := table.text(servers)
		if got := strings.Join(strings.Fields(text), " "); !strings.Contains(got, "asleep") || !strings.Contains(got, "not running; the next call starts it") || strings.Contains(got, "wrapped for") {
			t.Errorf("%s", text)
		}
	}
}

// A server that cannot start says how often it failed, why, and what happens next, in the table and in the
// paragraph.
func TestStatusSaysWhyAServerFails(t *testing.T) {
	servers := []live.Server{{ID: "1-1", Name: "notes", PID: 1, State: "dead", Since: statusNow.Add(-time.Hour), ConsecutiveFailures: 8, LastFailure: statusNow.Add(-3 * time.Second),
		LastCause: "it exited (exit status 1)\x1b[2J", LastSuccess: statusNow.Add(-2 * time.Minute), NextTry: statusNow.Add(12 * time.Second)}}
	want := "8 failures in a row, the last one 3 s ago, it exited (exit status 1), next attempt in 12 s, last answered 2 min ago"
	for _, table := range []statusTable{{now: statusNow}, {now: statusNow, detail: true}} {
		if got := strings.Join(strings.Fields(table.text(servers)), " "); !strings.Contains(got, want) || strings.Contains(got, "\x1b") {
			t.Errorf("%s", got)
		}
	}
	servers[0].LastCause = strings.Repeat("long ", 50)
	for line := range strings.Lines(statusTable{now: statusNow, width: 40}.text(servers)) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 40 {
			t.Errorf("%d columns at 40: %q", n, line)
		}
	}
	servers[0].NextTry = statusNow.Add(-time.Millisecond)
	if got := (statusTable{now: statusNow}).text(servers); !strings.Contains(got, "an attempt is in progress") {
		t.Errorf("%s", got)
	}
}

func TestStatusPrintsOnlyWhatChanges(t *testing.T) {
	servers, shown := statusServers()[:2], map[string]string{}
	if first := string(changedLines(servers, shown, statusNow)); strings.Count(first, "\n") != 2 {
		t.Errorf("%q", first)
	}
	if again := changedLines(servers, shown, statusNow.Add(time.Second)); len(again) != 0 {
		t.Errorf("%q", again)
	}
	servers[0].Counts.Healed++
	if next := string(changedLines(servers[:1], shown, statusNow)); !strings.Contains(next, "notes (claude-code): healthy, 12 tools, 340 calls, p95 23 ms, 3 healed") || !strings.Contains(next, "arguments (Visual Studio Code - Insiders): ended\n") {
		t.Errorf("%q", next)
	}
}

func TestStatusNeverScrollsATerminal(t *testing.T) {
	text := []byte(strings.Repeat("line\n", 50))
	if got := string(redrawn(text, 10, true)); strings.Count(got, "\n") != 9 || !strings.HasPrefix(got, "\x1b[2J\x1b[H") || !strings.Contains(got, "… 42 lines more") {
		t.Errorf("%q", got)
	}
	if got := string(redrawn([]byte("a\nb\n"), 10, false)); got != "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J" {
		t.Errorf("%q", got)
	}
}

// gauzeIn runs gauze with a state directory, and returns its output and exit status.
func gauzeIn(t *testing.T, dir string, args ...string) (out string, status int) {
	t.Helper()
	cmd := program(t, "gauze", args...)
	cmd.Env = append(os.Environ(), "GAUZE_STATE_DIR="+dir)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

func TestStatusOfRealServers(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "gauze-status-") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if out, status := gauzeIn(t, dir, "status"); status != 0 || !strings.Contains(out, "\n    gauze wrap --all\n") || strings.Contains(out, "This week") {
		t.Errorf("%d: %s", status, out)
	}
	if out, status := gauzeIn(t, dir, "status", "--json"); status != 0 || out != "[]\n" {
		t.Errorf("%d: %s", status, out)
	}

	environ := []string{"GAUZE_STATE_DIR=" + dir}
	first := startRun(t, environ, "--quiet", "--name", "notes", "--", "faultyserver", "-state="+dir+"/deaths").initialize()
	first.request("tools/list", `{}`)
	first.response()
	first.call("die_read", `{"key":"k","times":1}`)
	first.response()
	first.in.Close()
	first.wantEnd(0) // its events are written
	if out, _ := gauzeIn(t, dir, "history"); !strings.Contains(out, "notes: the server exited (") || !strings.Contains(out, "die_read: the server exited during the call") {
		t.Error(out)
	}

	w := startRun(t, environ, "--quiet", "--name", "notes", "--", "faultyserver").initialize()
	w.call("echo", `{"text":"x"}`)
	w.response()
	announced(t, dir, 1)
	out, status := gauzeIn(t, dir, "status")
	if status != 0 || !strings.Contains(out, "notes ") || !strings.Contains(out, " healthy ") || !strings.HasSuffix(out, "\nThis week: 1 call saved from failing, 1 crash with no session lost\n") {
		t.Errorf("%d: %s", status, out)
	}
	out, status = gauzeIn(t, dir, "status", "--json", "note")
	var all []map[string]any
	if err := json.Unmarshal([]byte(out), &all); err != nil || status != 0 || len(all) != 1 {
		t.Fatalf("%d: %s: %v", status, out, err)
	}
	for _, field := range []string{"name", "client", "pid", "state", "restarts", "calls", "healed", "repaired", "since"} {
		if _, found := all[0][field]; !found {
			t.Errorf("no %s in %s", field, out)
		}
	}
	if out, status := gauzeIn(t, dir, "restart", "notes"); status != 0 || !strings.HasPrefix(out, "Restarted notes") {
		t.Errorf("%d: %s", status, out)
	}
	if out, status := gauzeIn(t, dir, "restart", "ntoes"); status == 0 || !strings.Contains(out, `did you mean "notes"?`) {
		t.Errorf("%d: %s", status, out)
	}
	w.call("echo", `{"text":"x"}`)
	w.response()

	w.cmd.Process.Kill()
	w.cmd.Wait()
	if out, status := gauzeIn(t, dir, "status"); status != 0 || !strings.Contains(out, "No wrapped server is running") {
		t.Errorf("%d: %s", status, out)
	}
}

func TestStatusFailsIfAServerIsDead(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "gauze-status-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := startRun(t, []string{"GAUZE_STATE_DIR=" + dir}, "--quiet", "--no-journal", "--name", "broken", "--", "faultyserver", "-exit-at-start")
	w.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	w.response()
	announced(t, dir, 1)
	if out, status := gauzeIn(t, dir, "status"); status != 1 || !strings.Contains(out, "dead") {
		t.Errorf("%d: %s", status, out)
	}
	if out, status := gauzeIn(t, dir, "status", "--frobnicate"); status != 2 {
		t.Errorf("%d: %s", status, out)
	}
}

// status, restart and logs accept the same names.
func TestNamesOfServers(t *testing.T) {
	upHome(t)
	all := []live.Server{{ID: "1-1", Name: shell.Here().Line("notes-server", "--token", "«redacted»")}, {ID: "1-2", Name: "clock"}, {ID: "1-3", Name: "clock-2"}}
	for name, want := range map[string]string{
		"clock": "1-2", "1-3": "1-3", "cursor/notes": "1-1", "notes": "1-1", "clo": "1-2 1-3", "other": "",
	} {
		chosen, err := named(all, name)
		var ids []string
		for _, s := range chosen {
			ids = append(ids, s.ID)
		}
		if got := strings.Join(ids, " "); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s (%v), want %s", name, got, err, want)
		}
		var names []string
		for _, s := range all {
			names = append(names, s.Name)
		}
		logged, err := loggedAs(name, names)
		if one := len(chosen) == 1 && name != "1-3"; one && (err != nil || !slices.Contains(logged, chosen[0].Name)) {
			t.Errorf("%s: logs of %q (%v), want those of %s", name, logged, err, chosen[0].Name)
		}
	}
}

// A file of gauze up that cannot be used is shown once, whichever servers come from it.
func TestStatusShowsAFileWithAnError(t *testing.T) {
	file := &live.File{Path: "/home/me/up.yaml", Error: "up.yaml:3: servers.notes.comand: unknown key"}
	servers := []live.Server{{ID: "7-1", Name: "a", PID: 7, State: "healthy", File: file}, {ID: "7-2", Name: "b", PID: 7, State: "healthy", File: file}, {ID: "8-1", Name: "c", PID: 8, State: "healthy"}}
	const want = "\n/home/me/up.yaml has an error, so gauze up (pid 7) keeps using the previous version:\nup.yaml:3: servers.notes.comand: unknown key\n"
	for _, detail := range []bool{false, true} {
		if got := (statusTable{now: statusNow, detail: detail}).text(servers); strings.Count(got, want) != 1 {
			t.Errorf("got\n%s\nwant once\n%s", got, want)
		}
	}
	file.Error = ""
	if got := (statusTable{now: statusNow}).text(servers); strings.Contains(got, "up.yaml") {
		t.Errorf("got\n%s", got)
	}
}
