//go:build linux

package realtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// arrivals counts the tools/calls that reached the server, in any of its lives, with a word in their arguments.
func (w workplace) arrivals(t *testing.T, word string) int {
	t.Helper()
	n := 0
	for _, line := range w.lines(t, "ledger.jsonl") {
		var entry struct{ Tool, Args string }
		if err := json.Unmarshal(line, &entry); err != nil {
			t.Fatalf("the ledger holds %q: %v", line, err)
		}
		if strings.Contains(entry.Args, word) {
			n++
		}
	}
	return n
}

// remembered counts the entities of that name in the memory server's file.
func (w workplace) remembered(t *testing.T, name string) int {
	t.Helper()
	n := 0
	for _, line := range w.lines(t, "memory.jsonl") {
		var item struct{ Type, Name string }
		if err := json.Unmarshal(line, &item); err != nil {
			t.Fatalf("the memory holds %q: %v", line, err)
		}
		if item.Type == "entity" && item.Name == name {
			n++
		}
	}
	return n
}

func (w workplace) lines(t *testing.T, name string) [][]byte {
	t.Helper()
	b, err := os.ReadFile(w.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if b = bytes.TrimSpace(b); len(b) == 0 {
		return nil
	}
	return bytes.Split(b, []byte("\n"))
}

// kept counts how often the SDK server did what it was called for with that text.
func (w workplace) kept(t *testing.T, text string) int {
	t.Helper()
	n := 0
	for _, line := range w.lines(t, "kept.jsonl") {
		var did string
		if err := json.Unmarshal(line, &did); err != nil {
			t.Fatalf("the server's file holds %q: %v", line, err)
		}
		if did == text {
			n++
		}
	}
	return n
}
