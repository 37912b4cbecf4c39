package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// failedSeeds are seeds of TestDamageIsNoticed that failed once.
var failedSeeds = []uint64{0x8727bed44e67ad4} // a page of the losses

// image is a journal as files, and what it holds.
type image struct {
	files map[string][]byte // by suffix
	older map[string][]byte // an earlier state of the same journal
	tasks map[string][]string
	event int
}

// say formats an entry so that a change of any part shows.
func say(e Entry) string { return fmt.Sprint(e.Seq, e.Time.UnixNano(), e.Kind, string(e.Data)) }

// newImage makes a journal with tasks and events. If crashed is true, part of it is only in the
// write-ahead log, as after kill -9.
func newImage(t *testing.T, crashed bool) image {
	t.Helper()
	path := filepath.Join(memoryDir(t), "state", FileName)
	const tasks, steps, events = 8, 10, 60
	random := sample.Random(1, 2)
	var timeline []event.Event
	for i := range events {
		timeline = append(timeline, event.Event{Time: time.Now(), Kind: event.Failed, Server: "files", Detail: fmt.Sprint("number ", i)})
	}
	record(t, path, timeline[:events/2]...)
	j := openFor(t, path)
	fill := func(from, to int) {
		for seq := from; seq < to; seq++ {
			for n := range tasks {
				data := fmt.Sprintf(`{"n":%d,"text":%q}`, seq, strings.Repeat("x", random.IntN(900)))
				j.must(t, fmt.Sprintf("task-%d", n), seq, Entry{Time: time.Now(), Kind: "step", Data: []byte(data)})
			}
		}
	}
	fill(0, steps/2)
	older := snapshot(path)
	if crashed {
		j.Close()
		j = openFor(t, path)
	}
	record(t, path, timeline[events/2:]...)
	fill(steps/2, steps)
	if !crashed {
		j.Close()
	}
	im := image{files: snapshot(path), older: older, tasks: map[string][]string{}, event: events}
	if crashed != (len(im.files["-wal"]) > 10*4096) {
		t.Fatalf("the write-ahead log has %d bytes", len(im.files["-wal"]))
	}
	reader := openFor(t, path)
	for n := range tasks {
		task := fmt.Sprintf("task-%d", n)
		entries, err := reader.Entries(context.Background(), task)
		if err != nil || len(entries) != steps {
			t.Fatal(len(entries), err)
		}
		for _, e := range entries {
			im.tasks[task] = append(im.tasks[task], say(e))
		}
	}
	return im
}

// snapshot reads the files of a journal.
func snapshot(path string) map[string][]byte {
	files := map[string][]byte{}
	for _, suffix := range []string{"", "-wal", headsSuffix} {
		if content, err := os.ReadFile(path + suffix); err == nil {
			files[suffix] = content
		}
	}
	return files
}

// replace loses one of the files, or puts an earlier one in its place, and says how.
func (im image) replace(random *rand.Rand, files map[string][]byte) (how string) {
	suffix := []string{"", "-wal", headsSuffix}[random.IntN(3)]
	old, exists := im.older[suffix]
	if !exists || random.IntN(2) == 0 {
		delete(files, suffix)
		return fmt.Sprintf("%q lost", suffix)
	}
	files[suffix] = old
	return fmt.Sprintf("%q of an earlier time", suffix)
}

// injure damages one of the files and says how.
func injure(random *rand.Rand, files map[string][]byte) (how string) {
	suffix := ""
	if wal := files["-wal"]; len(wal) > 0 && random.IntN(2) == 0 {
		suffix = "-wal"
	}
	if random.IntN(8) == 0 {
		suffix = headsSuffix
	}
	content := bytes.Clone(files[suffix])
	switch random.IntN(4) {
	case 0:
		n := random.IntN(len(content))
		content = content[:n]
		how = fmt.Sprintf("%q cut at %d", suffix, n)
	case 1:
		begin := random.IntN(len(content))
		end := min(len(content), begin+1+random.IntN(5000))
		clear(content[begin:end])
		how = fmt.Sprintf("%q zero from %d to %d", suffix, begin, end)
	default:
		for range 1 + random.IntN(3) {
			at, bit := random.IntN(len(content)), random.IntN(8)
			content[at] ^= 1 << bit
			how += fmt.Sprintf("%q bit %d of byte %d; ", suffix, bit, at)
		}
	}
	files[suffix] = content
	return how
}

