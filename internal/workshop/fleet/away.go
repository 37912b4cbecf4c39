package fleet

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/backup"
)

// isAway reports whether a file that refers to gauze after its last change may be on a disk that is not
// mounted: it is missing with its project and the directory of that. If that directory is there, the
// project was deleted.
func (f *Fleet) isAway(last backup.Entry) bool {
	project := filepath.Dir(last.Path)
	if strings.HasPrefix(filepath.Base(project), ".") { // such as .cursor
		project = filepath.Dir(project)
	}
	if last.New == "" || !isMissing(last.Path) || !isMissing(filepath.Dir(project)) {
		return false
	}
	_, _, after, err := f.Store.Contents(last.ID)
	return err != nil || bytes.Contains(after, []byte("gauze"))
}

// awayWhy says what to do about a file that is away.
func awayWhy(path string) string {
	return "not found: " + path + "; if it is on a disk that is not mounted, mount the disk and try again; if you deleted it, create its directory and try again"
}

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
