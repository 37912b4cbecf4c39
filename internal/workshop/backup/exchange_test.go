package backup

import (
	"os"
	"testing"
)

// exchanges reports whether this system can exchange two files in one step.
func (b *bench) exchanges() bool {
	one, two := b.put("one", "1"), b.put("two", "2")
	defer os.Remove(one)
	defer os.Remove(two)
	return exchange(one, two) == nil
}

// saveByRename saves a file as careful programs do.
func (b *bench) saveByRename(path, text string) {
	b.Helper()
	if err := os.Rename(b.put("their.tmp", text), path); err != nil {
		b.Fatal(err)
	}
}

// saves are the ways in which another program saves a file.
var saves = map[string]func(b *bench, path string){
	"renamed":  func(b *bench, path string) { b.saveByRename(path, "theirs") },
	"in place": func(b *bench, path string) { b.put("mcp.json", "theirs") },
	"the same": func(b *bench, path string) { b.saveByRename(path, "old") },
}

// No check is the last: a program that knows nothing of our lock saves after it. Its save is what the
// file has, and gauze says that it did not write.
func TestASaveAfterTheLastCheckIsNotLost(t *testing.T) {
	if !newBench(t).exchanges() {
		t.Skip("files cannot be exchanged here")
	}
	for name, save := range saves {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			path := b.put("mcp.json", "old")
			var saved os.FileInfo
			b.reached = func(step string) {
				if step == stepChecked {
					save(b, path)
					saved, _ = os.Stat(path)
				}
			}
			_, err := b.Write(Change{Path: path, Old: []byte("old"), New: []byte("new")})
			refuses(t, err, ErrConflict, path, "nothing was written", "next: run the command again")
			if now, err := os.Stat(path); err != nil || !os.SameFile(now, saved) {
				t.Errorf("the file is not the one that was saved: %v", err)
			}
			b.lists()
			b.tidy("mcp.json")
		})
	}
	t.Run("saved twice", func(t *testing.T) {
		b := newBench(t)
		path := b.put("mcp.json", "old")
		b.reached = func(step string) {
			switch step {
			case stepChecked:
				b.saveByRename(path, "theirs")
			case stepSwapped:
				b.saveByRename(path, "theirs, later")
			}
		}
		_, err := b.Write(Change{Path: path, Old: []byte("old"), New: []byte("new")})
		refuses(t, err, ErrConflict)
		b.holds(path, "theirs, later")
		b.lists()
		b.tidy("mcp.json")
	})
	t.Run("removed", func(t *testing.T) {
		b := newBench(t)
		path := b.put("mcp.json", "old")
		b.reached = func(step string) {
			if step == stepChecked {
				os.Remove(path)
			}
		}
		_, err := b.Write(Change{Path: path, Old: []byte("old"), New: []byte("new")})
		refuses(t, err, ErrConflict, "removed this file")
		b.absent(path)
		b.lists()
		b.tidy()
	})
}

// A file that an undo removes is not lost either if it was saved at that moment.
func TestASaveOfAFileThatIsRemovedIsNotLost(t *testing.T) {
	for name, c := range map[string]struct{ checked, swapped, want string }{
		"once":  {"theirs", "", "theirs"},
		"twice": {"theirs", "theirs, later", "theirs, later"},
		"after": {"", "theirs", "theirs"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			path := b.at("mcp.json")
			if _, err := b.Write(Change{Path: path, New: []byte("new")}); err != nil {
				t.Fatal(err)
			}
			b.reached = func(step string) {
				for at, text := range map[string]string{stepChecked: c.checked, stepSwapped: c.swapped} {
					if step == at && text != "" {
						b.saveByRename(path, text)
					}
				}
			}
			if _, err := b.Restore("1", false); (err != nil) != (c.checked != "") {
				t.Error(err)
			}
			b.holds(path, c.want)
			b.tidy("mcp.json")
		})
	}
}

// A process that dies before it has looked at what came out leaves that to the next one.
func TestASaveIsNotLostIfGauzeDiesThen(t *testing.T) {
	if !newBench(t).exchanges() {
		t.Skip("files cannot be exchanged here")
	}
	for name, later := range map[string]string{"alone": "", "and saved later": "theirs, later"} {
		t.Run("change "+name, func(t *testing.T) {
			b := newBench(t)
			path := b.put("mcp.json", "old")
			b.dies(task{Path: path, Old: []byte("old"), New: []byte("new"), Save: "theirs", DieAt: stepSwapped})
			b.holds(path, "new")
			b.settlesTo(path, later)
			b.lists()
		})
		t.Run("removal "+name, func(t *testing.T) {
			b := newBench(t)
			path := b.at("mcp.json")
			if _, err := b.Write(Change{Path: path, New: []byte("new")}); err != nil {
				t.Fatal(err)
			}
			b.dies(task{Path: path, Restore: "1", Save: "theirs", DieAt: stepSwapped})
			b.absent(path)
			b.settlesTo(path, later)
			b.lists("1")
		})
	}
}

// settlesTo saves the file again, if later is not empty, and checks that the next gauze leaves the
// last save.
func (b *bench) settlesTo(path, later string) {
	b.Helper()
	want := "theirs"
	if later != "" {
		b.saveByRename(path, later)
		want = later
	}
	if _, err := b.List(); err != nil {
		b.Error(err)
	}
	b.holds(path, want)
	b.tidy("mcp.json")
}
