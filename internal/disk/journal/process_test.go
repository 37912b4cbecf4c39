package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
)

// The test binary acts as a second gauze process: $JOURNAL_TEST is "ROLE PATH TASK".
const envRole = "JOURNAL_TEST"

func TestMain(m *testing.M) {
	busyTimeout = 2 * time.Minute // the machine may be slow
	role, rest, _ := strings.Cut(os.Getenv(envRole), " ")
	path, task, _ := strings.Cut(rest, " ")
	switch role {
	case "":
		os.Exit(m.Run())
	case "append": // appends until it is killed, and prints each number that was acknowledged
		appendForever(path, task)
	case "full": // no file may grow
		limitFileSize()
		appendForever(path, task)
	case "stranger": // may not write
		becomeStranger()
		appendForever(path, task)
	case "flood": // appends large entries, and prints the greatest size of the write-ahead log
		j, err := Open(path)
		size := int64(0)
		for last := 0; err == nil && last < floodEntries; {
			last, err = j.Append(context.Background(), task, last, Entry{Kind: "step", Data: bytes.Repeat([]byte("x"), floodBytes)})
			if info, err := os.Stat(path + "-wal"); err == nil {
				size = max(size, info.Size())
			}
		}
		fmt.Println(size, err)
		io.Copy(io.Discard, os.Stdin) // closing it would shorten the log
		os.Exit(0)
	case "lock": // keeps a lock until it is killed or its stdin is closed
		j, err := Open(path)
		if err == nil {
			_, err = j.Lock(task)
		}
		fmt.Println("locked", err)
		io.Copy(io.Discard, os.Stdin)
	}
}

const floodEntries, floodBytes = 300, 64 << 10

// While several processes write without a pause, the write-ahead log restarts again and again.
func TestTheWriteAheadLogStaysShort(t *testing.T) {
	path := filepath.Join(memoryDir(t), "state", FileName)
	openFor(t, path)
	const processes = 4
	var all []process
	for n := range processes {
		all = append(all, start(t, "flood", path, fmt.Sprint("t", n)))
	}
	longest := 0
	for _, p := range all {
		p.lines.Scan()
		var size int
		if n, err := fmt.Sscanf(p.lines.Text(), "%d <nil>", &size); n != 1 || err != nil {
			t.Fatal(p.lines.Text())
		}
		longest = max(longest, size)
	}
	written, limit := processes*floodEntries*floodBytes, processes*2*1000*4096
	t.Logf("of %d kB, the log had at most %d", written>>10, longest>>10)
	if longest > limit || written < 2*limit {
		t.Errorf("of %d bytes, the log had %d, want at most %d", written, longest, limit)
	}
}

func appendForever(path, task string) {
	j, err := Open(path)
	for last := 0; err == nil; {
		if last, err = j.Append(context.Background(), task, last, Entry{Kind: "step", Data: []byte(strconv.Itoa(last))}); err == nil {
			fmt.Println(last)
		}
	}
	fmt.Println(err)
	os.Exit(3)
}

// process is a second process and the lines it prints.
type process struct {
	*exec.Cmd
	lines *bufio.Scanner
}

func start(t *testing.T, role, path, task string) process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envRole+"="+strings.Join([]string{role, path, task}, " "))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil { // open until Wait
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return process{cmd, bufio.NewScanner(out)}
}

// kill ends the process as kill -9 does, and returns the last line it printed.
func (p process) kill() (last string) {
	p.Process.Kill()
	for p.lines.Scan() {
		last = p.lines.Text()
	}
	p.Wait()
	return last
}

func TestAKilledWriterLosesNothingThatWasAcknowledged(t *testing.T) {
	path := newPath(t)
	for round := range 10 {
		task := fmt.Sprint("t", round)
		p := start(t, "append", path, task)
		for range 1 + 3*round {
			p.lines.Scan()
		}
		seen := p.lines.Text()
		acknowledged, err := strconv.Atoi(cmp.Or(p.kill(), seen))
		if err != nil {
			t.Fatalf("%q", seen)
		}
		j := openFor(t, path)
		entries, err := j.Entries(context.Background(), task)
		if err != nil || len(entries) < acknowledged || len(entries) > acknowledged+1 {
			t.Errorf("%d entries, %d acknowledged: %v", len(entries), acknowledged, err)
		}
		if j.Salvaged() != nil {
			t.Errorf("a kill damaged the journal: %s", j.Salvaged())
		}
		j.Close()
	}
}

