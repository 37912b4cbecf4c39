package main

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// launcher is the npm package with a script as its program, started by a Node.js that cannot become the program.
type launcher struct {
	t                   *testing.T
	node, root, program string
}

const greets = "#!/bin/sh\necho native\n"

// newLauncher puts the package gauze-mcp into a directory node_modules. Its program has to be installed.
func newLauncher(t *testing.T, program string) launcher {
	t.Helper()
	l := launcher{t, realparts.Node(t), filepath.Join(t.TempDir(), "node_modules"), program}
	own := filepath.Join(l.root, "gauze-mcp")
	write(t, filepath.Join(own, "bin", "gauze"), string(npmLauncher))
	write(t, filepath.Join(own, "native.js"), string(npmNative))
	write(t, filepath.Join(own, "package.json"), fmt.Sprintf(`{"version": "1.2.3", "gauze": {"version": "1.2.3", "sha256": {"linux-%s": "%x"}}}`, l.cpu(), sha256.Sum256([]byte(program))))
	write(t, filepath.Join(l.root, "old.js"), "process.execve = undefined\n")
	return l
}

func (l launcher) cpu() string { return strings.Replace(runtime.GOARCH, "amd64", "x64", 1) }

// install writes the package of the program into a directory node_modules.
func (l launcher) install(modules, version, program string) (file string) {
	l.t.Helper()
	name := "@gauze-mcp/cli-linux-" + l.cpu()
	file = filepath.Join(modules, name, "bin", "gauze")
	write(l.t, file, program)
	write(l.t, filepath.Join(modules, name, "package.json"), fmt.Sprintf(`{"name": %q, "version": %q}`, name, version))
	if err := os.Chmod(file, 0o755); err != nil {
		l.t.Fatal(err)
	}
	return file
}

func (l launcher) command(env ...string) *exec.Cmd {
	cmd := exec.CommandContext(patience.Context(l.t), l.node, "--require", filepath.Join(l.root, "old.js"), filepath.Join(l.root, "gauze-mcp", "bin", "gauze"))
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// The launcher starts the program of its own release, in its package or beside it, and no other.
func TestLauncherStartsItsOwnProgram(t *testing.T) {
	t.Parallel()
	const missing, changed = "is not installed", "the program is not that of release 1.2.3"
	for _, c := range []struct{ about, modules, version, program, want string }{
		{"beside", ".", "1.2.3", greets, "native"},
		{"inside", "gauze-mcp/node_modules", "1.2.3", greets, "native"},
		{"above", "../../node_modules", "1.2.3", greets, missing},
		{"NODE_PATH", "../path", "1.2.3", greets, missing},
		{"other version", ".", "1.2.2", greets, missing},
		{"other program", ".", "1.2.3", "#!/bin/sh\necho evil\n", changed},
	} {
		l := newLauncher(t, greets)
		if c.about == "above" { // the package is one deeper
			deeper := filepath.Join(filepath.Dir(l.root), "project", "node_modules")
			if err := os.MkdirAll(filepath.Dir(deeper), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(l.root, deeper); err != nil {
				t.Fatal(err)
			}
			l.root = deeper
		}
		l.install(filepath.Join(l.root, c.modules), c.version, c.program)
		said, err := l.command("NODE_PATH=" + filepath.Join(l.root, "../path")).CombinedOutput()
		if (err == nil) != (c.want == "native") || !strings.Contains(string(said), c.want) {
			t.Errorf("%s: %v\n%s\nexpected %s", c.about, err, said, c.want)
		}
	}
}

// A program that was checked is checked again when it has changed, even if its size and time are the same.
func TestLauncherChecksAChangedProgram(t *testing.T) {
	t.Parallel()
	l := newLauncher(t, greets)
	file := l.install(l.root, "1.2.3", greets)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if said, err := l.command().CombinedOutput(); err != nil || string(said) != "native\n" {
			t.Fatalf("%v\n%s", err, said)
		}
	}
	l.install(l.root, "1.2.3", strings.Replace(greets, "native", "nature", 1))
	if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if said, err := l.command().CombinedOutput(); err == nil || !strings.Contains(string(said), "the program is not that of release") {
		t.Errorf("%v\n%s", err, said)
	}
}

// Ctrl-C, which a terminal sends to the whole group, reaches the program once, and so does a signal to the launcher alone,
// whether or not they read a terminal.
func TestLauncherSignalsOnce(t *testing.T) {
	t.Parallel()
	counts := "#!" + realparts.Node(t) + `
process.on("SIGINT", () => console.log("interrupted"));
process.on("SIGTERM", () => process.exit(0));
setInterval(() => {}, 1e6);
console.log("ready");
`
	for _, terminal := range []bool{false, true} {
		for _, group := range []bool{false, true} {
			l := newLauncher(t, counts)
			l.install(l.root, "1.2.3", counts)
			cmd := l.command()
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if terminal {
				cmd.Stdin = newTerminal(t)
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			} else if _, err := cmd.StdinPipe(); err != nil {
				t.Fatal(err)
			}
			if got := interrupted(t, cmd, group); got != 1 {
				t.Errorf("terminal %v, group %v: interrupted %d times", terminal, group, got)
			}
		}
	}
}

// interrupted starts a program, interrupts it or its group, ends it, and returns how often it was interrupted.
func interrupted(t *testing.T, cmd *exec.Cmd, group bool) (count int) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	target := cmd.Process.Pid
	if group {
		target = -target
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch lines.Text() {
		case "ready":
			err = syscall.Kill(target, syscall.SIGINT)
		case "interrupted":
			count++
			if count == 1 {
				err = cmd.Process.Signal(syscall.SIGTERM)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	return count
}

// newTerminal returns a terminal to read from.
func newTerminal(t *testing.T) *os.File {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { control.Close() })
	if err := unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return terminal
}
