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

	"github.com/gauze-mcp/gauze/internal/filelock"
)

// The heads are a text file beside the database with a line for each log that grew in a commit: the
// task, the number of its last entry, and the line's checksum. They are written after the commit and
// never synced, so they never claim more than the database has: an entry that they name and the
// database lacks was lost. A line of a log that is about to be removed cancels those before it. Lines
// that are damaged are ignored.
const (
	headsSuffix = ".heads"
	timeline    = "-" // stands for the events in place of a task
	removed     = 0   // stands for the last number of a log that was removed

	maxHeadsBytes = 64 << 10 // before the file is compacted
)

func openHeads(path string) (*os.File, error) {
	return os.OpenFile(path+headsSuffix, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

// appendHead formats one line after lines.
func appendHead(lines []byte, task string, last int) []byte {
	begin := len(lines)
	lines = strconv.AppendInt(append(append(lines, task...), ' '), int64(last), 10)
	return fmt.Appendf(lines, " %08x\n", crc32.ChecksumIEEE(lines[begin:]))
}

// headLine formats one line.
func headLine(task string, last int) []byte { return appendHead(nil, task, last) }

// appendHeads records what the requests of a commit appended. One write: lines of several processes
// do not mix. If it fails, only the evidence of a later loss is missing.
func appendHeads(f *os.File, group []*request) {
	var lines []byte
	for _, r := range group {
		if r.err == nil {
			lines = appendHead(lines, r.task, r.last)
		}
	}
	f.Write(lines)
}

// readHeads returns the last acknowledged number of each log.
func readHeads(path string) map[string]int {
	content, _ := os.ReadFile(path + headsSuffix)
	heads := map[string]int{}
	for line := range bytes.Lines(content) {
		if task, last, ok := parseHead(line); ok {
			if heads[task] = max(heads[task], last); last == removed {
				delete(heads, task)
			}
		}
	}
	return heads
}

// readHead returns the last acknowledged number of one log, 0 if there is none. Many tasks that start
// at the same time read the file, so it skips the lines of the others.
func readHead(path, task string) (last int) {
	content, _ := os.ReadFile(path + headsSuffix)
	prefix := []byte(task + " ")
	for line := range bytes.Lines(content) {
		if bytes.HasPrefix(line, prefix) {
			if _, number, ok := parseHead(line); ok && number == removed {
				last = 0
			} else if ok {
				last = max(last, number)
			}
		}
	}
	return last
}

// parseHead reads a line. It is not ok if the line is damaged.
func parseHead(line []byte) (task string, last int, ok bool) {
	field := bytes.Fields(line)
	if len(field) != 3 {
		return "", 0, false
	}
	task = string(field[0])
	last, err := strconv.Atoi(string(field[1]))
	return task, last, err == nil && bytes.Equal(line, headLine(task, last))
}

// headLines formats one line for each log.
func headLines(heads map[string]int) (lines []byte) {
	for task, last := range heads {
		lines = appendHead(lines, task, last)
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
	filelock.Unlock(use)
	if filelock.Try(use, true) != nil {
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
