package clientconfig

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A client whose file is in the user's home itself is in use if there is such a file.
func TestUsesAFileInHome(t *testing.T) {
	home := Home{OS: runtime.GOOS, Home: t.TempDir()}
	claude, _ := ByID("claude-code")
	if home.Uses(claude) {
		t.Error("it is in use without a file")
	}
	if err := os.WriteFile(filepath.Join(home.Home, ".claude.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !home.Uses(claude) {
		t.Error("it is not in use with a file")
	}
}
