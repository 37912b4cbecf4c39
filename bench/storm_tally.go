package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"sync"
)

// tally is what the server under fire writes down about itself, on disk, so
// that it can be read when the server is dead: how many requests it took and
// how many of them it answered. If they are equal, no answer died with it.
type tally struct {
	mu       sync.Mutex
	file     *os.File
	taken    uint64
	answered uint64
}

func tallyFile(pidFile string, pid int) string { return fmt.Sprintf("%s.%d", pidFile, pid) }

// took is noted before the server sees the request, hasAnswered after its
// answer is in the pipe: whenever death comes, the tally errs towards requests
// without an answer.
func (t *tally) took() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken++
	t.file.WriteAt(binary.LittleEndian.AppendUint64(nil, t.taken), 0)
}

func (t *tally) hasAnswered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answered++
	t.file.WriteAt(binary.LittleEndian.AppendUint64(nil, t.answered), 8)
}

// settled reads a tally from outside: are all requests answered? Of a dead
// server this is a fact, of a living one it is news from a moment ago.
func settled(tallyFile string) bool {
	data, err := os.ReadFile(tallyFile)
	return err == nil && len(data) == 16 && bytes.Equal(data[:8], data[8:])
}

// talliedInput hands on one line at a time and counts the requests.
type talliedInput struct {
	lines *bufio.Reader
	tally *tally
	rest  []byte
}

func (in *talliedInput) Read(b []byte) (int, error) {
	if len(in.rest) == 0 {
		line, err := in.lines.ReadBytes('\n')
		if len(line) == 0 {
			return 0, err
		}
		if rawID(line) != nil {
			in.tally.took()
		}
		in.rest = line
	}
	n := copy(b, in.rest)
	in.rest = in.rest[n:]
	return n, nil
}

// talliedOutput counts the answers, one a write.
type talliedOutput struct {
	w     io.Writer
	tally *tally
}

func (out *talliedOutput) Write(line []byte) (int, error) {
	n, err := out.w.Write(line)
	if err == nil && rawID(line) != nil {
		out.tally.hasAnswered()
	}
	return n, err
}
