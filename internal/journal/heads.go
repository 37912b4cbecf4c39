package journal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// The heads are a text file beside the database with a line for each log that grew in a commit: the
// task, the number of its last entry, and the line's checksum. They are written after the commit and
// never synced, so they never claim more than the database has: an entry that they name and the
// database lacks was lost. Lines that are damaged are ignored.
const (
	headsSuffix = ".heads"
	timeline    = "-" // stands for the events in place of a task

	maxHeadsBytes = 64 << 10 // before the file is compacted
)

func openHeads(path string) (*os.File, error) {
	return os.OpenFile(path+headsSuffix, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

// headLine formats one line.
func headLine(task string, last int) []byte {
	line := fmt.Sprintf("%s %d", task, last)
	return fmt.Appendf(nil, "%s %08x\n", line, crc32.ChecksumIEEE([]byte(line)))
}

// appendHeads records what the requests of a commit appended. One write: lines of several processes
// do not mix. If it fails, only the evidence of a later loss is missing.
func appendHeads(f *os.File, group []*request) {
	var lines []byte
	for _, r := range group {
		if r.err == nil {
			lines = append(lines, headLine(r.task, r.last)...)
		}
	}
	f.Write(lines)
}

// readHeads returns the last acknowledged number of each log.
func readHeads(path string) map[string]int {
	content, _ := os.ReadFile(path + headsSuffix)
	heads := map[string]int{}
	for line := range bytes.Lines(content) {
		field := bytes.Fields(line)
		if len(field) != 3 {
			continue
		}
		task := string(field[0])
		last, err := strconv.Atoi(string(field[1]))
		if err == nil && bytes.Equal(line, headLine(task, last)) {
			heads[task] = max(heads[task], last)
		}
	}
	return heads
}

// headLines formats one line for each log.
func headLines(heads map[string]int) (lines []byte) {
	for task, last := range heads {
		lines = append(lines, headLine(task, last)...)
	}
	return lines
}

// writeHeads replaces the file. The caller has the journal alone.
func writeHeads(path string, heads map[string]int) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+headsSuffix+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(headLines(heads))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path+headsSuffix)
}

// compactHeads rewrites a long file if no other process has the journal open, and at least half of it
// is superseded.
func compactHeads(path string, use *os.File) {
	info, err := os.Stat(path + headsSuffix)
	if err != nil || info.Size() <= maxHeadsBytes {
		return
	}
	unlock(use)
	if tryLock(use, true) != nil {
		return
	}
	if heads := readHeads(path); len(heads) > 0 && int64(len(headLines(heads))) <= info.Size()/2 {
		writeHeads(path, heads)
	}
}

// removeIfPresent removes a file that need not exist.
func removeIfPresent(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
