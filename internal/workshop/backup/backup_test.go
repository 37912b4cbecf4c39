package backup

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
)

// bench is a store, a folder of somebody's, and what a test does with them.
type bench struct {
	*testing.T
	Store
	folder string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, Store: Store{Dir: filepath.Join(dir, "state", "backups"), patience: time.Minute}, folder: filepath.Join(dir, "somebody")}
	if err := os.Mkdir(b.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) at(name string) string { return filepath.Join(b.folder, name) }

func (b *bench) put(name, content string) string {
	b.Helper()
	if err := os.WriteFile(b.at(name), []byte(content), 0o644); err != nil {
		b.Fatal(err)
	}
	return b.at(name)
}

func (b *bench) change(path, old, new string) Entry {
	b.Helper()
	e, err := b.Write(Change{Path: path, Old: []byte(old), New: []byte(new)})
	if err != nil {
		b.Fatal(err)
	}
	return e
}

func (b *bench) restore(id string, force bool) Entry {
	b.Helper()
	e, err := b.Restore(id, force)
	if err != nil {
		b.Fatal(err)
	}
	return e
}

func (b *bench) holds(path, want string) {
	b.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	if string(got) != want {
		b.Errorf("%s holds %q, want %q", filepath.Base(path), got, want)
	}
}

func (b *bench) absent(path string) {
	b.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		b.Errorf("%s is there: %v", path, err)
	}
}

// lists holds the whole list against these numbers, newest first.
func (b *bench) lists(want ...string) []Entry {
	b.Helper()
	entries, err := b.List()
	if err != nil {
		b.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.ID)
	}
	if !slices.Equal(got, want) {
		b.Errorf("the list is %q, want %q", got, want)
	}
	return entries
}

// tidy wants nothing of ours in the folder, and nothing pending in the store.
func (b *bench) tidy(want ...string) {
	b.Helper()
	var got []string
	for _, dir := range []string{b.folder, b.Dir} {
		items, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			b.Fatal(err)
		}
		for _, item := range items {
			if dir == b.folder || strings.HasSuffix(item.Name(), pending) {
				got = append(got, item.Name())
			}
		}
	}
	if !slices.Equal(got, want) {
		b.Errorf("there is %q, want %q", got, want)
	}
}

// refuses wants this kind of error, in words with these parts.
func refuses(t testing.TB, err, kind error, parts ...string) {
	t.Helper()
	var r *Refusal
	if !errors.As(err, &r) {
		t.Errorf("got %v, want a refusal", err)
		return
	}
	if kind != nil && !errors.Is(err, kind) {
		t.Errorf("got %v, want %v", err, kind)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

func TestAChangeIsMadeListedShownAndTakenBack(t *testing.T) {
	b := newBench(t)
	path := b.put("mcp.json", "{\n}\n")
	e, err := b.Write(Change{Path: path, Old: []byte("{\n}\n"), New: []byte("{\n  1\n}\n"), About: "add\x1b[31m one, token=ghp_0123456789abcdefghijABCDEFGHIJ456789"})
	if err != nil {
		t.Fatal(err)
	}
	b.holds(path, "{\n  1\n}\n")
	listed := b.lists("1")
	if listed[0].Path != path || listed[0] != e {
		t.Errorf("listed as %+v, told as %+v", listed[0], e)
	}
	if strings.Contains(e.About, "\x1b") || strings.Contains(e.About, "ghp_0123") || !strings.HasPrefix(e.About, "add one") {
		t.Errorf("the line about it is %q", e.About)
	}
	_, text, err := b.Diff("1")
	if err != nil || text != "--- "+path+"\n+++ "+path+"\n@@ -1,2 +1,3 @@\n {\n+  1\n }\n" {
		t.Errorf("%v\n%s", err, text)
	}

	undo := b.restore("1", false)
	b.holds(path, "{\n}\n")
	if undo.Undoes != "1" || undo.Old != e.New || undo.New != e.Old {
		t.Errorf("the way back is %+v", undo)
	}
	b.restore(undo.ID, false)
	b.holds(path, "{\n  1\n}\n")
	b.lists("3", "2", "1")
	b.tidy("mcp.json")
}

func TestWhatIsMadeIsRemovedByTheWayBack(t *testing.T) {
	b := newBench(t)
	path := b.at("new/folder/mcp.json")
	e, err := b.Write(Change{Path: path, New: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	b.holds(path, "{}")
	if runtime.GOOS != "windows" {
		for path, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700, b.at("new"): 0o700} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, want)
			}
		}
	}
	if e.Old != "" || e.New != Hash([]byte("{}")) {
		t.Errorf("made as %+v", e)
	}
	undo := b.restore(e.ID, false)
	b.absent(path)
	if undo.New != "" {
		t.Errorf("removed as %+v", undo)
	}
	if _, text, _ := b.Diff(undo.ID); !strings.Contains(text, "+++ /dev/null") {
		t.Errorf("shown as\n%s", text)
	}
	b.restore(undo.ID, false)
	b.holds(path, "{}")
}

