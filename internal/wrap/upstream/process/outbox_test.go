package process

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/census"
)

func (o *outbox) queue(parts ...[]byte) (end int64, err error) { return o.put(parts) }

// pipe is an outbox and the server's end of it.
func pipe(t *testing.T) (o *outbox, server *os.File) {
	t.Helper()
	census.Mark(t)
	server, write, err := newStdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Close()
		write.Close()
	})
	return newOutbox(write), server
}

// flushed flushes what fits into the pipe and returns when it is there.
func flushed(o *outbox) {
	o.flush()
	for o.blocked() {
		runtime.Gosched()
	}
}

// begun returns when something was written.
func begun(o *outbox) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.written == 0 {
		o.moved.Wait()
	}
}

// untilBroken writes until that fails and returns the end of what was written last. A process that is
// being started by a different test has a copy of the other end until it runs its own program.
func untilBroken(o *outbox) (end int64) {
	for {
		next, err := o.queue([]byte("{}\n"))
		if err != nil {
			return end
		}
		end = next
		o.flush()
		runtime.Gosched()
	}
}

// put queues a line and fails the test if that fails.
func put(t *testing.T, o *outbox, line string) (end int64) {
	t.Helper()
	end, err := o.queue([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// exactWrites reports whether a failed write tells how much was taken.
const exactWrites = runtime.GOOS != "windows"

func TestOutboxKeepsEveryByteAndTheirOrder(t *testing.T) {
	t.Parallel()
	o, server := pipe(t)
	r := rand.New(rand.NewPCG(1, 1))
	var sent, got strings.Builder
	buf := make([]byte, 300<<10)
	read := func() {
		n, err := server.Read(buf[:1+r.IntN(len(buf))])
		if err != nil {
			t.Fatal(err)
		}
		got.Write(buf[:n])
	}
	for i := range 3000 {
		size := r.IntN(200)
		if i%100 == 0 {
			size = r.IntN(200 << 10) // more than a pipe holds
		}
		head, tail := fmt.Sprintf(`{"n":%d,"x":"`, i), `"}`+"\n"
		body := strings.Repeat(string(rune('a'+i%26)), size)
		end, err := o.queue([]byte(head), []byte(body), []byte(tail))
		if err != nil {
			t.Fatal(err)
		}
		sent.WriteString(head + body + tail)
		if want := int64(sent.Len()) - 1; end != want {
			t.Fatalf("message %d ends at %d, want %d", i, end, want)
		}
		if r.IntN(3) == 0 {
			o.flush()
		}
		if r.IntN(20) == 0 && got.Len() < sent.Len() && o.blocked() {
			read()
		}
	}
	o.flush()
	for got.Len() < sent.Len() {
		read()
	}
	if got.String() != sent.String() {
		t.Error("other bytes arrived")
	}
	o.finish(time.Now().Add(time.Minute))
	if written, _, _ := o.settle(); written != int64(sent.Len()) {
		t.Errorf("%d written, want %d", written, sent.Len())
	}
}

func TestNothingIsSentBeforeFlush(t *testing.T) {
	t.Parallel()
	o, _ := pipe(t)
	put(t, o, "{}\n")
	put(t, o, "{}\n")
	if written, _, _ := o.settle(); written != 0 {
		t.Errorf("%d bytes written", written)
	}
}

func TestFlushDoesNotWaitForTheServer(t *testing.T) {
	t.Parallel()
	o, server := pipe(t)
	big := strings.Repeat("x", 1<<20) + "\n"
	put(t, o, big)
	o.flush()
	if !o.blocked() {
		t.Error("a megabyte fits into a pipe?")
	}
	put(t, o, "behind it\n")
	o.flush()
	got := make([]byte, len(big)+len("behind it\n"))
	if _, err := io.ReadFull(server, got); err != nil || string(got) != big+"behind it\n" {
		t.Errorf("%v: %d bytes", err, len(got))
	}
	if o.finish(time.Now().Add(time.Minute)); o.blocked() {
		t.Error("blocked although all is read")
	}
}

// Nothing is refused: who says more than the server reads waits until it reads,
// or is gone.
func TestOutboxHoldsUpTheClient(t *testing.T) {
	t.Parallel()
	for name, release := range map[string]func(o *outbox, server *os.File){
		"until the server reads":   func(_ *outbox, server *os.File) { go io.Copy(io.Discard, server) },
		"until the pipe is broken": func(_ *outbox, server *os.File) { server.Close() },
		"until the end":            func(o *outbox, _ *os.File) { o.settle() },
	} {
		t.Run(name, func(t *testing.T) {
			o, server := pipe(t)
			for range 3000 {
				put(t, o, "{}\n")
			}
			o.await()                                            // these fit
			put(t, o, strings.Repeat("x", maxUnread+1<<20)+"\n") // also after the pipe has taken some
			free := make(chan struct{})
			go func() {
				defer close(free)
				o.await()
			}()
			for !o.blocked() {
				runtime.Gosched()
			}
			select {
			case <-free:
				t.Error("nobody was held up")
			default:
			}
			release(o, server)
			<-free
		})
	}
}

func TestOutboxGivesRoomBackAndTakesMoreOnceTheServerReads(t *testing.T) {
	t.Parallel()
	o, server := pipe(t)
	big := strings.Repeat("x", 4<<20) + "\n"
	for round := range 5 {
		put(t, o, big)
		o.flush()
		if _, err := io.ReadFull(server, make([]byte, len(big))); err != nil {
			t.Fatal(err)
		}
		put(t, o, fmt.Sprintf("%d\n", round))
		o.flush()
		shrunk := make([]byte, 2)
		if _, err := io.ReadFull(server, shrunk); err != nil || string(shrunk) != fmt.Sprintf("%d\n", round) {
			t.Fatalf("round %d: %q, %v", round, shrunk, err)
		}
	}
	o.finish(time.Now().Add(time.Minute))
	if cap(o.room)+cap(o.spare) > 2<<20 {
		t.Errorf("%d bytes kept for nothing", cap(o.room)+cap(o.spare))
	}
}

func TestABrokenPipeIsRememberedAndTheRestIsUnsent(t *testing.T) {
	t.Parallel()
	o, server := pipe(t)
	server.Close()
	end := untilBroken(o)
	if _, err := o.queue([]byte("{}\n")); err == nil {
		t.Error("a message was taken although the pipe is broken")
	}
	o.flush()
	if written, _, _ := o.settle(); written >= end {
		t.Errorf("%d bytes written to nobody", written)
	}
}

func TestAfterSettleNothingIsTaken(t *testing.T) {
	t.Parallel()
	o, server := pipe(t)
	put(t, o, "{}\n")
	flushed(o)
	o.settle()
	if _, err := o.queue([]byte("{}\n")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
	o.flush()
	o.f.Close()
	if got, _ := io.ReadAll(server); string(got) != "{}\n" {
		t.Errorf("%q", got)
	}
}

func TestSettleEndsAWriteThatWouldNeverEnd(t *testing.T) {
	t.Parallel()
	o, server := pipe(t)
	first := put(t, o, strings.Repeat("x", 1<<20)+"\n")
	o.flush()
	behind := put(t, o, "{}\n")
	o.flush()
	begun(o)
	written, _, _ := o.settle()
	if written >= first || written >= behind || written == 0 {
		t.Errorf("%d bytes written of a message that ends at %d", written, first)
	}
	o.f.Close()
	// Where a write that was cut off does not tell how far it got, all of it is
	// counted.
	if got, _ := io.ReadAll(server); int64(len(got)) > written || exactWrites && int64(len(got)) != written {
		t.Errorf("%d bytes arrived, %d were counted", len(got), written)
	}
}
