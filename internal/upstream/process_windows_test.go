package upstream

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestABatchFileIsFoundAndRunThroughTheInterpreter(t *testing.T) {
	dir := t.TempDir()
	batch := filepath.Join(dir, "npx.cmd")
	if err := os.WriteFile(batch, []byte("@echo off\r\necho [%~1] [%~2]\r\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+";"+os.Getenv("PATH"))
	p, err := start(Spec{Command: "npx", Args: []string{"-y", "https://example.invalid/?a=1&b=2"}})
	if err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(p.stdout)
	<-p.exited
	if got := strings.TrimSpace(string(out)); got != "[-y] [https://example.invalid/?a=1&b=2]" {
		t.Errorf("the batch file saw %s", got)
	}
}

func TestAJobEndsWhatTheServerStarted(t *testing.T) {
	p, err := start(Spec{Command: "cmd.exe", Args: []string{"/c", "start /b ping -n 60 127.0.0.1 & ping -n 60 127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	p.kill()
	<-p.exited
	// Both ends of stdout are closed only when every process of the job is gone.
	if _, err := io.ReadAll(p.stdout); err != nil {
		t.Fatal(err)
	}
}

func TestAMissingCommandIsSaidToBeMissing(t *testing.T) {
	if _, err := start(Spec{Command: "no-such-bin-xyz"}); err == nil || !strings.Contains(err.Error(), exec.ErrNotFound.Error()) {
		t.Errorf("error: %v", err)
	}
}
