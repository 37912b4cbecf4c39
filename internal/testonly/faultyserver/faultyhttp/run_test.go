package faultyhttp

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

func TestProcessOfItsOwn(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger")
	path, args, env := Command("-stateful", "-era", "legacy", "-answers", "json", "-event-ids", "-ledger", ledger)
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stderr).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on http://")
	if err != nil || !ok {
		t.Fatalf("%q %v", line, err)
	}
	there := New(Config{Era: Legacy})
	there.address = strings.TrimSuffix(url, "/mcp")
	p := legacyPeer(t, there)
	if got := p.call("append", `{"key":"k","fault":"rst-after-effect","times":1}`); !reset(got.err) {
		t.Errorf("first: %v", got)
	}
	if got := p.call("append", `{"key":"k","fault":"rst-after-effect","times":1}`); got.status != 200 {
		t.Errorf("second: %v", got)
	}
	if entries, _, err := faultyserver.ReadLedger(ledger); err != nil || len(entries) != 2 || entries[0].PID != cmd.Process.Pid {
		t.Errorf("ledger: %v %v", entries, err)
	}
}

func TestFlags(t *testing.T) {
	for _, bad := range []string{"-era=old", "-answers=xml", "-transport=pigeon", "-nothing", "word"} {
		if _, _, err := parseFlags([]string{bad}, &bytes.Buffer{}); err == nil {
			t.Errorf("%s is allowed", bad)
		}
	}
	var help bytes.Buffer
	if _, _, err := parseFlags([]string{"-help"}, &help); err == nil {
		t.Error("help is no error")
	}
	contains(t, help.String(), "-event-ids", "rst-after-effect", "change_tools")
}

func TestEveryFaultHasANameAndAWord(t *testing.T) {
	seen := map[Fault]bool{}
	for _, row := range Faults {
		if row.Fault == "" || row.About == "" || seen[row.Fault] {
			t.Errorf("%+v", row.Fault)
		}
		seen[row.Fault] = true
	}
}
