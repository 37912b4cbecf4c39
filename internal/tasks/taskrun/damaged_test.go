package taskrun

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// notary is a server whose tool has an effect that must not be repeated.
type notary struct{ effects []string }

func (n *notary) Tools(context.Context, string) ([]task.Tool, *task.Reply) {
	return []task.Tool{{Name: "sign", Class: task.Unsafe, Shape: "sign"}}, nil
}

func (n *notary) Call(_ context.Context, _, _ string, arguments json.RawMessage) task.Reply {
	n.effects = append(n.effects, string(arguments))
	return task.Reply{Status: task.OK, Text: "signed"}
}

func (n *notary) Situation(server string) (s task.Situation) {
	s.Server, s.Health = server, "healthy"
	return s
}

func (n *notary) Reconnect(context.Context, string) {}

// fatalLog ends its goroutine at a write, as a kill does: after the third write if at is 3, before it
// if at is -3.
type fatalLog struct {
	task.Log
	at, writes int
}

func (l *fatalLog) Append(ctx context.Context, id string, after int, entries ...task.Entry) (int, error) {
	l.writes++
	if l.writes == -l.at {
		runtime.Goexit()
	}
	last, err := l.Log.Append(ctx, id, after, entries...)
	if l.writes == l.at {
		runtime.Goexit()
	}
	return last, err
}

// signed is a task with effects that was stopped: its files, those of an earlier time, and its effects.
type signed struct {
	files, older map[string][]byte
	effects      []string
}

const signings = 4

// sign runs a task until the write at, 0 for its end. Unless closed is set, part of the journal is
// only in the write-ahead log.
func sign(t *testing.T, at int, closed bool) (s signed, writes int) {
	t.Helper()
	dir := memoryDir(t)
	store, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	steps := "name: test\nservers: {s: a/b}\nsteps:\n"
	for n := range signings {
		steps += fmt.Sprintf("  - {id: n%d, server: s, tool: sign, arguments: {n: %d}}\n", n, n)
	}
	plan, err := task.Parse("task.yaml", []byte(steps))
	if err == nil {
		err = task.Start(t.Context(), store.log(), taskID, plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.older = readFiles(dir)
	log, server, ended := &fatalLog{Log: store.log(), at: at}, &notary{}, make(chan struct{})
	go func() {
		defer close(ended)
		(&task.Runner{ID: taskID, Log: log, Servers: server}).Run(t.Context())
	}()
	<-ended
	if closed {
		store.Close()
	}
	s.files, s.effects = readFiles(dir), server.effects
	store.Close()
	return s, log.writes
}

// memoryDir returns a directory in memory if the system has one.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "taskrun")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

var journalFiles = []string{journal.FileName, journal.FileName + "-wal", journal.FileName + ".heads"}

func readFiles(dir string) map[string][]byte {
	files := map[string][]byte{}
	for _, name := range journalFiles {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err == nil && len(content) > 0 {
			files[name] = content
		}
	}
	return files
}

// damage changes, loses or replaces one of the files, and says how.
func (s signed) damage(random *rand.Rand) (files map[string][]byte, how string) {
	files = maps.Clone(s.files)
	names := slices.Sorted(maps.Keys(files))
	name := names[random.IntN(len(names))]
	content := bytes.Clone(files[name])
	at := random.IntN(len(content))
	switch random.IntN(6) {
	case 0:
		delete(files, name)
		return files, name + " lost"
	case 1:
		files[name] = s.older[name]
		return files, name + " of an earlier time"
	case 2:
		files[name] = content[:at]
		return files, fmt.Sprintf("%s cut at %d", name, at)
	case 3:
		clear(content[at:min(len(content), at+1+random.IntN(5000))])
		how = fmt.Sprintf("%s zero from %d", name, at)
	default:
		content[at] ^= 1 << random.IntN(8)
		how = fmt.Sprintf("%s changed at %d", name, at)
	}
	files[name] = content
	return files, how
}

// A task of a damaged journal is resumed only if its log is complete: no call is repeated, and none
// is missing from a task that is done.
func TestADamagedJournalRepeatsNoCall(t *testing.T) {
	var images []signed
	_, writes := sign(t, 0, true)
	for at := -writes; at <= writes; at++ {
		for _, closed := range []bool{false, true} {
			image, _ := sign(t, at, closed)
			images = append(images, image)
		}
	}
	counts, all := map[string]int{}, memoryDir(t)
	seeds := sample.SeedsOf(sample.Seed(t), sample.Part(10_000, 50), 0x26618fb93d7020c0) // a version that is not a number
	sample.Each(t, seeds, func(seed uint64) {
		random := sample.Random(seed, 31)
		image := images[random.IntN(len(images))]
		files, how := image.damage(random)
		dir, err := os.MkdirTemp(all, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		counts[image.resume(t, dir, how)]++
	})
	t.Logf("%d damaged journals: %v", len(seeds), counts)
}

// resume resumes the task and says how that ended.
func (s signed) resume(t *testing.T, dir, how string) string {
	store, err := Open(dir)
	if err != nil {
		t.Fatalf("%s: %v", how, err)
	}
	defer store.Close()
	listed, err := store.List(t.Context())
	if err != nil || len(listed) != 1 || listed[0].ID != taskID {
		t.Fatalf("%s: the task is not listed: %v, %v", how, listed, err)
	}
	if _, err := store.Runnable(t.Context(), taskID); err != nil {
		if !errors.As(err, new(*journal.Damage)) || listed[0].Trouble() != "damaged" {
			t.Errorf("%s: %v, listed as %q", how, err, listed[0].Trouble())
		}
		return "not resumed"
	}
	server := &notary{effects: slices.Clone(s.effects)}
	state, err := (&task.Runner{ID: taskID, Log: store.log(), Servers: server}).Run(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", how, err)
	}
	once := slices.Sorted(slices.Values(server.effects))
	if n := len(once); len(slices.Compact(once)) != n {
		t.Errorf("%s: an effect happened twice: %v", how, server.effects)
	}
	if state.ExitStatus() != 0 {
		return string(state.Status())
	}
	if len(server.effects) != signings {
		t.Errorf("%s: the task is done with %v", how, server.effects)
	}
	return "done"
}
