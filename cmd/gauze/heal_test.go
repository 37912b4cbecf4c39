//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What gauze run does by itself about a server that does not start. The client stays connected.

// troubled is a home directory with a program that is not on the PATH, and a project.
type troubled struct{ home, project string }

func newTroubled(t *testing.T, program, script string) troubled {
	t.Helper()
	d := troubled{home: t.TempDir(), project: t.TempDir()}
	write(t, filepath.Join(d.home, ".local/bin", program), "#!/bin/sh\n"+script+"\n", 0o755)
	return d
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// says runs the server, sends a request, and returns the response and stderr.
func (d troubled) says(t *testing.T, args ...string) (answer, beside string) {
	t.Helper()
	w := startRun(t, []string{"HOME=" + d.home}, append([]string{"--cwd", d.project}, args...)...)
	fmt.Fprintln(w.in, hello)
	answer, _ = w.out.ReadString('\n')
	w.in.Close()
	w.cmd.Wait()
	return answer, w.stderr.String()
}

func wantAll(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("no %q in %s", word, text)
		}
	}
}

// A program that is not on the PATH is found in the usual directories, and the client notices nothing.
func TestRunFindsAProgramThatIsNotOnThePath(t *testing.T) {
	t.Parallel()
	d := newTroubled(t, "hidden-server", "exec faultyserver -era legacy")
	// With --no-heal the client gets the cause and what to do.
	answer, beside := d.says(t, "--no-heal", "--", "hidden-server")
	wantAll(t, answer, `"code":"command-not-found"`, "Tell the user:")
	if wantAll(t, beside, "gauze explain wrong_command_name"); strings.Contains(beside, "healed") {
		t.Error(beside)
	}

	answer, beside = d.says(t, "--", "hidden-server")
	wantAll(t, answer, `"result"`)
	wantAll(t, beside, "gauze: healed the server: starts ", ".local/bin/hidden-server")

	// What was reached once begins a session, even if it cannot be started.
	answer, beside = d.says(t, "--no-heal", "--", "hidden-server")
	wantAll(t, answer, `"result"`)
	wantAll(t, beside, "gauze explain wrong_command_name")
}

// So is a variable that the server requires by name, from its own .env; its value is not shown.
func TestRunGivesAServerWhatItsOwnFolderHolds(t *testing.T) {
	t.Parallel()
	d := newTroubled(t, "unused", "")
	write(t, filepath.Join(d.project, ".env"), "EXAMPLE_API_KEY=correct-horse-battery\n", 0o600)
	write(t, filepath.Join(d.project, "needs-key.sh"), `if [ -z "$EXAMPLE_API_KEY" ]; then
	echo "Error: EXAMPLE_API_KEY environment variable is required" >&2
	exit 1
fi
exec faultyserver -era legacy
`, 0o644)
	answer, beside := d.says(t, "--", "sh", "needs-key.sh")
	wantAll(t, answer, `"result"`)
	if wantAll(t, beside, "gauze: healed the server: sets EXAMPLE_API_KEY for the server"); strings.Contains(beside, "correct-horse") {
		t.Error(beside)
	}
}

// A program that is found but does not work is reported as such, with where it was found.
func TestRunTellsWhatIsWrongWithWhatItFound(t *testing.T) {
	t.Parallel()
	d := newTroubled(t, "broken-server", "echo \"Error: ENOENT: no such file or directory, open 'config.yaml'\" >&2; exit 3")
	answer, _ := d.says(t, "--", "broken-server")
	wantAll(t, answer, `"code":"server-exits-early"`, "Before that, gauze changed how the server is started or reached: starts ", ".local/bin/broken-server", "config.yaml")
	if strings.Contains(answer, "was not found in PATH") {
		t.Error(answer)
	}
}

// A server that names its variables one at a time gets them one at a time.
func TestRunGivesAServerOneVariableAfterTheOther(t *testing.T) {
	t.Parallel()
	d := newTroubled(t, "unused", "")
	write(t, filepath.Join(d.project, ".env"), "ORBIT_TOKEN=correct-horse-battery\nORBIT_TEAM=staple-horse-battery\n", 0o600)
	write(t, filepath.Join(d.project, "orbit.sh"), `for name in ORBIT_TOKEN ORBIT_TEAM; do
	if eval "[ -z \"\$$name\" ]"; then
		echo "Error: $name environment variable is required" >&2
		exit 1
	fi
done
exec faultyserver -era legacy
`, 0o644)
	answer, beside := d.says(t, "--", "sh", "orbit.sh")
	wantAll(t, answer, `"result"`)
	wantAll(t, beside, "sets ORBIT_TOKEN for the server", "sets ORBIT_TEAM for the server")
}
