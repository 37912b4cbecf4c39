package process

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// ear is a Reader that notes what it hears.
type ear struct{ heard []string }

func (e *ear) Lost([]byte, life.Loss)               {}
func (e *ear) Gap()                                 {}
func (e *ear) Message(m *wire.Message)              { e.heard = append(e.heard, string(m.Raw)) }
func (e *ear) TooLong(long *wire.TooLong)           { e.heard = append(e.heard, long.Error()) }
func (e *ear) Stray(line []byte)                    { e.heard = append(e.heard, "stray "+string(line)) }
func (e *ear) Rest()                                {}
func (e *ear) Write(line []byte) (n int, err error) { return len(line), nil }

// taken is what becomes of these lines of a server's stdout.
func taken(lines ...string) []string {
	e := &ear{}
	c := &Pipes{rec: life.NewRecord(e, e)}
	var in incoming
	for _, line := range lines {
		c.accept(&in, []byte(line))
	}
	return e.heard
}

// What follows the last newline is a message if it is a whole one.
func TestTakeTheLastLine(t *testing.T) {
	t.Parallel()
	const one, two = `{"jsonrpc":"2.0","id":1,"result":1}`, `{"jsonrpc":"2.0","id":2,"result":2}`
	for _, story := range []struct {
		says   string
		stdout string
		want   []string
	}{
		{"nothing is nothing", one + "\n", []string{one}},
		{"a message", one + "\n" + two, []string{one, two}},
		{"two messages", one + two, []string{one, two}},
		{"a batch", "[" + one + "," + two + "]", []string{one, two}},
		{"a message with half a line end", one + "\r", []string{one}},
		{"a pretty-printed message", "{\n\"jsonrpc\": \"2.0\",\n\"id\": 1\n}", []string{`{ "jsonrpc": "2.0", "id": 1 }`}},
		{"a piece of a pretty-printed one", "{\n\"jsonrpc\": \"2.0\",\n\"id\"", []string{"stray {", `stray "jsonrpc": "2.0",`, "stray (4 bytes of an incomplete line)"}},
		{"a piece of a message", one[:len(one)-1], []string{"stray (34 bytes of an incomplete line)"}},
		{"a message and a piece", one + two[:5], []string{"stray (40 bytes of an incomplete line)"}},
		{"a word", "bye", []string{"stray (3 bytes of an incomplete line)"}},
		{"space", " ", []string{}},
	} {
		t.Run(story.says, func(t *testing.T) {
			e := &ear{}
			c := &Pipes{rec: life.NewRecord(e, e)}
			c.read(wire.NewReader(strings.NewReader(story.stdout), 0))
			if fmt.Sprintf("%q", e.heard) != fmt.Sprintf("%q", story.want) {
				t.Errorf("%q\nwant %q", e.heard, story.want)
			}
		})
	}
}

