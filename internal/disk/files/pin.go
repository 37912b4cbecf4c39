package files

import (
	"io/fs"
	"os"
)

// Pin loads the identity of the file that os.Stat or os.Lstat found, so that later comparisons with
// os.SameFile are about that file. Read the content after Pin: a file that is replaced in between
// then has a different identity.
//
// Windows looks up the identity of a file by its path at the first comparison. If the file has been
// replaced by then, the FileInfo of the old file gets the identity of the new one, and the two count
// as the same.
func Pin(info fs.FileInfo, err error) (fs.FileInfo, error) {
	if err == nil {
		os.SameFile(info, info) // loads the identity and keeps it
	}
	return info, err
}
