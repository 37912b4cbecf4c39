package process

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// A grandchild may hold a server's stdout open after its death. Reading it
// must end, and nothing that was written may be lost.
func TestReadingEndsAlthoughTheOtherEndIsHeld(t *testing.T) {
	t.Parallel()
	ours, server, err := newOutputPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer server.Close()
	read := make(chan error)
	go func() {
		_, err := ours.Read(make([]byte, 10))
		read <- err
	}()
	endReads(ours, time.Now().Add(time.Millisecond))
	if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("reading ended with %v", err)
	}
	if n := tryRead(ours, make([]byte, 10)); n != 0 {
		t.Errorf("%d bytes were read from an empty pipe", n)
	}
	last := []byte("its last words")
	if _, err := server.Write(last); err != nil {
		t.Fatal(err)
	}
	buf, got := make([]byte, 4), []byte(nil)
	for n := tryRead(ours, buf); n > 0; n = tryRead(ours, buf) {
		got = append(got, buf[:n]...)
	}
	if !bytes.Equal(got, last) {
		t.Errorf("read %q", got)
	}
	if _, err := ours.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the deadline is gone: %v", err)
	}
}

// A server that closes its stdin and lives is noticed when it is written to,
// also by a write that waits for room.
func TestAClosedStdinIsNoticed(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"by a small write": 10, "by a write that waits": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			o, server := pipe(t)
			put(t, o, strings.Repeat("x", size)+"\n")
			if size > pieceSize {
				o.flush() // and it waits
				if !o.blocked() {
					t.Fatal("a megabyte fits into a pipe?")
				}
			}
			server.Close()
			untilBroken(o)
			<-o.broken
		})
	}
}

// The end of our side reaches the server after everything that was written.
func TestTheServerReadsTheEndAfterTheLastByte(t *testing.T) {
	t.Parallel()
	o, server := pipe(t)
	put(t, o, "{}\n")
	flushed(o)
	o.finish(time.Now().Add(time.Minute))
	o.f.Close()
	if got, err := io.ReadAll(server); err != nil || string(got) != "{}\n" {
		t.Errorf("%q, %v", got, err)
	}
}
