package doctor

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// crashed returns the case of a program that wrote this and exited.
func crashed(stderr string, spec launch.Spec) Case {
	return FromEvidence(spec, upstream.Evidence{Stage: upstream.Started, Exit: "exit status 1", Code: 1, Stderr: strings.Split(stderr, "\n")})
}

func TestTheLogThatAMessageNamesIsRead(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ said, log, want string }{
		{"Startup failed. See the log file for details: FILE", "12:00 boot\n12:01 connect ECONNREFUSED 127.0.0.1:5999\n", "companion_app_not_running"},
		{"error A complete log of this run can be found in: FILE", strings.Repeat("verbose line\n", 5000) + "WIKI_TOKEN environment variable is not set\n", "env_not_set"},
		{"Unexpected error.\nDetails were written to \"FILE\".", "Error: certificate has expired\n", "certificate_not_valid"},
	} {
		file := filepath.Join(dir, "run-1.log")
		if err := os.WriteFile(file, []byte(c.log), 0o600); err != nil {
			t.Fatal(err)
		}
		got := Diagnose(crashed(strings.ReplaceAll(c.said, "FILE", file), launch.Spec{Command: "wiki-mcp", Env: []string{}}))
		if got.Cause != c.want {
			t.Errorf("%q: %s, want %s", c.said, got.Cause, c.want)
		}
	}
}

func TestALogThatIsNotTheServersIsNotRead(t *testing.T) {
	dir := t.TempDir()
	const log = "WIKI_TOKEN environment variable is not set\n"
	file := filepath.Join(dir, "old.log")
	if err := os.WriteFile(file, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	program := launch.Spec{Command: "wiki-mcp", Env: []string{}}
	if c := crashed("log: "+file, launch.Spec{URL: "https://example.com/mcp"}); strings.Contains(c.Log, "WIKI") {
		t.Error("a server at a URL chose a file of this machine")
	}
	if c := FromLog("wiki-mcp", "log: "+file); strings.Contains(c.Log, "WIKI") {
		t.Error("a log chose a file of this machine")
	}
	for _, elsewhere := range []launch.Spec{
		{Command: "docker", Args: []string{"run", "-i", "--rm", "wiki/mcp"}},
		{Command: "ssh", Args: []string{"build.example", "wiki-mcp"}},
		{Command: "npx", Args: []string{"-y", "mcp-remote", "https://example.com/mcp"}},
		{Command: "bridge", Args: []string{"--url=https://example.com/mcp"}},
	} {
		elsewhere.Env = []string{}
		if c := crashed("log: "+file, elsewhere); strings.Contains(c.Log, "WIKI") {
			t.Errorf("%s: a server that runs elsewhere chose a file of this machine", elsewhere.Command)
		}
	}
	if runtime.GOOS != "windows" {
		link := filepath.Join(dir, "link.log")
		if err := os.Symlink(file, link); err != nil {
			t.Fatal(err)
		}
		if c := crashed("log: "+link, program); strings.Contains(c.Log, "WIKI") {
			t.Error("a link was followed")
		}
	}
	key := filepath.Join(dir, "id_ed25519")
	if err := os.WriteFile(key, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	if c := crashed("log: "+key, program); strings.Contains(c.Log, "WIKI") {
		t.Error("a file that is not a log was read")
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(file, long, long); err != nil {
		t.Fatal(err)
	}
	if c := crashed("log: "+file, program); strings.Contains(c.Log, "WIKI") {
		t.Error("the log of an earlier run was read")
	}
}
