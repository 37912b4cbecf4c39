package breakable

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// Entry is what a tool did: a write of append or die, or a death by die_read.
type Entry struct {
	Op  string `json:"op"`
	Key string `json:"key"`
}

// ledger is the path of a file with one entry per line.
type ledger string

// record adds an entry with a single write, which no kill can undo. A kill can tear it, so the
// newline comes first: the next entry is then still a line of its own.
func (l ledger) record(op, key string) error {
	line, err := json.Marshal(Entry{Op: op, Key: key})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(string(l), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append([]byte("\n"), line...))
	return errors.Join(err, f.Close())
}

// count returns the number of equal entries.
func (l ledger) count(op, key string) (n int) {
	entries, _ := ReadLedger(string(l)) // record will report the error
	for _, e := range entries {
		if e == (Entry{Op: op, Key: key}) {
			n++
		}
	}
	return n
}

// ReadLedger returns the entries in their order, without those that a kill tore. A missing file is an
// empty ledger.
func ReadLedger(path string) (entries []Entry, err error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range bytes.Lines(data) {
		var e Entry
		if json.Unmarshal(line, &e) == nil {
			entries = append(entries, e)
		}
	}
	return entries, nil
}
