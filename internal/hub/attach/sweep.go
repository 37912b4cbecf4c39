package attach

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/files"
)

// sweepAfter is how long files of a place that is not in use are kept.
const sweepAfter = 30 * 24 * time.Hour

// sweep removes what is left of places that are not in use any more, such as those of containers.
func (p Place) sweep(now time.Time) {
	entries, _ := os.ReadDir(p.dir())
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.Type().IsRegular() && e.Type() != fs.ModeSocket || now.Sub(info.ModTime()) < sweepAfter {
			continue
		}
		key, _, _ := strings.Cut(e.Name(), ".")
		if key != p.key() && !isLocked(filepath.Join(p.dir(), key+lockSuffix)) {
			os.Remove(filepath.Join(p.dir(), e.Name()))
		}
	}
}

// isLocked reports whether a process has a file locked, as far as that can be found out.
func isLocked(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return !os.IsNotExist(err)
	}
	defer f.Close()
	return files.TryLock(f) != nil
}
