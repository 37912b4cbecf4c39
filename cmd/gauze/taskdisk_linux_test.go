package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// envFileLimit is the size in bytes beyond which this process cannot write files, as on a full disk.
const envFileLimit = "GAUZE_TEST_FILE_LIMIT"

// envStranger makes this process give up the rights of root, who may write anything.
const envStranger = "GAUZE_TEST_STRANGER"

func init() {
	if limit, err := strconv.ParseUint(os.Getenv(envFileLimit), 10, 64); err == nil {
		signal.Ignore(syscall.SIGXFSZ)
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			panic(err)
		}
	}
	if os.Getenv(envStranger) != "" && os.Geteuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			panic(err)
		}
	}
}

// A disk that fills up stops the task before the next call. With space again, it finishes, and no
// effect happens twice.
func TestTaskOnADiskThatFillsUp(t *testing.T) {
	t.Parallel()
	file, keys := forty(theServer, "tool: echo, arguments: {text: hello}")
	for _, limit := range []int{96 << 10, 128 << 10, 160 << 10} {
		k := newTasks(t)
		k.write("forty.yaml", file)
		env := k.env
		k.env = append(slices.Clone(env), envFileLimit+"="+strconv.Itoa(limit))
		stopped := k.gauze("run", "--yes", "forty.yaml").want(1, `journal\.db cannot be .*written: the disk is full`, "free some space")
		id := stopped.id()
		k.env = env
		if done := len(k.effects()); done == 0 || done == len(keys) {
			t.Fatalf("with a limit of %d bytes, %d effects happened before the disk was full", limit, done)
		}
		resumed := k.gauze("resume", id)
		if resumed.status == 4 { // the disk was full after the call, before its outcome was on it
			resumed = k.gauze("decide", id, "done")
		}
		resumed.want(0, "40 of 40 steps")
		k.wantEffects(keys...)
	}
}

func TestTasksOfAReadOnlyJournal(t *testing.T) {
	t.Parallel()
	k, id := finished(t)
	open := func(mode os.FileMode) {
		if err := os.Chmod(filepath.Join(k.dir, "state"), mode); err != nil {
			t.Fatal(err)
		}
	}
	open(0o555)
	t.Cleanup(func() { open(0o700) })
	files, err := filepath.Glob(filepath.Join(k.dir, "state", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if err := os.Chmod(file, 0o444); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	for dir := k.dir; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			break
		}
	}
	k.env = append(k.env, envStranger+"=1")
	for _, got := range k.everyCommand(id) {
		got.want(2, `journal\.db cannot be written: the file or its directory is read-only`, "next: check the directory's owner")
	}
	k.wantNothingDone()
}
