package main

import (
	"slices"
	"strings"
	"testing"
)

func TestHearEvents(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	stream := ": hello\n\nevent: message\ndata: one\n\nid: 7\ndata: \n\ndata: " + long + "\n\ndata:three\r\n\r\ndata: cut off"
	var heard []string
	if err := readEvents(strings.NewReader(stream), func(line []byte) {
		heard = append(heard, strings.TrimSpace(string(line)))
	}); err != nil {
		t.Fatal(err)
	}
	heard = slices.DeleteFunc(heard, func(line string) bool { return line == "" })
	if want := []string{"one", long, "three"}; !slices.Equal(heard, want) {
		t.Errorf("heard %.60q, want %.60q", heard, want)
	}
}
