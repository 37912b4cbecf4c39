package backup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// task is what a second process does: this test binary again, with the task as its input.
type task struct {
	Dir      string // of the store
	Path     string
	Old, New []byte
	Restore  string // the number of a change to take back, instead
	Times    int    // increments, instead

	Save    string // what another program saves after the last check
	DieAt   string // the step at which the process is killed
	LimitAt string // the step from which on no file may grow any more
	User    int    // who to be
	Mount   bool   // Path is mounted on its own
}

const envTask = "BACKUP_TEST_TASK"

func TestMain(m *testing.M) {
	if os.Getenv(envTask) == "" {
		os.Exit(m.Run())
	}
	var t task
	err := json.NewDecoder(os.Stdin).Decode(&t)
	if err == nil {
		err = t.do()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

func (t task) do() error {
	s := Store{Dir: t.Dir, patience: time.Minute, reached: func(step string) {
		if step == stepChecked && t.Save != "" {
			if err := os.WriteFile(t.Path+".their", []byte(t.Save), 0o600); err != nil {
				panic(err)
			}
			if err := os.Rename(t.Path+".their", t.Path); err != nil {
				panic(err)
			}
		}
		switch step {
		case t.DieAt:
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			if err != nil {
				panic(err)
			}
			select {} // until the signal is there
		case t.LimitAt:
			if err := limitFiles(); err != nil {
				panic(err)
			}
		}
	}}
	if err := t.become(); err != nil {
		return err
	}
	for range t.Times {
		if err := increment(s, t.Path); err != nil {
			return err
		}
	}
	if t.Times > 0 {
		return nil
	}
	if t.Restore != "" {
		_, err := s.Restore(t.Restore, false)
		return err
	}
	_, err := s.Write(Change{Path: t.Path, Old: t.Old, New: t.New})
	return err
}

// start runs the task in a process of its own; wait returns what it said, and whether it ended by itself.
func (b *bench) start(task task) (wait func() (said string, exited bool)) {
	b.Helper()
	task.Dir = b.Dir
	text, err := json.Marshal(task)
	if err != nil {
		b.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), envTask+"=1")
	cmd.Stdin = bytes.NewReader(text)
	cmd.Stderr = &out
	apart(cmd, task)
	if err := cmd.Start(); err != nil {
		if task.Mount {
			b.Skip("no mounts for us here: ", err)
		}
		b.Fatal(err)
	}
	return func() (string, bool) {
		cmd.Wait()
		return out.String(), !killed(cmd.ProcessState)
	}
}

// killed reports whether a task's process was killed: its status is then -1, or 1 on Windows, and no task exits with those.
func killed(state *os.ProcessState) bool { return state.ExitCode() == -1 || state.ExitCode() == 1 }

var (
	allSteps = []string{stepLocked, stepShelf, stepBefore, stepAfter, stepKept, stepTemp, stepHalf, stepReady, stepChecked, stepSwapped, stepReplaced, stepListed}
	removing = []string{stepLocked, stepShelf, stepBefore, stepAfter, stepKept, stepReady, stepChecked, stepSwapped, stepReplaced, stepListed}
)

func TestAfterACrashAFileIsOldOrNew(t *testing.T) {
	old, new := strings.Repeat("old line\n", 5000), strings.Repeat("another line\n", 6000)
	for _, step := range allSteps {
		done := step == stepSwapped || step == stepReplaced || step == stepListed
		t.Run("change/"+step, func(t *testing.T) {
			b := newBench(t)
			if step == stepSwapped && !b.exchanges() {
				t.Skip("files cannot be exchanged here")
			}
			path := b.put("mcp.json", old)
			b.dies(task{Path: path, Old: []byte(old), New: []byte(new), DieAt: step})
			now := old
			if done {
				now = new
			}
			b.holds(path, now)
			if done {
				b.lists("1")
				b.tidy("mcp.json")
				b.restore("1", false)
				b.holds(path, old)
				return
			}
			b.lists()
			b.tidy("mcp.json")
			b.change(path, old, new)
			b.holds(path, new)
		})
		if step == stepSwapped {
			continue // there is nothing to exchange a new file with
		}
		t.Run("creation/"+step, func(t *testing.T) {
			b := newBench(t)
			path := b.at("mcp.json")
			b.dies(task{Path: path, New: []byte(new), DieAt: step})
			if !done {
				b.absent(path)
				if _, err := b.Write(Change{Path: path, New: []byte(new)}); err != nil {
					t.Fatal(err)
				}
			}
			b.holds(path, new)
			b.lists("1")
			b.tidy("mcp.json")
		})
	}
	for _, step := range removing {
		t.Run("removal/"+step, func(t *testing.T) {
			b := newBench(t)
			path := b.at("mcp.json")
			if _, err := b.Write(Change{Path: path, New: []byte(new)}); err != nil {
				t.Fatal(err)
			}
			b.dies(task{Restore: "1", DieAt: step})
			if step != stepSwapped && step != stepReplaced && step != stepListed {
				b.holds(path, new)
				b.restore("1", false)
			}
			b.absent(path)
			b.lists("2", "1")
			b.tidy()
		})
	}
}

func (b *bench) dies(task task) {
	b.Helper()
	if said, exited := b.start(task)(); exited {
		b.Fatalf("it was to be killed at %q and was not: %s", task.DieAt, said)
	}
}

// Somebody else may have been at the file between the crash and us.
func TestACrashIsSettledByWhatIsThere(t *testing.T) {
	for step, listed := range map[string]bool{stepKept: true, stepReady: false, stepSwapped: true, stepReplaced: true} {
		t.Run(step, func(t *testing.T) {
			b := newBench(t)
			if step == stepSwapped && !b.exchanges() {
				t.Skip("files cannot be exchanged here")
			}
			path := b.put("mcp.json", "old")
			b.dies(task{Path: path, Old: []byte("old"), New: []byte("new"), DieAt: step})
			b.put("mcp.json", "theirs")
			if listed { // before the file beside it is made nothing tells the two apart: the backup is kept
				b.lists("1")
			} else {
				b.lists()
			}
			b.holds(path, "theirs")
			b.tidy("mcp.json")
		})
	}
}

func TestACrashWhileAnOldBackupIsRemovedLeavesNoDamage(t *testing.T) {
	for _, left := range [][]string{{entryName, beforeName, afterName}, {beforeName, afterName}, {afterName}, {}} {
		b := newBench(t)
		path := b.put("mcp.json", "a")
		b.change(path, "a", "b")
		b.change(path, "b", "c")
		if err := os.Rename(b.in("1"), b.in("1.pending")); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{entryName, beforeName, afterName} {
			if !strings.Contains(strings.Join(left, " "), name) {
				os.Remove(b.in("1.pending", name))
			}
		}
		if len(left) == 3 {
			b.lists("2", "1")
		} else {
			b.lists("2")
		}
		b.tidy("mcp.json")
	}
}

func TestNoEditIsLostBetweenProcesses(t *testing.T) {
	b := newBench(t)
	path := b.put("counter.json", `{"N":0}`)
	const each, many = 10, 4
	var waits []func() (string, bool)
	for range many {
		waits = append(waits, b.start(task{Path: path, Times: each}))
	}
	for _, wait := range waits {
		if said, _ := wait(); said != "" {
			t.Error(said)
		}
	}
	b.counts(path, each*many)
	if entries, err := b.List(); err != nil || len(entries) != each*many {
		t.Errorf("%d changes are listed, %v", len(entries), err)
	}
}

// A process that dies holds no lock, and the others go on as if it had never been there.
func TestNoEditIsLostWhenProcessesDie(t *testing.T) {
	b := newBench(t)
	path := b.put("counter.json", `{"N":0}`)
	const each, many = 5, 3
	var waits, mortals []func() (string, bool)
	made := 0
	for n := range many {
		waits = append(waits, b.start(task{Path: path, Times: each}))
		step := []string{stepHalf, stepReady, stepReplaced}[n]
		mortals = append(mortals, b.start(task{Path: path, Times: 1, DieAt: step}))
		if step == stepReplaced {
			made++
		}
	}
	for _, wait := range waits {
		if said, _ := wait(); said != "" {
			t.Error(said)
		}
	}
	for _, wait := range mortals {
		if said, exited := wait(); exited {
			t.Errorf("it was to be killed and was not: %s", said)
		}
	}
	if _, err := b.List(); err != nil {
		t.Error(err)
	}
	b.counts(path, each*many+made)
}

func TestSecretsAreInNoNameAndNoError(t *testing.T) {
	b := newBench(t)
	const secret = "hunter2-hunter2"
	path := b.put("mcp.json", secret)
	b.change(path, secret, secret+"-new")
	var said []string
	for _, err := range []error{
		errOf(b.Write(Change{Path: path, Old: []byte(secret), New: []byte("x")})),
		errOf(b.Write(Change{Path: path, Old: []byte(secret + "-new"), New: []byte(secret + "-new")})),
		errOf(b.Restore("7", false)),
	} {
		if err == nil {
			t.Error("no error")
			continue
		}
		said = append(said, err.Error())
	}
	err := filepath.Walk(filepath.Dir(b.folder), func(path string, _ os.FileInfo, err error) error {
		said = append(said, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	entry, err := os.ReadFile(b.in("1", entryName))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range append(said, string(entry)) {
		if strings.Contains(line, "hunter2") {
			t.Errorf("%q", line)
		}
	}
}

func errOf[T any](_ T, err error) error { return err }
