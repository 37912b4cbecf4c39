package journal

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/disk/files"
)

// The heads are the witness outside the database: a text file with a line for each log that grew in a
// commit, which has the task, the number of its last entry, and the line's checksum. They are written
// after the commit and never synced, so they never claim more than the database has: an entry that
// they name and the database lacks was lost. A line of a log that is about to be removed cancels those
// before it. Lines that are damaged are ignored.
const (
	headsSuffix = ".heads"
	timeline    = "-" // stands for the events in place of a task
	removed     = 0   // stands for the last number of a log that was removed

	maxHeadsBytes = 16 << 10 // before the file is compacted
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

// headLines formats one line for each log.
func headLines(heads map[string]int) (lines []byte) {
	for task, last := range heads {
		lines = appendHead(lines, task, last)
	}
	return lines
}

// readHeads returns the last acknowledged number of each log.
func readHeads(path string) map[string]int { return headsOf(path, "") }

// readHead returns the last acknowledged number of one log, 0 if there is none. Many tasks that start
// at the same time read the file, so it skips the lines of the others.
func readHead(path, task string) int { return headsOf(path, task+" ")[task] }

// headsOf reads the lines that begin with prefix.
func headsOf(path, prefix string) map[string]int {
	content, _ := os.ReadFile(path + headsSuffix)
	heads := map[string]int{}
	for line := range bytes.Lines(content) {
		if !bytes.HasPrefix(line, []byte(prefix)) {
			continue
		}
		task, last, ok := parseHead(line)
		if !ok {
			continue
		}
		if heads[task] = max(heads[task], last); last == removed {
			delete(heads, task)
		}
	}
	return heads
}

// parseHead reads a line. It is not ok if the line is damaged.
func parseHead(line []byte) (task string, last int, ok bool) {
	end := max(0, len(line)-len(" 00000000\n"))
	sum, err := strconv.ParseUint(string(bytes.TrimSpace(line[end:])), 16, 32)
	if err != nil || line[len(line)-1] != '\n' || uint32(sum) != crc32.ChecksumIEEE(line[:end]) {
		return "", 0, false
	}
	task, number, _ := strings.Cut(string(line[:end]), " ")
	last, err = strconv.Atoi(number)
	return task, last, err == nil
}

// compactHeads rewrites a long file if no other process has the journal open, and at least half of it
// is superseded.
func compactHeads(path string, use *os.File) {
	info, err := os.Stat(path + headsSuffix)
	if err != nil || info.Size() <= maxHeadsBytes {
		return
	}
	files.Unlock(use)
	if files.TryLock(use) != nil {
		return
	}
	if lines := headLines(readHeads(path)); len(lines) > 0 && int64(len(lines)) <= info.Size()/2 {
		files.Replace(path+headsSuffix, lines)
	}
}