func TestDamageIsNoticed(t *testing.T) {
	images := []image{newImage(t, false), newImage(t, true)}
	dir := memoryDir(t)
	var kept, all, salvaged int
	seeds := sample.SeedsOf(sample.Seed(t), sample.Part(10_000, 50), failedSeeds...)
	sample.Each(t, seeds, func(seed uint64) {
		random := sample.Random(seed, 17)
		im := images[random.IntN(len(images))]
		files := map[string][]byte{}
		maps.Copy(files, im.files)
		var how string
		if random.IntN(8) == 0 {
			how = im.replace(random, files)
		} else {
			how = injure(random, files)
		}
		path := filepath.Join(dir, fmt.Sprint(seed), FileName)
		os.Mkdir(filepath.Dir(path), 0o700)
		for suffix, content := range files {
			if err := os.WriteFile(path+suffix, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if random.IntN(4) == 0 {
			how += " (then an event was recorded)"
			record(silent{t}, path, event.Event{Kind: event.Ready})
		}
		earlier := false
		if random.IntN(8) == 0 {
			how += " (opened by several at the same time)"
			earlier = openTogether(t, path, how)
			how += " again"
		}
		intact, repaired := im.checkAfter(t, path, how)
		kept += intact
		if repaired || earlier {
			salvaged++
		}
		for _, entries := range im.tasks {
			all += len(entries)
		}
		os.RemoveAll(filepath.Dir(path))
	})
	t.Logf("%d of %d damaged journals were repaired, %.1f %% of the entries kept", salvaged, len(seeds), 100*float64(kept)/float64(all))
	if salvaged < len(seeds)/2 || kept < all/2 {
		t.Errorf("%d of %d repaired, %d of %d entries kept", salvaged, len(seeds), kept, all)
	}
}

// checkAfter opens a damaged journal. Every task must have a genuine beginning of its log, and a
// loss must be reported. It returns how many entries are intact.
func (im image) checkAfter(t *testing.T, path, how string) (intact int, repaired bool) {
	j, err := Open(path)
	if err != nil {
		t.Errorf("%s: %v", how, err)
		return 0, false
	}
	defer j.Close()
	s := j.Salvaged()
	lost := 0
	for task, want := range im.tasks {
		got, err := j.Entries(context.Background(), task)
		for i, e := range got {
			if i >= len(want) || say(e) != want[i] {
				t.Errorf("%s: entry %d of %s is not what was written", how, i+1, task)
				return 0, false
			}
		}
		intact += len(got)
		var damage *Damage
		switch {
		case len(got) == len(want) && err == nil:
		case len(got) == len(want):
			t.Errorf("%s: %s is complete, but: %v", how, task, err)
		case !errors.As(err, &damage) || damage.Kept != len(got) || damage.Lost != len(want)-len(got) || damage.File == "" && !strings.Contains(how, "lost"):
			t.Errorf("%s: %s has %d of %d entries, and the error is %v", how, task, len(got), len(want), err)
		default:
			lost++
		}
	}
	im.checkListed(t, j, how)
	records, err := j.Events(context.Background(), Query{})
	events := len(slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return r.Kind != event.Failed }))
	together := strings.HasSuffix(how, "again") // what was repaired then is not repaired now
	if err != nil || events != im.event && s == nil && !together {
		t.Errorf("%s: %d events, %v", how, events, err)
	}
	if s == nil {
		return intact, false
	}
	if len(s.Losses) != lost || s.Entries != intact || s.Events != len(records) || s.LostEvents != im.event-events {
		t.Errorf("%s: %d tasks with losses, %d entries, %d events; said: %s", how, lost, intact, len(records), s)
	}
	if aside, err := os.ReadFile(s.File); s.File != "" && (err != nil || len(aside) == 0 && !strings.Contains(how, "cut")) {
		t.Errorf("%s: the damaged file: %v", how, err)
	}
	// The new journal works.
	if _, err := j.Append(context.Background(), "new", 0, entry("begin", "")); err != nil {
		t.Errorf("%s: %v", how, err)
	}
	return intact, true
}

// silent is a test that does not log that events cannot be recorded.
type silent struct{ *testing.T }

func (silent) Log(...any) {}

// openTogether opens a damaged journal several times at once. One of them repairs it, the others wait,
// and all can write.
func openTogether(t *testing.T, path, how string) (repaired bool) {
	t.Helper()
	var all sync.WaitGroup
	var count atomic.Int32
	for n := range 3 {
		all.Go(func() {
			j, err := Open(path)
			if err == nil {
				_, err = j.Append(context.Background(), fmt.Sprint("at-once-", n), 0, entry("begin", ""))
				if j.Salvaged() != nil {
					count.Add(1)
				}
				j.Close()
			}
			if err != nil {
				t.Errorf("%s: %v", how, err)
			}
		})
	}
	all.Wait()
	if count.Load() > 1 {
		t.Errorf("%s: repaired %d times", how, count.Load())
	}
	return count.Load() == 1
}

