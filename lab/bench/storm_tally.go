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

// tally is what the killed server records about itself on disk, to be read after its death: how
// many requests it has read and how many of them it has answered. If the numbers are equal, no
// response was lost with it.
type tally struct {
	mu       sync.Mutex
	file     *os.File
	taken    uint64
	answered uint64
}

func tallyFile(pidFile string, pid int) string { return fmt.Sprintf("%s.%d", pidFile, pid) }

// took records a request before the server sees it; hasAnswered records a response after it is in
// the pipe. Whenever the server is killed, the tally errs towards unanswered requests.
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

// settled reads a tally file and reports whether all requests are answered. For a dead server this
// is final; for a running one it may be out of date.
func settled(tallyFile string) bool {
	data, err := os.ReadFile(tallyFile)
	return err == nil && len(data) == 16 && bytes.Equal(data[:8], data[8:])
}

// talliedInput returns one line at a time and counts the requests.
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

// talliedOutput counts the responses. Each Write is one message.
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
