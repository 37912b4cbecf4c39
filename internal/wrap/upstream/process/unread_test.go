//go:build linux || windows

package process

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/fault"
)

// died lets the server read n bytes and die, and tells what is then known.
func died(t *testing.T, o *outbox, server *os.File, n int64) *Pipes {
	t.Helper()
	if _, err := io.ReadFull(server, make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	server.Close()
	c := &Pipes{}
	c.written, c.unreadBytes, c.proven = o.settle()
	return c
}

// The proof of RECOVERY: a call is unsent if its closing brace was not read,
// to the byte.
func TestTheClosingBraceDecides(t *testing.T) {
	t.Parallel()
	for _, story := range []struct {
		says        string
		read        func(first, second int64) int64
		want        [2]fault.Delivery
		unreadBytes int64
	}{
		{"nothing was read", func(first, second int64) int64 { return 0 }, [2]fault.Delivery{fault.Unsent, fault.Unsent}, 20},
		{"all but the closing brace was read", func(first, second int64) int64 { return first - 1 }, [2]fault.Delivery{fault.Unsent, fault.Unsent}, 12},
		{"the closing brace was read", func(first, second int64) int64 { return first }, [2]fault.Delivery{fault.Unknown, fault.Unsent}, 11},
		{"the line end was read, too", func(first, second int64) int64 { return first + 1 }, [2]fault.Delivery{fault.Unknown, fault.Unsent}, 10},
		{"all but the last brace was read", func(first, second int64) int64 { return second - 1 }, [2]fault.Delivery{fault.Unknown, fault.Unsent}, 2},
		{"the last brace was read", func(first, second int64) int64 { return second }, [2]fault.Delivery{fault.Unknown, fault.Unknown}, 1},
		{"everything was read", func(first, second int64) int64 { return second + 1 }, [2]fault.Delivery{fault.Unknown, fault.Unknown}, 0},
	} {
		t.Run(story.says, func(t *testing.T) {
			o, server := pipe(t)
			first := put(t, o, `{"one":1}`+"\n")
			second := put(t, o, `{"two":2}`+"\n")
			flushed(o)
			c := died(t, o, server, story.read(first, second))
			proven := c.proven || story.unreadBytes == 0 // then it makes no difference, and is not waited for: a child that another test starts may hold the pipe
			if !proven || c.written != 20 || c.unreadBytes != story.unreadBytes {
				t.Errorf("proven %v, %d written, %d never read; want %d", c.proven, c.written, c.unreadBytes, story.unreadBytes)
			}
			if got := [2]fault.Delivery{c.Delivery(first), c.Delivery(second)}; got != story.want {
				t.Errorf("%v, want %v", got, story.want)
			}
		})
	}
}

func TestAMessageThatWasWrittenInPartIsUnsent(t *testing.T) {
	t.Parallel()
	o, server := pipe(t)
	first := put(t, o, "{}\n")
	second := put(t, o, `{"x":"`+strings.Repeat("x", 1<<20)+`"}`+"\n")
	third := put(t, o, "{}\n")
	o.flush()
	// The server reads all that fits into the pipe, and more as it comes.
	c := died(t, o, server, 200<<10)
	if c.Delivery(first) != fault.Unknown || c.Delivery(second) != fault.Unsent || c.Delivery(third) != fault.Unsent {
		t.Errorf("%v, %v, %v with %d written", c.Delivery(first), c.Delivery(second), c.Delivery(third), c.written)
	}
	if c.written < 200<<10 || c.written >= second {
		t.Errorf("%d bytes written", c.written)
	}
}

func TestWhatSomebodyMayYetReadProvesNothing(t *testing.T) {
	t.Parallel()
	o, server := pipe(t)
	end := put(t, o, "{}\n")
	flushed(o)
	// A grandchild holds the read end.
	defer duplicate(t, server).Close()
	c := died(t, o, server, 0)
	if c.proven || c.Delivery(end) != fault.Unknown {
		t.Errorf("proven %v, delivery %v", c.proven, c.Delivery(end))
	}
}

func TestUnreadCountsNothingOnAClosedFile(t *testing.T) {
	t.Parallel()
	o, _ := pipe(t)
	o.f.Close()
	if n, proven := o.f.unread(); n != 0 || proven {
		t.Errorf("%d, %v", n, proven)
	}
}
