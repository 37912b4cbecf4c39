//go:build unix

package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// files are the programs and settings that users wrote themselves in some of the cases.
//
//go:embed files
var files embed.FS

// stage is the temporary home of one case.
type stage struct {
	parts
	home    string
	replace *strings.Replacer
	served  []*exec.Cmd
}

// eachLive builds each live case, calls do, and removes the set-up again.
func eachLive(ctx context.Context, p parts, cases []oneCase, do func(context.Context, oneCase, *stage)) error {
	for _, c := range cases {
		if c.Kind != "live" {
			continue
		}
		s, err := build(ctx, p, c)
		if err == nil {
			do(ctx, c, s)
		}
		s.close()
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
	}
	return nil
}

func build(ctx context.Context, p parts, c oneCase) (*stage, error) {
	s := &stage{parts: p}
	home, err := os.MkdirTemp("", "fresh")
	if err != nil {
		return s, err
	}
	s.home = home
	if err := os.Chmod(home, 0o755); err != nil {
		return s, err
	}
	sub, _ := fs.Sub(files, "files")
	if err := os.CopyFS(filepath.Join(home, "files"), sub); err != nil {
		return s, err
	}
	words := []string{"{home}", home, "{nm}", p.modules, "{py}", p.python, "{node}", p.node, "{files}", filepath.Join(home, "files")}
	for _, name := range []string{"{port}", "{port2}", "{port3}"} {
		port, err := freePort()
		if err != nil {
			return s, err
		}
		words = append(words, name, port)
	}
	s.replace = strings.NewReplacer(words...)
	if c.Setup != "" {
		if out, err := s.bash(ctx, c, c.Setup).CombinedOutput(); err != nil {
			return s, fmt.Errorf("setup: %w\n%s", err, out)
		}
	}
	for _, line := range c.Serve {
		cmd := s.bash(ctx, c, "exec "+line)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			return s, err
		}
		s.served = append(s.served, cmd)
	}
	for _, address := range s.all(c.Wait) {
		if err := accepts(address); err != nil {
			return s, err
		}
	}
	if c.Freeze {
		return s, syscall.Kill(-s.served[0].Process.Pid, syscall.SIGSTOP)
	}
	return s, nil
}

func (s *stage) close() {
	for _, cmd := range s.served {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	}
	os.RemoveAll(s.home)
}

// bash returns a command that runs a script of the case in its home.
func (s *stage) bash(ctx context.Context, c oneCase, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-ec", s.fill(script))
	cmd.Dir = s.home
	cmd.Env = append(os.Environ(), "HOME="+s.home)
	return cmd
}

func (s *stage) fill(text string) string { return s.replace.Replace(text) }

func (s *stage) all(list []string) []string {
	filled := make([]string, len(list))
	for i, text := range list {
		filled[i] = s.fill(text)
	}
	return filled
}

// environ returns the environment of the user of a case: the machine's, with a home and a PATH of
// its own.
func (s *stage) environ(more []string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "XDG_") })
	path := strings.Join([]string{filepath.Join(s.home, "bin"), filepath.Dir(s.node), "/usr/local/bin", "/usr/bin", "/bin"}, ":")
	env = append(env, "HOME="+s.home, "PATH="+path, "CI=")
	return append(env, s.all(more)...)
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

// accepts waits until something listens at the address.
func accepts(address string) error {
	deadline := time.Now().Add(time.Minute)
	for {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("nothing listens on %s: %w", address, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// printRaw starts a command as a client would, sends initialize, and prints what it did: a look at
// the set-up without gauze.
func printRaw(ctx context.Context, c oneCase, s *stage) {
	fmt.Printf("== %s: %s\n", c.ID, c.Truth)
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
	var cmd *exec.Cmd
	if c.URL != "" {
		cmd = exec.CommandContext(ctx, "curl", "-sSi", "-m", "10", "-H", "Content-Type: application/json",
			"-H", "Accept: application/json, text/event-stream", "-d", hello, s.fill(c.URL))
	} else {
		argv := s.all(c.Command)
		script := `timeout 20 "$@" < <(printf '%s\n' "$HELLO"; sleep 20 >/dev/null 2>&1)`
		cmd = exec.CommandContext(ctx, "bash", append([]string{"-c", script, "raw"}, argv...)...)
		if i := slices.Index(c.Flags, "--cwd"); i >= 0 {
			cmd.Dir = s.fill(c.Flags[i+1])
		}
	}
	cmd.Env = append(s.environ(c.Env), "HELLO="+hello)
	if cmd.Dir == "" {
		cmd.Dir = s.home
	}
	out, err := cmd.CombinedOutput()
	fmt.Printf("%.1500s\n-- %v\n", out, err)
}
