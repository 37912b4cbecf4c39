//go:build linux

package realtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/workshop/service"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// systemd finds nothing wrong with the unit of gauze up, whatever is in its paths.
func TestSystemdAcceptsTheUnit(t *testing.T) {
	analyze := realparts.Tool(t, "systemd-analyze", "systemd")
	dir := t.TempDir()
	program := filepath.Join(dir, "my gauze 100%")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := service.For("linux", service.Spec{Program: program, Args: []string{"up", `/home/me/a "b" $HOME %n \ .yaml`}, File: "/home/me/100%.yaml",
		Env: []string{"PATH=/usr/bin:/home/me/100%"}, EnvFile: "/home/me/.config/gauze/up.env", Home: dir})
	unit := filepath.Join(dir, filepath.Base(d.Path))
	verify := func(content string) string {
		if err := os.WriteFile(unit, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), analyze, "--user", "verify", unit)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
		said, _ := cmd.CombinedOutput()
		return string(said)
	}
	if said := verify(d.Content); said != "" {
		t.Errorf("%s\n%s", said, d.Content)
	}
	if said := verify(strings.Replace(d.Content, "KillMode=mixed", "KillMode=mixd", 1)); !strings.Contains(said, "mixd") {
		t.Errorf("a wrong unit is accepted: %s", said)
	}
}

// A parser of property lists reads what launchd is to run.
func TestThePlistIsRead(t *testing.T) {
	python := realparts.Tool(t, "python3", "python3")
	words := []string{"/opt/my gauze/gauze", "up", `/Users/me/a <b> & 'c' "d".yaml`}
	d := service.For("darwin", service.Spec{Program: words[0], Args: words[1:], File: words[2], Env: []string{"PATH=/usr/bin:/a&b"}, Home: "/Users/me", UID: "501"})
	cmd := exec.CommandContext(t.Context(), python, "-c", "import json, plistlib, sys; json.dump(plistlib.loads(sys.stdin.buffer.read()), sys.stdout)")
	cmd.Stdin = strings.NewReader(d.Content)
	said, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Label                string
		ProgramArguments     []string
		EnvironmentVariables map[string]string
		RunAtLoad            bool
		KeepAlive            map[string]bool
	}
	if err := json.Unmarshal(said, &read); err != nil {
		t.Fatal(err)
	}
	if read.Label != "com.gauze-mcp.up" || !reflect.DeepEqual(read.ProgramArguments, words) || read.EnvironmentVariables["PATH"] != "/usr/bin:/a&b" ||
		!read.RunAtLoad || read.KeepAlive["SuccessfulExit"] {
		t.Errorf("%+v", read)
	}
}
