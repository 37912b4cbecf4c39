package main

import (
	"archive/zip"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// The tool of Claude Desktop accepts and unpacks the bundle; what the manifest starts is gauze mcp.
func TestBundleIsAcceptedAndStarts(t *testing.T) {
	t.Parallel()
	r := built(t)
	r.run(t, bundles)
	file, dir := filepath.Join(r.dir, "bundles", bundleFile(r.version, linux.arch)), t.TempDir()
	for _, args := range [][]string{{"unpack", file, dir}, {"validate", filepath.Join(dir, "manifest.json")}} {
		argv := realparts.MCPB(t, args...)
		if said, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("mcpb %s: %v\n%s", args[0], err, said)
		}
	}
	m := manifestIn(t, dir)
	command := strings.ReplaceAll(m.Server.Config.Overrides["linux"].Command, "${__dirname}", dir)
	cmd := exec.CommandContext(t.Context(), command, m.Server.Config.Args...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH="}
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n")
	said, err := cmd.Output()
	if err != nil || !strings.Contains(string(said), `"serverInfo"`) || !strings.Contains(string(said), `"gauze"`) {
		t.Errorf("gauze mcp: %v\n%s", err, said)
	}
}

// Each bundle has the program for every system.
func TestBundleIsForEverySystem(t *testing.T) {
	r := standIns(t)
	r.run(t, bundles)
	for _, cpu := range []string{"amd64", "arm64"} {
		dir := t.TempDir()
		unzip(t, filepath.Join(r.dir, "bundles", bundleFile(r.version, cpu)), dir)
		m := manifestIn(t, dir)
		for system, from := range map[string]string{"darwin": "darwin", "linux": "linux", "win32": "windows"} {
			command := strings.ReplaceAll(m.Server.Config.Overrides[system].Command, "${__dirname}", dir)
			if got := string(read(t, filepath.FromSlash(command))); got != "gauze for "+from+"/"+cpu {
				t.Errorf("%s on %s starts %s", system, cpu, got)
			}
		}
		if strings.Join(m.Compatibility.Platforms, " ") != "darwin linux win32" {
			t.Errorf("%q", m.Compatibility.Platforms)
		}
	}
}

func manifestIn(t *testing.T, dir string) (m bundleManifest) {
	t.Helper()
	if err := json.Unmarshal(read(t, filepath.Join(dir, "manifest.json")), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// server.json matches the schema of the registry, and lists each bundle with its sum.
func TestServerFileMatchesTheSchema(t *testing.T) {
	r := standIns(t)
	r.version = "1.2.3"
	r.run(t, bundles, registryEntry)
	text := read(t, filepath.Join(r.dir, "registry", "server.json"))
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	valid(t, filepath.Join(realparts.Module(t, "github.com/modelcontextprotocol/registry@v1.8.7"), "internal", "validators", "schemas", "2025-12-11.json"), value)
	var s server
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, p := range s.Packages {
		kinds[p.Type]++
		if p.Type != "mcpb" {
			continue
		}
		sum, err := sumOf(filepath.Join(r.dir, "bundles", filepath.Base(p.Identifier)))
		if err != nil || sum != p.Sum || !strings.HasPrefix(p.Identifier, "https://github.com/gauze-mcp/gauze/releases/download/v1.2.3/") {
			t.Errorf("%+v: %s, %v", p, sum, err)
		}
	}
	if kinds["npm"] != 1 || kinds["pypi"] != 1 || kinds["oci"] != 1 || kinds["mcpb"] != 2 {
		t.Errorf("%v", kinds)
	}
}

// unzip unpacks an archive.
func unzip(t *testing.T, file, dir string) {
	t.Helper()
	r, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.CopyFS(dir, r); err != nil {
		t.Fatal(err)
	}
}
