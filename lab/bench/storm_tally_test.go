package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTallyTellsWhetherAnAnswerIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tally")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tally := &tally{file: file}
	in := &talliedInput{tally: tally, lines: bufio.NewReader(strings.NewReader(
		initializedLine + `{"id":1}` + "\n" + `{"id":2}` + "\n"))}
	out := &talliedOutput{io.Discard, tally}
	buf := make([]byte, 1000)
	step := func(what string, want bool, act func() error) {
		t.Helper()
		if err := act(); err != nil {
			t.Fatal(err)
		}
		if got := settled(path); got != want {
			t.Errorf("after %s: settled is %v, want %v", what, got, want)
		}
	}
	take := func() error { _, err := in.Read(buf); return err }
	answer := func() error { _, err := io.WriteString(out, `{"id":1,"result":{}}`+"\n"); return err }
	notify := func() error { _, err := io.WriteString(out, initializedLine); return err }

	step("nothing", false, func() error { return nil })
	step("a notification came", false, take)
	step("a request came", false, take)
	step("a notification went", false, notify)
	step("its answer went", true, answer)
	step("another request came", false, take)
	step("its answer went", true, answer)
	if err := take(); err != io.EOF {
		t.Errorf("at the end: %v, want EOF", err)
	}
}
