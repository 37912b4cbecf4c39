package main

import (
	"runtime"
	"strings"
	"testing"
)

func TestWhichCommandLinesAreAboutTemporal(t *testing.T) {
	for line, want := range map[string]bool{
		"task run --temporal localhost:7233 file.yaml": true,
		"task list --temporal=localhost:7233":          true,
		"task run file.yaml":                           false,
		"run --name x -- server --temporal host":       false,
		"task show -- --temporal":                      false,
		"--temporal":                                   false,
	} {
		if got := onTemporal(strings.Fields(line)); got != want {
			t.Errorf("gauze %s: %v", line, got)
		}
	}
}

func TestMissingBinaryIsExplained(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("Path", t.TempDir())
	_, err := findTemporal()
	if err == nil || !strings.Contains(err.Error(), "go -C temporal install ./cmd/gauze-temporal") {
		t.Errorf("got %v", err)
	}
}

func TestReleasesNameTheFileToDownload(t *testing.T) {
	err := missingTemporal("v1.2.3", "/opt/gauze-temporal")
	for _, want := range []string{temporalBinary + "_1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH + ".", "release v1.2.3", "\n  /opt/gauze-temporal"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %q: %v", want, err)
		}
	}
}
