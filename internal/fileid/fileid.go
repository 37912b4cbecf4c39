// Package fileid fixes which file a fs.FileInfo is about.
//
// On Windows os.SameFile looks the identity of a file up by its path, at the
// first comparison. If the file was replaced by then, the info of the old file
// has the identity of the new one, and the two count as the same.
package fileid

import (
	"io/fs"
	"os"
)

// Pin loads the identity of the file that os.Stat or os.Lstat has found, so that
// later comparisons by os.SameFile are about that file. Read the content after
// that: then a file that is replaced in between has a different identity.
func Pin(info fs.FileInfo, err error) (fs.FileInfo, error) {
	if err == nil {
		os.SameFile(info, info) // loads it and keeps it
	}
	return info, err
}
