package faultyserver

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

const (
	hello     = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	helloDone = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	ping      = `{"jsonrpc":"2.0","id":"ping","method":"ping"}`
	metaText  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	discover  = `{"jsonrpc":"2.0","id":"disc","method":"server/discover","params":{` + metaText + `}}`
)

// toolCall returns a tools/call line. args is raw JSON or empty.
func toolCall(id, name, args string) string {
	if args == "" {
		args = "{}"
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, args)
}

// outcome is the result of a run: all input was written, stdin was closed and the server ended.
type outcome struct {
	stdout, stderr string
	state          *os.ProcessState
}

func (o outcome) lines() []string {
	return strings.FieldsFunc(o.stdout, func(r rune) bool { return r == '\n' })
}

// run starts the server with these flags (separated by spaces), writes these lines and waits for it
// to end.
func run(t *testing.T, flags string, lines ...string) outcome {
	t.Helper()
	cmd := command(strings.Fields(flags)...)
	cmd.Stdin = strings.NewReader(strings.Join(append(lines, ""), "\n"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = patience.Limit()
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("run: %v", err)
	}
	return outcome{stdout: stdout.String(), stderr: stderr.String(), state: cmd.ProcessState}
}

// wantEnd checks that the server died by the signal, or exited with the code if there is none.
func (o outcome) wantEnd(t *testing.T, code int, signal string) {
	t.Helper()
	if signal != "" && !diedBy(o.state, signal) || signal == "" && o.state.ExitCode() != code {
		t.Errorf("ended with %v, want code %d signal %q; stderr %q", o.state, code, signal, o.stderr)
	}
}

func command(flags ...string) *exec.Cmd {
	path, args, env := Command(append([]string{"-lifetime=" + patience.Limit().String()}, flags...)...)
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// peer exchanges lines with a server: one line out, one line in. A server that does not respond
// ends by its own -lifetime, so that no test waits indefinitely.
type peer struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Reader
}

func talk(t *testing.T, flags string) *peer {
	t.Helper()
	cmd := command(strings.Fields(flags)...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &peer{t: t, cmd: cmd, stdin: stdin, lines: bufio.NewReader(stdout)}
}

func (p *peer) write(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) read() string {
	p.t.Helper()
	line, err := p.lines.ReadString('\n')
	if err != nil {
		p.t.Fatalf("reading: %v (%q)", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

// want reads a line that contains all of these parts.
func (p *peer) want(parts ...string) string {
	p.t.Helper()
	line := p.read()
	for _, part := range parts {
		if !strings.Contains(line, part) {
			p.t.Fatalf("got %s\nwant it to contain %s", line, part)
		}
	}
	return line
}

func (p *peer) call(id, name, args string) string {
	p.t.Helper()
	p.write(toolCall(id, name, args))
	return p.read()
}

// greeted returns a legacy session that is ready for calls.
func greeted(t *testing.T, flags string) *peer {
	t.Helper()
	p := talk(t, flags)
	p.write(hello)
	p.want(`"id":"init"`, `"protocolVersion":"2025-06-18"`)
	p.write(helloDone)
	return p
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s is %q\nwant it to contain %q", what, text, part)
		}
	}
}