func TestTake(t *testing.T) {
	t.Parallel()
	const one, two = `{"jsonrpc":"2.0","id":1,"result":1}`, `{"jsonrpc":"2.0","id":2,"result":2}`
	for _, story := range []struct {
		says  string
		lines []string
		want  []string
	}{
		{"a message is a message", []string{one}, []string{one}},
		{"a log line is stray", []string{"hello", one}, []string{"stray hello", one}},
		{"two messages on a line are two", []string{one + two}, []string{one, two}},
		{"also with space between them", []string{one + "  " + two + " "}, []string{one, two}},
		{"a message with anything else on its line is stray as a whole", []string{"log: " + one}, []string{"stray log: " + one}},
		{"before or behind it", []string{one + " ok"}, []string{"stray " + one + " ok"}},
		{"a batch is its messages", []string{"[" + one + "," + two + "]"}, []string{one, two}},
		{"a batch with anything else in it is stray as a whole", []string{"[" + one + ",1]"}, []string{"stray [" + one + ",1]"}},
		{"an array is no batch", []string{`["a"]`}, []string{`stray ["a"]`}},
		{"a pretty-printed message is put together", []string{"{", `  "jsonrpc": "2.0",`, `  "id": 1,`, `  "result": {`, "  }", "}", one},
			[]string{`{   "jsonrpc": "2.0",   "id": 1,   "result": {   } }`, one}},
		{"also behind one that never ended", []string{"{", `  "level":`, "{", `  "jsonrpc": "2.0",`, `  "id": 1`, "}", one},
			[]string{"stray {", `stray   "level":`, `{   "jsonrpc": "2.0",   "id": 1 }`, one}},
		{"a pretty-printed log is stray, line by line", []string{"{", `  "level": "info"`, "}", one},
			[]string{"stray {", `stray   "level": "info"`, "stray }", one}},
		{"a message ends what began and did not end", []string{"{", "  half", one, two}, []string{"stray {", "stray   half", one, two}},
		{"a lone brace is stray", []string{"}", one}, []string{"stray }", one}},
		{"and so is an object that does not begin a line", []string{"x {", "}", one}, []string{"stray x {", "stray }", one}},
	} {
		t.Run(story.says, func(t *testing.T) {
			if got := taken(story.lines...); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", story.want) {
				t.Errorf("%q\nwant %q", got, story.want)
			}
		})
	}
}

func TestJoinerIsBounded(t *testing.T) {
	t.Parallel()
	var j joiner
	j.add([]byte("{"))
	strays := 0
	for range 2 * maxJoinLines {
		_, gone := j.add([]byte(`"a":1,`))
		strays += len(gone)
		if len(j.lines) > maxJoinLines {
			t.Fatalf("%d lines are kept", len(j.lines))
		}
	}
	if strays != 2*maxJoinLines+1 {
		t.Errorf("%d stray lines of %d", strays, 2*maxJoinLines+1)
	}
	j = joiner{}
	j.add([]byte("{"))
	long := []byte(strings.Repeat("x", 1<<20))
	for range 20 {
		if j.add(long); j.size > maxJoinBytes+len(long) {
			t.Fatalf("%d bytes are kept", j.size)
		}
	}
}

func TestAnObjectThatNeverEndsDoesNotSwallowWhatFollows(t *testing.T) {
	t.Parallel()
	const message = `{"jsonrpc":"2.0","id":1,"result":1}`
	lines := []string{"{"}
	for range maxJoinLines + 100 {
		lines = append(lines, "x")
	}
	lines = append(lines, "{", `"jsonrpc":"2.0","id":2,"result":2`, "}", message)
	heard := taken(lines...)
	if heard[len(heard)-1] != message || len(heard) < maxJoinLines {
		t.Errorf("%d heard, the last of it %q", len(heard), heard[max(0, len(heard)-4):])
	}
	if joined := heard[len(heard)-2]; !strings.HasPrefix(joined, "{ ") {
		t.Errorf("a message behind it was not put together: %q", heard[max(0, len(heard)-5):])
	}
}

func TestDelivery(t *testing.T) {
	t.Parallel()
	const sent, not = fault.Unknown, fault.Unsent
	for _, story := range []struct {
		says                 string
		end                  int64
		written, unreadBytes int64
		proven               bool
		want                 fault.Delivery
	}{
		{"what the kernel did not take was not sent", 101, 100, 0, false, not},
		{"what it took may have been read", 100, 100, 0, false, sent},
		{"unless it provably was not", 100, 100, 1, true, not},
		{"the brace counts, not what stands before it", 99, 100, 1, true, sent},
		{"what is unread but may yet be read proves nothing", 100, 100, 50, false, sent},
	} {
		c := &Pipes{written: story.written, unreadBytes: story.unreadBytes, proven: story.proven}
		if got := c.Delivery(story.end); got != story.want {
			t.Errorf("%s: %v, want %v", story.says, got, story.want)
		}
	}
}
