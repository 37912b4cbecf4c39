package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/hub/attach"
)

// upState is the state directory of clients that share a gauze up.
type upState struct {
	t         *testing.T
	dir, file string
}

// newUpState returns one whose gauze up ends with the test.
func newUpState(t *testing.T) upState {
	t.Helper()
	dir, err := os.MkdirTemp("", "gauze-up-") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	s := upState{t, dir, filepath.Join(dir, "up.yaml")}
	if err := os.WriteFile(s.file, []byte("servers:\n  faulty: {command: [faultyserver]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pid := range s.running() {
			if p, err := os.FindProcess(pid); err == nil {
				p.Kill()
			}
		}
		os.RemoveAll(dir)
	})
	return s
}

// running returns the processes that have announced themselves as gauze up.
func (s upState) running() (pids []int) {
	announced, _ := filepath.Glob(filepath.Join(s.dir, attach.DirName, "*.json"))
	for _, file := range announced {
		var about struct{ PID int }
		if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &about) == nil {
			pids = append(pids, about.PID)
		}
	}
	return pids
}

// up returns the process of gauze up.
func (s upState) up() *os.Process {
	s.t.Helper()
	pids := s.running()
	if len(pids) != 1 {
		s.t.Fatalf("%d processes are gauze up", len(pids))
	}
	p, err := os.FindProcess(pids[0])
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// connect starts gauze connect in a directory, with a variable.
func (s upState) connect(dir, variable string, args ...string) *wrapped {
	s.t.Helper()
	cmd := program(s.t, "gauze", append([]string{"connect", "--file", s.file}, args...)...)
	cmd.Dir = dir
	return startWrap(s.t, cmd, []string{"GAUZE_STATE_DIR=" + s.dir, variable})
}

// ask calls a tool and returns the response.
func (w *wrapped) ask(tool, arguments string) string {
	w.t.Helper()
	w.call(tool, arguments)
	_, line := w.response()
	return line
}

func TestConnectSharesOneGauzeUp(t *testing.T) {
	t.Parallel()
	s := newUpState(t)
	here, there := t.TempDir(), t.TempDir()
	first := s.connect(here, "FIRST=1").initialize()
	up := s.up().Pid
	second := s.connect(there, "SECOND=1", "faulty").initialize()
	if now := s.up().Pid; now != up || up == first.cmd.Process.Pid {
		t.Errorf("the first client started process %d, the second %d", up, now)
	}
	for _, c := range []struct {
		w               *wrapped
		dir, own, other string
	}{{first, here, "FIRST=1", "SECOND=1"}, {second, there, "SECOND=1", "FIRST=1"}} {
		if got := c.w.ask("env", `{}`); !strings.Contains(got, filepath.Base(c.dir)) || !strings.Contains(got, c.own) || strings.Contains(got, c.other) {
			t.Errorf("the server of the client in %s with %s has %s", c.dir, c.own, got)
		}
	}
	for _, w := range []*wrapped{first, second} {
		w.in.Close()
		w.wantEnd(0)
		if got := w.stderr.String(); got != "" {
			t.Errorf("stderr is %q", got)
		}
	}
}

// A variable that the file names for a token is not for servers of a gauze up that was started on demand.
func TestConnectGivesServersNoToken(t *testing.T) {
	t.Parallel()
	s := newUpState(t)
	file := "servers: {faulty: {command: [faultyserver]}}\ntokens: {ci: {env: TEST_TOKEN}}\n"
	if err := os.WriteFile(s.file, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	w := s.connect(t.TempDir(), "TEST_TOKEN=a-secret-of-many-characters", "faulty").initialize()
	if got := w.ask("env", `{}`); !strings.Contains(got, "PATH=") || strings.Contains(got, "a-secret-of-many-characters") {
		t.Errorf("the server has %s", got)
	}
	w.in.Close()
	w.wantEnd(0)
}

// A client whose gauze up is killed keeps its session.
func TestConnectAfterGauzeUpWasKilled(t *testing.T) {
	t.Parallel()
	s := newUpState(t)
	w := s.connect(t.TempDir(), "A=1").initialize()
	w.call("echo", `{"text":"answered"}`)
	w.response()
	id := w.call("hang", `{}`)
	w.call("echo", `{"text":"the call before has arrived"}`)
	w.response()
	killed := s.up()
	if err := killed.Kill(); err != nil {
		t.Fatal(err)
	}
	if got, line := w.response(); got != id || !strings.Contains(line, "outcome-unknown") {
		t.Errorf("request %d got %s", got, line)
	}
	for kind := range strings.FieldsSeq("tools prompts resources") {
		if line, err := w.out.ReadString('\n'); !strings.Contains(line, kind+"/list_changed") {
			t.Errorf("%s, %v: the list of %s may have changed", line, err, kind)
		}
	}
	if got := w.ask("echo", `{"text":"again"}`); !strings.Contains(got, `"again"`) {
		t.Error(got)
	}
	if s.up().Pid == killed.Pid {
		t.Error("the killed process is still announced")
	}
	w.in.Close()
	w.wantEnd(0)
}

func TestConnectWorksAlone(t *testing.T) {
	t.Parallel()
	s := newUpState(t)
	path := filepath.Join(s.dir, attach.DirName)
	if err := os.WriteFile(path, nil, 0o600); err != nil { // not a directory
		t.Fatal(err)
	}
	why := strings.TrimSuffix(files.Reason(os.MkdirAll(path, 0o700)), ".") // "not a directory", as this system says it
	w := s.connect(t.TempDir(), "A=1").initialize()
	w.in.Close()
	w.wantEnd(0)
	if got, want := w.stderr.String(), ": "+why+". This client gets servers of its own.\n"; strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, want) {
		t.Errorf("stderr is %q, want %q at its end", got, want)
	}
}

func TestConnectIsRefused(t *testing.T) {
	t.Parallel()
	s := newUpState(t)
	w := s.connect(t.TempDir(), "A=1", "faluty")
	w.wantEnd(2)
	if got := w.stderr.String(); !strings.Contains(got, `did you mean "faulty"?`) || strings.Count(got, "\n") != 1 {
		t.Errorf("stderr is %q", got)
	}
}
