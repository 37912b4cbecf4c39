package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// entries is the configuration of the story's client. Two servers are wrapped, and the last lacks
// what it needs.
const entries = `{ "mcpServers": {
  "demo":  {"command": "gauze", "args": ["run", "--", "mcp-server-everything"]},
  "notes": {"command": "gauze", "args": ["run", "--", "mcp-server-filesystem", "notes"]},
  "slack": {"command": "mcp-server-slack"}
} }
`

// note is a file that the second server reads.
const note = "plan.md"

// scene is a part of the story: what is typed, and what the terminal showed.
type scene struct {
	title string
	steps []step
	lines []line
}

// step is a command that is typed.
type step struct {
	typed string // typed is the command; {server} stands for the process of the wrapped server.
	until string // until is what its output has when the next command is typed, while it runs. Empty: it ends first.
}

// story is what is typed.
func story() []scene {
	return []scene{
		{title: "Killed during a call", steps: []step{
			{typed: "grep demo ~/" + entriesFile},
			{typed: `call demo trigger-long-running-operation '{"duration": 4, "steps": 4}' &`, until: "step 2 of"},
			{typed: "kill -9 {server}"},
		}},
		{title: "Wrong arguments", steps: []step{
			{typed: `call notes read_text_file '{"path": "` + note + `", "head": "1"}'`},
		}},
		{title: "A server that never starts", steps: []step{
			{typed: "gauze doctor"},
		}},
	}
}

// machine is where the story is played: a home directory and a terminal.
type machine struct {
	dir               string
	env               []string
	control, terminal *os.File
	screen            *screen
}

// playTimeout limits the whole story.
const playTimeout = 5 * time.Minute

// play plays the story on a terminal, and returns its scenes with what they showed.
func play(ctx context.Context) (played []scene, err error) {
	ctx, cancel := context.WithTimeout(ctx, playTimeout)
	defer cancel()
	m, err := newMachine(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	for _, s := range story() {
		if s.lines, err = m.play(ctx, s.steps); err != nil {
			return nil, fmt.Errorf("%s: %w", s.title, err)
		}
		played = append(played, s)
	}
	return played, nil
}

// newMachine prepares a home directory in which gauze, the client and the servers are on the PATH.
func newMachine(ctx context.Context) (*machine, error) {
	servers, err := realparts.Programs(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "gauze-story-")
	if err != nil {
		return nil, err
	}
	m := &machine{dir: dir}
	bin := filepath.Join(dir, "bin")
	path := append(append([]string{bin}, servers...), "/usr/bin", "/bin")
	m.env = []string{"HOME=" + dir, "GAUZE_STATE_DIR=" + m.state(), "PATH=" + strings.Join(path, ":"),
		"LANG=C.UTF-8", "TERM=xterm-256color", "GAUZE_NO_UPDATE_NOTICE=1"}
	err = errors.Join(os.MkdirAll(bin, 0o700), m.write(entriesFile, entries), m.write("notes/"+note, "Ship it on Friday.\n"))
	if err == nil {
		_, err = programs.Gauze.LinkInto(ctx, bin)
	}
	if err == nil {
		err = m.linkClient(bin)
	}
	if err == nil {
		m.control, m.terminal, err = openTerminal()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return m, nil
}

func (m *machine) state() string { return filepath.Join(m.dir, "state") }

func (m *machine) write(name, text string) error {
	path := filepath.Join(m.dir, name)
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
}

// linkClient gives this program the name of the client.
func (m *machine) linkClient(bin string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return os.Symlink(self, filepath.Join(bin, clientName))
}

func (m *machine) close() error {
	return errors.Join(m.terminal.Close(), m.control.Close(), os.RemoveAll(m.dir))
}

// play types the commands of a scene, and returns what the terminal shows when all have ended.
func (m *machine) play(ctx context.Context, steps []step) ([]line, error) {
	m.screen = newScreen()
	copied := make(chan struct{})
	go func() { defer close(copied); m.copyOutput() }()
	var running []*exec.Cmd
	for _, s := range steps {
		cmd, err := m.start(ctx, s)
		if err != nil {
			return nil, err
		}
		if s.until == "" {
			cmd.Wait() // gauze doctor fails if a server does
			continue
		}
		running = append(running, cmd)
		if err := m.await(ctx, s.until); err != nil {
			return nil, err
		}
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			return nil, err
		}
	}
	if _, err := io.WriteString(m.terminal, endOfScene+"\n"); err != nil {
		return nil, err
	}
	select {
	case <-copied:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	lines, _ := m.screen.shown()
	return lines[:len(lines)-1], nil
}

// endOfScene is written to the terminal after the last command, so that all output before it has been
// read.
const endOfScene = "\x1b[0mend of scene"

// copyOutput copies what the terminal shows, up to the end of the scene.
func (m *machine) copyOutput() {
	part := make([]byte, 4096)
	for {
		n, err := m.control.Read(part)
		m.screen.Write(part[:n])
		lines, _ := m.screen.shown()
		if err != nil || len(lines) > 0 && lines[len(lines)-1].text() == "end of scene" {
			return
		}
	}
}

// start types a command and starts it with the shell.
func (m *machine) start(ctx context.Context, s step) (*exec.Cmd, error) {
	typed := s.typed
	if strings.Contains(typed, "{server}") {
		all, err := live.All(ctx, m.state())
		if err != nil || len(all) != 1 {
			return nil, fmt.Errorf("%d wrapped servers are running: %w", len(all), err)
		}
		typed = strings.ReplaceAll(typed, "{server}", fmt.Sprint(all[0].ServerPID))
	}
	m.screen.typed(typed)
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "exec "+strings.TrimSuffix(typed, "&"))
	if strings.HasPrefix(typed, "kill") { // kill is a command of the shell
		cmd.Args[2] = typed
	}
	cmd.Dir, cmd.Env = m.dir, m.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = m.terminal, m.terminal, m.terminal
	return cmd, cmd.Start()
}

// await waits until a row has a text.
func (m *machine) await(ctx context.Context, text string) error {
	for {
		rows, changed := m.screen.shown()
		if slices.ContainsFunc(rows, func(l line) bool { return !l.typed && strings.Contains(l.text(), text) }) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%q is not shown: %w", text, ctx.Err())
		}
	}
}