func TestAnEmptyFileIsNotNoFile(t *testing.T) {
	b := newBench(t)
	path := b.put("mcp.json", "")
	if _, err := b.Write(Change{Path: path, New: []byte("{}")}); !errors.Is(err, ErrConflict) {
		t.Errorf("an empty file was taken for none: %v", err)
	}
	e := b.change(path, "", "{}")
	b.restore(e.ID, false)
	b.holds(path, "")
}

func TestAModeIsKept(t *testing.T) {
	windowstest.Skip(t)
	b := newBench(t)
	for _, mode := range []fs.FileMode{0o600, 0o644, 0o664, 0o755, 0o200 | 0o444, 0o666} {
		path := b.put("mcp.json", "old")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		b.change(path, "old", "new")
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("%v became %v, %v", mode, info.Mode(), err)
		}
	}
	// Whoever may read the file, its backups are for its owner.
	err := filepath.WalkDir(b.Dir, func(path string, item fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := item.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others: %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnOpenStoreIsClosed(t *testing.T) {
	windowstest.Skip(t)
	b := newBench(t)
	if err := os.MkdirAll(b.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b.change(b.put("mcp.json", "old"), "old", "new")
	if info, err := os.Stat(b.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestAFileThatChangedMeanwhileIsLeftAlone(t *testing.T) {
	b := newBench(t)
	path := b.put("mcp.json", "theirs")
	_, err := b.Write(Change{Path: path, Old: []byte("old"), New: []byte("new")})
	refuses(t, err, ErrConflict, path, "changed", "next: run the command again")
	_, err = b.Write(Change{Path: path, New: []byte("new")})
	refuses(t, err, ErrConflict, "created this file")
	_, err = b.Write(Change{Path: b.at("gone"), Old: []byte("old"), New: []byte("new")})
	refuses(t, err, ErrConflict, "removed this file")
	_, err = b.Write(Change{Path: path, Old: []byte("theirs"), New: []byte("theirs")})
	refuses(t, err, ErrSame)
	if _, err = b.Write(Change{Path: path, Old: []byte("theirs")}); err == nil {
		t.Error("a change without a new content was made")
	}
	b.holds(path, "theirs")
	b.lists()
	b.tidy("mcp.json")
}

// Another program knows nothing of our lock and writes in the last moment.
func TestAFileThatChangesAtTheLastMomentIsLeftAlone(t *testing.T) {
	moments := map[string]func(b *bench, path string){
		"written": func(b *bench, path string) { b.put("mcp.json", "theirs") },
		"removed": func(b *bench, path string) { os.Remove(path) },
		"replaced by the same": func(b *bench, path string) {
			b.put("other", "old")
			os.Rename(b.at("other"), path)
		},
		"turned into a folder": func(b *bench, path string) {
			os.Remove(path)
			os.Mkdir(path, 0o755)
		},
	}
	for name, meddle := range moments {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			path := b.put("mcp.json", "old")
			b.reached = func(step string) {
				if step == stepReady {
					meddle(b, path)
				}
			}
			if _, err := b.Write(Change{Path: path, Old: []byte("old"), New: []byte("new")}); err == nil {
				t.Error("written")
			}
			if now, _ := os.ReadFile(path); string(now) == "new" {
				t.Error("it was written over")
			}
			b.lists()
		})
	}
	for _, moment := range []string{stepReady, stepChecked} {
		t.Run("made/"+moment, func(t *testing.T) {
			b := newBench(t)
			b.reached = func(step string) {
				if step == moment {
					b.put("mcp.json", "theirs")
				}
			}
			_, err := b.Write(Change{Path: b.at("mcp.json"), New: []byte("new")})
			refuses(t, err, ErrConflict)
			b.holds(b.at("mcp.json"), "theirs")
			b.tidy("mcp.json")
		})
	}
}

func TestALinkStaysALink(t *testing.T) {
	windowstest.Skip(t)
	b := newBench(t)
	real := b.put("real.json", "old")
	link := b.at("mcp.json")
	if err := os.Symlink("real.json", link); err != nil {
		t.Skip(err)
	}
	e := b.change(link, "old", "new")
	b.holds(real, "new")
	if to, err := os.Readlink(link); err != nil || to != "real.json" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if e.Path != link || e.Target != real {
		t.Errorf("kept as %+v", e)
	}
	b.restore(e.ID, false)
	b.holds(real, "old")
}

func TestALinkToAFileThatIsNotThereYetStaysALink(t *testing.T) {
	windowstest.Skip(t)
	b := newBench(t)
	link := b.at("mcp.json")
	if err := os.Symlink(b.at("later/real.json"), link); err != nil {
		t.Skip(err)
	}
	if _, err := b.Write(Change{Path: link, New: []byte("new")}); err != nil {
		t.Fatal(err)
	}
	b.holds(b.at("later/real.json"), "new")
	if _, err := os.Readlink(link); err != nil {
		t.Error(err)
	}
}

func TestALinkIsNotFollowedOut(t *testing.T) {
	windowstest.Skip(t)
	b := newBench(t)
	secret := filepath.Join(filepath.Dir(b.folder), "profile")
	if err := os.WriteFile(secret, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	project := b.at("project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"mcp.json": secret, "relative.json": "../../profile", "folder": "../..", "round": "round"} {
		if err := os.Symlink(to, filepath.Join(project, name)); err != nil {
			t.Skip(err)
		}
	}
	for name, within := range map[string]string{"mcp.json": "", "relative.json": project, "folder/profile": project} {
		path := filepath.Join(project, name)
		_, err := b.Write(Change{Path: path, Old: []byte("old"), New: []byte("new"), Within: within})
		refuses(t, err, ErrOutside, path, secret, "next: ")
		var r *Refusal
		if errors.As(err, &r); r.Target != secret {
			t.Errorf("the file itself is told as %q", r.Target)
		}
	}
	b.holds(secret, "old")
	_, err := b.Write(Change{Path: filepath.Join(project, "round"), Old: []byte("old"), New: []byte("new")})
	refuses(t, err, nil, "levels of symbolic links")

	// With the folder named, it is.
	e, err := b.Write(Change{Path: filepath.Join(project, "mcp.json"), Old: []byte("old"), New: []byte("new"), Within: filepath.Dir(secret)})
	if err != nil {
		t.Fatal(err)
	}
	b.holds(secret, "new")

	// The way back goes where the change went, and nowhere else.
	os.Remove(filepath.Join(project, "mcp.json"))
	other := filepath.Join(filepath.Dir(secret), "other")
	if err := os.WriteFile(other, []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	os.Symlink(other, filepath.Join(project, "mcp.json"))
	_, err = b.Restore(e.ID, true)
	refuses(t, err, ErrConflict, "link", beforeName)
	b.holds(other, "new")
	b.holds(secret, "new")
}

func TestWhatItsOwnerProtectsIsLeftAlone(t *testing.T) {
	b := newBench(t)
	path := b.put("mcp.json", "old")
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	_, err := b.Write(Change{Path: path, Old: []byte("old"), New: []byte("new")})
	refuses(t, err, nil, path, "read-only", "next: ")

	path = b.put("twice.json", "old")
	if err := os.Link(path, b.at("again.json")); err == nil {
		_, err := b.Write(Change{Path: path, Old: []byte("old"), New: []byte("new")})
		refuses(t, err, nil, "2 hard links", "next: ")
	}

	_, err = b.Write(Change{Path: b.folder, Old: []byte("old"), New: []byte("new")})
	refuses(t, err, nil, "directory")
	b.lists()
}

func TestAWayBackDoesNotWriteOverWhatCameLater(t *testing.T) {
	b := newBench(t)
	path := b.put("mcp.json", "a")
	b.change(path, "a", "b")
	b.change(path, "b", "c")

	_, err := b.Restore("1", false)
	refuses(t, err, ErrConflict, "gauze changed it again", "gauze undo 2", "--force")
	b.holds(path, "c")

	b.put("mcp.json", "theirs")
	_, err = b.Restore("1", false)
	refuses(t, err, ErrConflict, "another program", "gauze undo --diff 1", "gauze undo 1 --force")
	b.holds(path, "theirs")

	forced := b.restore("1", true)
	b.holds(path, "a")
	b.restore(forced.ID, false)
	b.holds(path, "theirs")

	os.Remove(path)
	_, err = b.Restore("1", false)
	refuses(t, err, ErrConflict)
	b.restore("1", true)
	b.holds(path, "a")
	_, err = b.Restore("1", false)
	refuses(t, err, ErrSame)
}

func TestUnknownNumbersAreRefusedInWords(t *testing.T) {
	b := newBench(t)
	b.lists()
	b.absent(b.Dir)
	b.change(b.put("mcp.json", "a"), "a", "b")
	for _, id := range []string{"", "2", "01", "-1", "../1", "1.pending", "lock"} {
		_, err := b.Restore(id, false)
		refuses(t, err, ErrUnknown, "gauze undo")
		_, _, err = b.Diff(id)
		refuses(t, err, ErrUnknown)
	}
}

func TestDamageStaysWhereItIs(t *testing.T) {
	b := newBench(t)
	path := b.put("mcp.json", "a")
	for _, step := range []string{"ab", "bc", "cd", "de"} {
		b.change(path, step[:1], step[1:])
	}
	spoil := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(b.in(name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spoil("1/entry.json", "{\"hunter2\x00")
	spoil("2/before", "not what it was")
	spoil("stray", "somebody's notes")
	if err := os.Mkdir(b.in("9"), 0o700); err != nil {
		t.Fatal(err)
	}

	entries, err := b.List()
	if len(entries) != 3 || entries[0].ID != "4" || entries[2].ID != "2" {
		t.Errorf("listed %+v", entries)
	}
	refuses(t, err, nil, b.in("1"), b.in("9"))
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error quotes a file: %v", err)
	}
	_, err = b.Restore("1", true)
	refuses(t, err, nil, "cannot be read")
	_, err = b.Restore("2", true)
	refuses(t, err, nil, "damaged")
	b.holds(path, "e")
	b.restore("4", false)
	b.holds(path, "d")
	if e := b.change(path, "d", "f"); e.ID != "11" {
		t.Errorf("number %s was given after a damaged 9 and a 10", e.ID)
	}
}

func TestOldBackupsGoFirstVersionsStay(t *testing.T) {
	entry := func(id int, file string) Entry { return Entry{ID: strconv.Itoa(id), Target: file} }
	ten := func(Entry) int64 { return 10 }
	entries := []Entry{entry(8, "a"), entry(7, "b"), entry(6, "a"), entry(5, "a"), entry(4, "a"), entry(3, "b"), entry(2, "a"), entry(1, "b")}
	for _, c := range []struct {
		perFile int
		bytes   int64
		want    string
	}{
		{50, 1000, ""},
		{2, 1000, "5 4"},
		{1, 1000, "6 5 4 3"},
		{50, 60, "3 4"},
		{2, 40, "5 4 3 6"},
		{50, 0, "3 4 5 6 7"},
	} {
		var got []string
		for _, e := range surplus(entries, ten, c.perFile, c.bytes) {
			got = append(got, e.ID)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%d per file, %d bytes: %q goes, want %q", c.perFile, c.bytes, s, c.want)
		}
	}
}

func TestTheShelfDoesNotGrowForever(t *testing.T) {
	b := newBench(t)
	path := b.put("mcp.json", "0")
	const changes = keptPerFile + 5
	for n := range changes {
		b.change(path, strconv.Itoa(n), strconv.Itoa(n+1))
	}
	entries, err := b.List()
	if err != nil || len(entries) != keptPerFile+1 {
		t.Errorf("%d are kept, %v", len(entries), err)
	}
	b.restore("1", true)
	b.holds(path, "0")
	b.tidy("mcp.json")
}

func TestAStoreThatCannotBeWrittenChangesNothing(t *testing.T) {
	b := newBench(t)
	path := b.put("mcp.json", "old")
	b.Dir = filepath.Join(path, "backups")
	_, err := b.Write(Change{Path: path, Old: []byte("old"), New: []byte("new")})
	refuses(t, err, nil, b.Dir, "GAUZE_STATE_DIR")
	b.holds(path, "old")
}

func TestNobodyWaitsForeverForTheLock(t *testing.T) {
	b := newBench(t)
	unlock, err := b.lock()
	if err != nil {
		t.Fatal(err)
	}
	hasty := b.Store
	hasty.patience = 1
	_, err = hasty.List()
	refuses(t, err, nil, b.Dir, "another gauze", "next: ")
	unlock()
	b.lists()
}

// increment adds one to the number in a file, again and again until nobody was faster.
func increment(s Store, path string) error {
	for {
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var value struct{ N int }
		if err := json.Unmarshal(old, &value); err != nil {
			return err
		}
		value.N++
		new, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if _, err = s.Write(Change{Path: path, Old: old, New: new}); !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

func (b *bench) counts(path string, want int) {
	b.Helper()
	b.holds(path, `{"N":`+strconv.Itoa(want)+`}`)
	b.tidy(filepath.Base(path))
}

func TestNoEditIsLostBetweenGoroutines(t *testing.T) {
	b := newBench(t)
	path := b.put("counter.json", `{"N":0}`)
	const each, many = 5, 8
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			for range each {
				if err := increment(b.Store, path); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	b.counts(path, each*many)
}

func TestConsentIsBoundToEveryPart(t *testing.T) {
	seen := map[string]Change{}
	for _, c := range []Change{
		{Path: "a", Old: []byte("b"), New: []byte("c")},
		{Path: "a", Old: []byte("b"), New: []byte("d")},
		{Path: "a", Old: []byte("d"), New: []byte("c")},
		{Path: "b", Old: []byte("b"), New: []byte("c")},
		{Path: "a", Old: []byte("bc"), New: []byte("")},
		{Path: "a", Old: []byte(""), New: []byte("bc")},
		{Path: "a", New: []byte("bc")},
		{Path: "a", Within: "b", New: []byte("bc")},
	} {
		print := c.Fingerprint()
		if other, taken := seen[print]; taken {
			t.Errorf("%+v and %+v have the same fingerprint", c, other)
		}
		if c.About = "other words"; c.Fingerprint() != print {
			t.Errorf("the words about %+v change its fingerprint", c)
		}
		seen[print] = c
	}
}

func TestWhereBackupsAre(t *testing.T) {
	slash := filepath.FromSlash
	abs := slash("/x/state")
	if runtime.GOOS == "windows" {
		abs = `C:\x\state`
	}
	for _, c := range []struct {
		system, home string
		env          map[string]string
		want         string
	}{
		{"linux", "/h", nil, "/h/.local/state/gauze"},
		{"linux", "/h", map[string]string{"XDG_STATE_HOME": abs}, abs + "/gauze"},
		{"linux", "/h", map[string]string{"XDG_STATE_HOME": "relative"}, "/h/.local/state/gauze"},
		{"linux", "/h", map[string]string{"XDG_STATE_HOME": abs, "GAUZE_STATE_DIR": "/g"}, "/g"},
		{"darwin", "/h", map[string]string{"XDG_STATE_HOME": abs}, "/h/Library/Application Support/gauze"},
		{"windows", "/h", map[string]string{"LOCALAPPDATA": "/l"}, "/l/gauze"},
		{"windows", "/h", nil, ""},
		{"linux", "", nil, ""},
	} {
		got := stateDir(c.system, c.home, func(name string) string { return c.env[name] })
		if slash(got) != slash(c.want) {
			t.Errorf("%s, home %q, %v: %q, want %q", c.system, c.home, c.env, got, c.want)
		}
	}
	state := t.TempDir()
	t.Setenv("GAUZE_STATE_DIR", state)
	if dir, err := DefaultDir(); err != nil || dir != filepath.Join(state, "backups") {
		t.Errorf("%q, %v", dir, err)
	}
}
