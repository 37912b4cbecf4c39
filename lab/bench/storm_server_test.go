package main

import (
	"io"
	"strings"
	"testing"
)

func TestValueReaderLeavesTheLineEndUnread(t *testing.T) {
	values := []string{`{"id":1,"text":"}{ \" \\"}`, `{"a":{"b":[{}]}}`}
	pipe := strings.NewReader(values[0] + "\n" + values[1] + "\n")
	r := &valueReader{r: pipe}
	buf := make([]byte, 100)
	for i, left := range []int{len(values[1]) + 2, 1} {
		n, err := r.Read(buf)
		if err != nil || string(buf[:n]) != values[i]+"\n" {
			t.Fatalf("read %q, %v, want %q", buf[:n], err, values[i])
		}
		if pipe.Len() != left {
			t.Errorf("%d bytes are left in the pipe, want %d", pipe.Len(), left)
		}
	}
	if _, err := r.Read(buf); err != io.EOF {
		t.Errorf("after the last value: %v, want EOF", err)
	}
}
