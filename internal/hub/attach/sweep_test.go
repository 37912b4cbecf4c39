package attach

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What is left of places that are not in use is removed some day; what is in use stays.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	here := Place{State: dir, File: "/here"}
	used, err := Listen(t.Context(), Place{State: dir, File: "/used"}, "v1")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	left := Place{State: dir, File: "/left"}
	for _, path := range []string{left.path(lockSuffix), left.path(startSuffix), left.path(fileSuffix), left.Log(), here.Log()} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	count := func() int {
		all, _ := filepath.Glob(filepath.Join(here.dir(), "*"))
		return len(all)
	}
	before := count()
	here.sweep(time.Now())
	if now := count(); now != before {
		t.Errorf("%d of %d files are left although they are new", now, before)
	}
	here.sweep(time.Now().Add(2 * sweepAfter))
	if now := count(); now != before-4 {
		t.Errorf("%d of %d files are left, want all but 4", now, before)
	}
	if _, err := os.Stat(here.Log()); err != nil {
		t.Error(err)
	}
}