// checkListed checks that every task is either among those with entries or among the lost ones.
func (im image) checkListed(t *testing.T, j *Journal, how string) {
	t.Helper()
	heads, err := j.Tasks(context.Background())
	if err != nil {
		t.Errorf("%s: %v", how, err)
	}
	lost, err := j.LostTasks(context.Background())
	if err != nil {
		t.Errorf("%s: %v", how, err)
	}
	times := map[string]int{}
	for _, head := range heads {
		times[head.Task]++
	}
	for _, loss := range lost {
		times[loss.Task]++
	}
	for task := range im.tasks {
		if times[task] != 1 {
			t.Errorf("%s: %s is listed %d times", how, task, times[task])
		}
	}
}

// A task of which nothing is left is known until it is removed, also if the journal is damaged again.
func TestLostTaskStaysListed(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	j := openFor(t, path)
	j.must(t, "first", 0, entry("begin", ""), entry("end", ""))
	j.Close()
	if err := os.WriteFile(path, bytes.Repeat([]byte("not a database\n"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	j = openFor(t, path)
	if text := j.Salvaged().String(); !strings.Contains(text, "task first lost all 2 entries") {
		t.Error(text)
	}
	j.must(t, "second", 0, entry("begin", ""))
	if _, err := j.db.Exec("DELETE FROM entries"); err != nil {
		t.Fatal(err)
	}
	j.Close()
	j = openFor(t, path)
	for _, want := range []string{
		"the log of task first is damaged: all 2 entries are missing",
		"the log of task second is damaged: its only entry is missing",
	} {
		lost, err := j.LostTasks(ctx)
		if err != nil || len(lost) == 0 || !strings.HasPrefix(lost[0].Error(), want+"; the damaged file was kept as ") {
			t.Fatalf("%v %v, want %s", lost, err, want)
		}
		if err := j.Remove(ctx, lost[0].Task, AnyEntry); err != nil {
			t.Fatal(err)
		}
	}
	if lost, err := j.LostTasks(ctx); err != nil || len(lost) != 0 {
		t.Fatal(lost, err)
	}
}

// memoryDir returns a directory in memory if the system has one: thousands of journals are synced.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "journal")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// In a large journal Open does not read every row, but a row that is missing is still noticed.
func TestMissingRowsAreNoticedWithoutReadingThem(t *testing.T) {
	for name, text := range map[string]string{
		"":                              "",
		"the end of a task":             "DELETE FROM entries WHERE task = 'a' AND seq = 3",
		"the middle of a task":          "DELETE FROM entries WHERE task = 'a' AND seq = 2",
		"a task":                        "DELETE FROM entries WHERE task = 'a'",
		"the last event":                "DELETE FROM events WHERE seq = 3",
		"an event between two":          "DELETE FROM events WHERE seq = 2",
		"the first event":               "DELETE FROM events WHERE seq = 1",
		"every event":                   "DELETE FROM events",
		"the number of the first event": "DELETE FROM meta WHERE name = 'first-event'",
	} {
		path := newPath(t)
		record(t, path, event.Event{Kind: event.Ready}, event.Event{Kind: event.Ready}, event.Event{Kind: event.Ready})
		j := openFor(t, path)
		j.must(t, "a", 0, entry("x", ""), entry("y", ""), entry("z", ""))
		j.must(t, "b", 0, entry("x", ""))
		if _, err := j.db.Exec(text); err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		checks := map[string]error{"": checkEnds(ctx, j.db, path, readHeads(path)), ", every row": check(path, j.db, byRows)}
		if _, err := j.Entries(ctx, "a"); err != nil {
			checks[""] = ErrDamaged // Open leaves the middle of a log to Entries
		}
		for how, err := range checks {
			if broken(err) != (name != "") {
				t.Errorf("without %s%s: %v", name, how, err)
			}
		}
	}
}

func TestALossThatCannotBeKnownIsNotDenied(t *testing.T) {
	path := newPath(t)
	if err := makeDir(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte("not a database\n"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := openFor(t, path).Salvaged(); s == nil || strings.Contains(s.String(), "Nothing is missing") {
		t.Error(s)
	}
}

// What was lost earlier is checked as well: a value of another type there is damage.
func TestADamagedLossIsNoticed(t *testing.T) {
	for kept, want := range map[string]bool{"1": false, "'many'": true} {
		path := newPath(t)
		j := openFor(t, path)
		j.must(t, "a", 0, entry("x", ""))
		if _, err := j.db.Exec("INSERT INTO losses VALUES ('a', " + kept + ", 1, '')"); err != nil {
			t.Fatal(err)
		}
		if err := check(path, j.db, byRows); broken(err) != want {
			t.Errorf("%s: %v", kept, err)
		}
	}
}
