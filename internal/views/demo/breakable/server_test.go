package breakable

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	RunIfAsked()
	os.Exit(m.Run())
}

// generation starts the server, sends it the messages, and returns the lines that it wrote. err says
// how it ended.
func generation(t *testing.T, ledger, lostAfter string, messages ...string) (lines []string, err error) {
	t.Helper()
	cmd := Command(ledger, "-lost-after="+lostAfter)
	cmd.Stdin = strings.NewReader(strings.Join(messages, "\n") + "\n")
	out, err := cmd.Output()
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), err
}

func call(tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
}

// text returns the text of a result, and whether it is an error of the tool.
func text(t *testing.T, line string) (string, bool) {
	t.Helper()
	var m struct {
		ID     int
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.ID != 1 || len(m.Result.Content) != 1 {
		t.Fatalf("not the result of a call: %q (%v)", line, err)
	}
	return m.Result.Content[0].Text, m.Result.IsError
}

func wantLedger(t *testing.T, ledger string, want ...Entry) {
	t.Helper()
	if got, err := ReadLedger(ledger); err != nil || !slices.Equal(got, want) {
		t.Errorf("the ledger has %v (%v), want %v", got, err, want)
	}
}

func TestAKillAfterTheEffectLeavesItsEntry(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger")
	lines, err := generation(t, ledger, "", call("append", `{"key":"a"}`), call("die", `{"key":"b"}`), call("append", `{"key":"c"}`))
	if err == nil || len(lines) != 1 {
		t.Fatalf("%q, %v", lines, err)
	}
	if got, failed := text(t, lines[0]); got != "appended a" || failed {
		t.Errorf("%q, %v", got, failed)
	}
	wantLedger(t, ledger, Entry{"append", "a"}, Entry{"die", "b"})
}

func TestDieReadDiesOnlySoManyTimes(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger")
	for n := range 2 {
		if lines, err := generation(t, ledger, "", call("die_read", `{"key":"k","times":2}`)); err == nil {
			t.Fatalf("generation %d survived: %q", n+1, lines)
		}
	}
	lines, err := generation(t, ledger, "", call("die_read", `{"key":"k","times":2}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := text(t, lines[0]); got != "survived k" {
		t.Errorf("%q", got)
	}
	if lines, err := generation(t, ledger, "", call("die_read", `{"key":"other","times":1}`)); err == nil {
		t.Errorf("the deaths of one key count for another: %q", lines)
	}
}

func TestALostServerDoesNotStartAgain(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger")
	read := call("die_read", `{"key":"k","times":1}`)
	if lines, err := generation(t, ledger, "k", call("echo", `{"text":"hello"}`), read); err == nil || len(lines) != 1 {
		t.Fatalf("%q, %v", lines, err)
	}
	if out, err := Command(ledger, "-lost-after=k").CombinedOutput(); err == nil || !strings.Contains(string(out), "Cannot find module") {
		t.Errorf("%q, %v", out, err)
	}
	if lines, err := generation(t, ledger, "", read); err != nil {
		t.Errorf("without the flag: %q, %v", lines, err)
	}
}

func TestAStrayLineIsNotAMessage(t *testing.T) {
	for kind := range strays {
		lines, err := generation(t, filepath.Join(t.TempDir(), "ledger"), "", call("stray", fmt.Sprintf(`{"kind":%q}`, kind)))
		if err != nil || len(lines) != 2 || json.Valid([]byte(lines[0])) {
			t.Fatalf("%s: %q, %v", kind, lines, err)
		}
		if got, _ := text(t, lines[1]); got != "strayed" {
			t.Errorf("%s: %q", kind, got)
		}
	}
}

// What a server has not read is still in its pipe when it dies.
func TestTheServerReadsNoFurtherThanItsMessage(t *testing.T) {
	in := strings.NewReader("one\ntwo\n")
	line, err := readLine(in)
	if err != nil || string(line) != "one" || in.Len() != len("two\n") {
		t.Errorf("%q, %v, %d bytes left", line, err, in.Len())
	}
}

func TestWrongArgumentsAreAnErrorOfTheTool(t *testing.T) {
	lines, err := generation(t, filepath.Join(t.TempDir(), "ledger"), "", call("forecast", `{"city":"Oslo","days":"a few"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, failed := text(t, lines[0]); !failed || !strings.Contains(got, "cannot unmarshal string") {
		t.Errorf("%q, %v", got, failed)
	}
}

// A client with a newer protocol first asks for what this server does not know.
func TestOtherRequestsAreRejectedAndNotificationsIgnored(t *testing.T) {
	lines, err := generation(t, filepath.Join(t.TempDir(), "ledger"), "",
		`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`,
		call("missing", `{}`))
	want := []string{
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method \"server/discover\" not found"}}`,
		`{"jsonrpc":"2.0","id":2,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"unknown tool \"missing\""}}`,
	}
	if err != nil || !slices.Equal(lines, want) {
		t.Errorf("%q, %v", lines, err)
	}
}

func TestATornEntryDoesNotSpoilTheNext(t *testing.T) {
	l := ledger(filepath.Join(t.TempDir(), "ledger"))
	wantLedger(t, string(l)) // not written yet
	for _, key := range []string{"a", "b"} {
		if err := l.record("append", key); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(string(l))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(string(l), whole[:len(whole)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.record("append", "c"); err != nil {
		t.Fatal(err)
	}
	wantLedger(t, string(l), Entry{"append", "a"}, Entry{"append", "c"})
}
