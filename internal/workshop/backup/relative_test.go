package backup

import (
	"strings"
	"testing"
)

// A relative directory would be in whatever project gauze is started in, with what that project put there.
func TestARelativeStateDirectoryIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"state", ".", "./state", "../state"} {
		t.Setenv("GAUZE_STATE_DIR", dir)
		if got, err := StateDir(); err == nil || !strings.Contains(err.Error(), "must be absolute") {
			t.Errorf("%s: %q, %v", dir, got, err)
		}
	}
}
