package journal

import (
	"context"
	"errors"
	"os"
	"testing"
)

func TestARemovedTaskIsNotDamage(t *testing.T) {
	path := newPath(t)
	j := openFor(t, path)
	j.must(t, "a", 0, entry("begin", ""), entry("end", ""))
	j.must(t, "b", 0, entry("begin", ""))
	ctx := context.Background()
	if err := j.Remove(ctx, "a", 1); !errors.Is(err, ErrChanged) || j.told(t, "a") == "" {
		t.Errorf("a task that has changed was removed: %v", err)
	}
	if err := j.Remove(ctx, "a", 2); err != nil {
		t.Fatal(err)
	}
	if exists(j.lockPath("a")) {
		t.Error("the lock is left")
	}
	for range 2 {
		if a, b := j.told(t, "a"), j.told(t, "b"); a != "" || b != "1:begin" || j.Salvaged() != nil {
			t.Errorf("%q, %q, %v", a, b, j.Salvaged())
		}
		j.Close()
		var err error
		if j, err = OpenChecked(path); err != nil {
			t.Fatal(err)
		}
		defer j.Close()
	}
	j.must(t, "a", 0, entry("again", "")) // its log begins from 1
	if err := os.WriteFile(path+headsSuffix, headLines(readHeads(path)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := j.told(t, "a"); got != "1:again" {
		t.Error(got)
	}
}

// A crash between the two writes of a removal leaves a task that is complete.
func TestACrashWhileATaskIsRemovedIsNotDamage(t *testing.T) {
	path := newPath(t)
	j := openFor(t, path)
	j.must(t, "a", 0, entry("begin", ""), entry("end", ""))
	if _, err := j.heads.Write(headLine("a", removed)); err != nil {
		t.Fatal(err)
	}
	j.Close()
	if j = openFor(t, path); j.Salvaged() != nil || j.told(t, "a") != "1:begin 2:end" {
		t.Error(j.Salvaged(), j.told(t, "a"))
	}
}

func TestTheLossOfARemovedTaskIsForgotten(t *testing.T) {
	path := newPath(t)
	j := openFor(t, path)
	j.must(t, "a", 0, entry("begin", ""))
	j.Close()
	if err := os.WriteFile(path+headsSuffix, headLine("a", 5), 0o600); err != nil { // entries 2 to 5 are missing
		t.Fatal(err)
	}
	j = openFor(t, path)
	if _, err := j.Entries(context.Background(), "a"); !errors.As(err, new(*Damage)) {
		t.Fatal(err)
	}
	if err := j.Remove(context.Background(), "a", AnyEntry); err != nil {
		t.Fatal(err)
	}
	if got := j.told(t, "a"); got != "" {
		t.Error(got)
	}
}

func TestARunningTaskIsNotRemoved(t *testing.T) {
	path := newPath(t)
	j, other := openFor(t, path), openFor(t, path)
	j.must(t, "a", 0, entry("begin", ""))
	unlock, err := other.Lock("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Remove(context.Background(), "a", 1); !errors.Is(err, ErrRunning) || j.told(t, "a") != "1:begin" {
		t.Errorf("%v, %q", err, j.told(t, "a"))
	}
	unlock()
	if err := j.Remove(context.Background(), "a", 1); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Append(context.Background(), "a", 1, entry("next", "")); !errors.Is(err, ErrChanged) {
		t.Errorf("a removed task was continued: %v", err)
	}
}