func TestTwoProcessesAndARecorderShareTheJournal(t *testing.T) {
	path := newPath(t)
	one, two := start(t, "append", path, "one"), start(t, "append", path, "two")
	j := openFor(t, path)
	for n := range 30 {
		one.lines.Scan()
		two.lines.Scan()
		j.must(t, "three", n, entry("step", ""))
		if n%10 == 0 {
			record(t, path, event.Event{Kind: event.Ready})
		}
	}
	if a, b := one.lines.Text(), two.lines.Text(); a != "30" || b != "30" {
		t.Errorf("%q and %q, want 30", a, b)
	}
	one.kill()
	two.kill()
	for _, task := range []string{"one", "two", "three"} {
		if entries, err := j.Entries(context.Background(), task); err != nil || len(entries) < 30 {
			t.Errorf("%s: %d, %v", task, len(entries), err)
		}
	}
	if records, err := j.Events(context.Background(), Query{}); err != nil || len(records) != 3 {
		t.Errorf("%d events: %v", len(records), err)
	}
	j.Close()
	if j = openFor(t, path); j.Salvaged() != nil {
		t.Error(j.Salvaged())
	}
}

func TestTheLockOfAKilledRunnerIsFree(t *testing.T) {
	path := newPath(t)
	p := start(t, "lock", path, "a")
	if p.lines.Scan(); p.lines.Text() != "locked <nil>" {
		t.Fatal(p.lines.Text())
	}
	j := openFor(t, path)
	if _, err := j.Lock("a"); !errors.Is(err, ErrRunning) {
		t.Errorf("two runners: %v", err)
	}
	p.kill()
	unlock, err := j.Lock("a")
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestAJournalInUseIsNotMovedAside(t *testing.T) {
	path := newPath(t)
	j := openFor(t, path)
	j.must(t, "a", 0, entry("begin", ""))
	if err := os.WriteFile(path+headsSuffix, headLine("a", 5), 0o600); err != nil { // entries 2 to 5 are missing
		t.Fatal(err)
	}
	_, err := Open(path)
	wantProblem(t, err, path, "is damaged, and another gauze process is using it", "next: stop")
	var damage *Damage
	if entries, err := j.Entries(context.Background(), "a"); !errors.As(err, &damage) || len(entries) != 1 || damage.Lost != 4 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	j.Close()
	j = openFor(t, path)
	if s := j.Salvaged(); s == nil || len(s.Losses) != 1 || !strings.Contains(s.String(), "task a lost 4 entries after entry 1") {
		t.Errorf("%v", s)
	}
	if _, err := j.Entries(context.Background(), "a"); !errors.As(err, &damage) || damage.File == "" {
		t.Errorf("the loss is forgotten: %v", err)
	}
	j.must(t, "a", 1, entry("decided", ""))
	if got := j.told(t, "a"); got != "1:begin 2:decided" {
		t.Error(got)
	}
}

// wantProblem requires an error about the journal with these parts.
func wantProblem(t *testing.T, err error, parts ...string) {
	t.Helper()
	var problem *Problem
	if !errors.As(err, &problem) {
		t.Errorf("got %v, want a problem", err)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

func TestAJournalOfANewerVersionIsLeftAlone(t *testing.T) {
	path := newPath(t)
	j := openFor(t, path)
	for _, text := range []string{"PRAGMA user_version = 9", "UPDATE meta SET value = 9 WHERE name = 'version'"} {
		if _, err := j.db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(path)
	wantProblem(t, err, path, "newer version of gauze (format 9; this version supports 1)", "next: update gauze")
	if !errors.Is(err, ErrNewer) {
		t.Error(err)
	}
	if r := record(t, path, event.Event{Kind: event.Ready}); r.Lost() != 1 {
		t.Error("an event was written to a newer journal")
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the file was changed: %v", err)
	}
}

func TestWhatIsNotADatabaseIsMovedAside(t *testing.T) {
	for _, content := range []string{"", "hello", strings.Repeat("not a database ", 4000)} {
		path := newPath(t)
		openFor(t, path).Close()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		j := openFor(t, path)
		s := j.Salvaged()
		if s == nil {
			t.Fatalf("%.10q passed", content)
		}
		if kept, err := os.ReadFile(s.File); err != nil || string(kept) != content {
			t.Errorf("%.10q was not kept: %v", content, err)
		}
		j.must(t, "a", 0, Entry{Time: time.Now(), Kind: "begin"})
	}
}
