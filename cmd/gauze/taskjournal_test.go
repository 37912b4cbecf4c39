package main

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

// finished returns a directory with a task that stopped after two of its three calls.
func finished(t *testing.T) (k *tasks, id string) {
	t.Helper()
	k = newTasks(t)
	k.write("task.yaml", "name: kept\n"+theServer+"budget: {steps: 2}\nsteps:\n"+
		"  - {id: a, server: s, tool: append, arguments: {key: one}}\n"+
		"  - {id: b, server: s, tool: append, arguments: {key: two}}\n"+
		"  - {id: c, server: s, tool: append, arguments: {key: three}}\n")
	id = k.gauze("run", "--yes", "task.yaml").want(1, "budget of 2 calls").id()
	k.wantEffects("one", "two")
	return k, id
}

func (k *tasks) journal() string { return filepath.Join(k.dir, "state", "journal.db") }

// everyCommand runs the commands that read the journal.
func (k *tasks) everyCommand(id string) map[string]*ended {
	k.t.Helper()
	return map[string]*ended{"list": k.gauze("list"), "show": k.gauze("show", id), "resume": k.gauze("resume", id)}
}

// wantNothingDone checks that the task did not go on.
func (k *tasks) wantNothingDone() {
	k.t.Helper()
	k.wantEffects("one", "two")
}

func TestTasksOfADamagedJournal(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, text []byte) []byte{
		"cut off":     func(_ *testing.T, text []byte) []byte { return text[:len(text)/2] },
		"overwritten": func(_ *testing.T, text []byte) []byte { return bytes.Repeat([]byte("not a database\n"), 1000) },
		"a flipped bit in an outcome": func(t *testing.T, text []byte) []byte {
			at := bytes.LastIndex(text, []byte(`"status":"ok"`))
			if at < 0 {
				t.Fatal("the journal has no outcome")
			}
			text[at+3] ^= 1
			return text
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, id := finished(t)
			text, err := os.ReadFile(k.journal())
			if err != nil {
				t.Fatal(err)
			}
			k.write("state/journal.db", string(damage(t, text)))
			for command, got := range k.everyCommand(id) {
				if command == "list" {
					if listed := regexp.MustCompile(`(?m)^` + id + ` +damaged +- `); got.status != 0 || !listed.MatchString(got.stdout) {
						t.Errorf("list: exit status %d\n%s", got.status, got.stdout)
					}
					continue
				}
				if said := got.stderr; got.status == 0 || !strings.Contains(said, "damaged") {
					t.Errorf("%s: exit status %d, stderr:\n%s", command, got.status, said)
				}
			}
			k.wantNothingDone()
			k.gauze("rm", id).want(0)
			if got := k.gauze("list"); strings.Contains(got.stdout, id) {
				t.Errorf("a task that was removed is listed:\n%s", got.stdout)
			}
			// New tasks run all the same.
			k.write("new.yaml", "name: new\n"+theServer+"steps: [{id: a, server: s, tool: echo, arguments: {text: hello}}]")
			k.gauze("run", "--yes", "new.yaml").want(0, "is done")
		})
	}
}

func TestTasksOfANewerJournal(t *testing.T) {
	t.Parallel()
	k, id := finished(t)
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(k.journal()))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"PRAGMA user_version = 1000", "UPDATE meta SET value = 1000 WHERE name = 'version'", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err := db.ExecContext(context.Background(), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(k.journal())
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range k.everyCommand(id) {
		got.want(2, `journal\.db was written by a newer version of gauze`, "update gauze")
	}
	k.gauze("run", "--yes", "task.yaml").want(2, "newer version of gauze")
	k.wantNothingDone()
	if after, err := os.ReadFile(k.journal()); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the newer journal was changed (%v)", err)
	}
}

// A state directory that cannot be one.
func TestTasksWithoutAStateDirectory(t *testing.T) {
	t.Parallel()
	k := newTasks(t)
	k.write("state", "a file")
	k.write("task.yaml", "name: kept\n"+theServer+"steps: [{id: a, server: s, tool: append, arguments: {key: one}}]")
	for _, args := range [][]string{{"list"}, {"show", "x"}, {"resume", "x"}, {"run", "--yes", "task.yaml"}} {
		k.gauze(args...).want(2, "not a directory", "GAUZE_STATE_DIR")
	}
	k.wantEffects()
}
