package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// heard reads a stream to its end: every line as it came, `long N` for one
// that was skipped, and at last how the stream ended.
func heard(r *Reader) (lines []string) {
	for {
		line, err := r.Next()
		var long *TooLong
		switch {
		case err == nil:
			lines = append(lines, string(line))
		case errors.As(err, &long) && long.Endless:
			lines = append(lines, "endless")
		case errors.As(err, &long):
			lines = append(lines, fmt.Sprintf("long %d", long.Length))
		default:
			return append(lines, fmt.Sprintf("%v, %d bytes left", err, r.Fragment()))
		}
	}
}

// dripping gives a text in pieces of these sizes, in turn, zeros included.
type dripping struct {
	text  string
	sizes []int
	turn  int
}

func (d *dripping) Read(b []byte) (int, error) {
	if d.text == "" {
		return 0, io.EOF
	}
	n := min(d.sizes[d.turn%len(d.sizes)], len(b), len(d.text))
	d.turn++
	copy(b, d.text[:n])
	d.text = d.text[n:]
	return n, nil
}

func TestReader(t *testing.T) {
	const bom = "\xef\xbb\xbf"
	long := strings.Repeat("x", 101)
	for _, story := range []struct {
		says   string
		stream string
		want   []string
	}{
		{"a stream without a byte has no lines", "", []string{"EOF, 0 bytes left"}},
		{"a line ends at its line end", "{}\n[]\n", []string{"{}", "[]", "EOF, 0 bytes left"}},
		{"CRLF is a line end", "{}\r\n[]\r\n", []string{"{}", "[]", "EOF, 0 bytes left"}},
		{"only one CR belongs to the line end", "a\r\r\n", []string{"a\r", "EOF, 0 bytes left"}},
		{"a CR inside a line stays", "a\rb\n", []string{"a\rb", "EOF, 0 bytes left"}},
		{"an empty line is a line", "\n\r\n", []string{"", "", "EOF, 0 bytes left"}},
		{"a byte order mark is dropped at the start", bom + "{}\n", []string{"{}", "EOF, 0 bytes left"}},
		{"and at the start of every line", bom + "{}\r\n" + bom + "{}\n", []string{"{}", "{}", "EOF, 0 bytes left"}},
		{"as often as it is there", bom + bom + "{}\n", []string{"{}", "EOF, 0 bytes left"}},
		{"and nowhere else", "{" + bom + "}" + bom + "\n", []string{"{" + bom + "}" + bom, "EOF, 0 bytes left"}},
		{"half a byte order mark is none", bom[:2] + "{}\n", []string{bom[:2] + "{}", "EOF, 0 bytes left"}},
		{"what stands behind the last line end is no line", "{}\n{\"id\":", []string{"{}", "EOF, 6 bytes left"}},
		{"NUL and bytes that are no text pass", "\x00\xff\xfe\n", []string{"\x00\xff\xfe", "EOF, 0 bytes left"}},
		{"a line of the limit passes", long[:100] + "\nb\n", []string{long[:100], "b", "EOF, 0 bytes left"}},
		{"a longer one is skipped, and the stream goes on", "a\n" + long + "\nb\n", []string{"a", "long 101", "b", "EOF, 0 bytes left"}},
		{"two of them are two", long + "\n" + long + "xx\nb\n", []string{"long 101", "long 103", "b", "EOF, 0 bytes left"}},
		{"a long line that never ends is skipped too", "a\n" + long, []string{"a", "long 101", "EOF, 0 bytes left"}},
		{"a byte order mark is dropped behind a long line", long + "\n" + bom + "b\n", []string{"long 101", "b", "EOF, 0 bytes left"}},
	} {
		t.Run(story.says, func(t *testing.T) {
			check := func(how string, src io.Reader) {
				t.Helper()
				if got := heard(NewReader(src, 100)); !slices.Equal(got, story.want) {
					t.Errorf("%s: %q, want %q", how, got, story.want)
				}
			}
			check("in one piece", strings.NewReader(story.stream))
			check("byte by byte", iotest.OneByteReader(strings.NewReader(story.stream)))
			check("with the end in the last read", iotest.DataErrReader(strings.NewReader(story.stream)))
			for at := range len(story.stream) + 1 {
				check(fmt.Sprintf("split at %d", at), io.MultiReader(strings.NewReader(story.stream[:at]), strings.NewReader(story.stream[at:])))
			}
			check("with reads of nothing", &dripping{text: story.stream, sizes: []int{0, 1, 0, 7}})
		})
	}
}

func TestReaderReportsTheErrorOfItsSource(t *testing.T) {
	broken := errors.New("broken pipe")
	got := heard(NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 0))
	if want := []string{"a", "broken pipe, 1 bytes left"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestReaderKeepsTheEndsOfALineThatIsTooLong(t *testing.T) {
	head, tail := `{"jsonrpc":"2.0","id":"g1-1","result":"`, `","id":"g1-2"}`
	for _, size := range []int{5_000, 20_000, 60_000} {
		line := head + strings.Repeat("x", size) + tail
		for _, piece := range []int{1, 1000, 64 << 10} {
			r := NewReader(&dripping{text: line + "\nnext\n", sizes: []int{piece}}, 4_000)
			_, err := r.Next()
			var long *TooLong
			if !errors.As(err, &long) {
				t.Fatalf("%v, want a line that is too long", err)
			}
			if long.Length != len(line) || long.Endless {
				t.Errorf("%d bytes, endless %v; want %d", long.Length, long.Endless, len(line))
			}
			if string(long.Head) != line[:maxTooLongKept] || string(long.Tail) != line[len(line)-maxTooLongKept:] {
				t.Errorf("head %.60q (%d bytes), tail %q", long.Head, len(long.Head), long.Tail)
			}
			if next, err := r.Next(); string(next) != "next" {
				t.Errorf("then %q, %v", next, err)
			}
		}
	}
}

func TestReaderTakesNoPieceOfAnEndlessLineForALine(t *testing.T) {
	smuggled := `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`
	// The reader gives up in the middle; what follows is still the same line.
	text := strings.Repeat("x", 100*endlessFactor+1) + smuggled + "\nnext\n"
	got := heard(NewReader(&dripping{text: text, sizes: []int{100*endlessFactor + 1}}, 100))
	if want := []string{"endless", "next", "EOF, 0 bytes left"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// A flood is reported again and again, in the same small memory.
	r := NewReader(&dripping{text: strings.Repeat("x", 10*100*endlessFactor) + "\nnext\n", sizes: []int{64}}, 100)
	got = heard(r)
	if n := len(got); n < 5 || got[0] != "endless" || got[n-2] != "next" {
		t.Errorf("%q", got)
	}
	if len(r.buf) != firstBuffer {
		t.Errorf("a buffer of %d bytes", len(r.buf))
	}
}

func TestReaderGrowsForALongLineAndGivesTheRoomBack(t *testing.T) {
	line := strings.Repeat("x", 3<<20)
	r := NewReader(strings.NewReader(line+"\na\nb\n"+line+"\n"), 0)
	if got, err := r.Next(); string(got) != line {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if len(r.buf) < len(line) {
		t.Fatalf("a buffer of %d bytes", len(r.buf))
	}
	for _, want := range []string{"a", "b", line} {
		if got, err := r.Next(); string(got) != want {
			t.Fatalf("%d bytes, %v; want %d", len(got), err, len(want))
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Error(err)
	}
	if len(r.buf) != firstBuffer {
		t.Errorf("a buffer of %d bytes at rest, want %d", len(r.buf), firstBuffer)
	}
}

func TestReaderNeverHoldsMuchMoreThanTheLimit(t *testing.T) {
	for _, length := range []int{MaxLine - 1, MaxLine, MaxLine + 1, 3 * MaxLine} {
		r := NewReader(io.MultiReader(io.LimitReader(endless{}, int64(length)), strings.NewReader("\nnext\n")), 0)
		line, err := r.Next()
		if fits := length <= MaxLine; fits != (err == nil) || fits && len(line) != length {
			t.Errorf("a line of %d bytes: %d, %v", length, len(line), err)
		}
		if most := MaxLine + firstBuffer; len(r.buf) > most {
			t.Errorf("a buffer of %d bytes for a line of %d", len(r.buf), length)
		}
		if line, err = r.Next(); string(line) != "next" {
			t.Errorf("behind a line of %d bytes: %.20q, %v", length, line, err)
		}
	}
}

// endless is a stream of one character.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return copy(b, manyX), nil }

var manyX = strings.Repeat("x", 64<<10)

func TestBufferedTellsWhetherALineIsThere(t *testing.T) {
	r := NewReader(&dripping{text: "a\nb\nc\nd", sizes: []int{5, 2}}, 0)
	for i, want := range []bool{true, false, false} {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		if got := r.Buffered(); got != want {
			t.Errorf("after line %d: %v, want %v", i+1, got, want)
		}
	}
}

// lines is what a Reader must make of a stream, the slow and plain way.
func lines(stream []byte, limit int) (want []string) {
	for {
		line, rest, ended := bytes.Cut(stream, []byte("\n"))
		switch {
		case !ended && len(line) <= limit:
			return append(want, fmt.Sprintf("EOF, %d bytes left", len(line)))
		case len(line) > limit:
			want = append(want, fmt.Sprintf("long %d", len(line)))
			if !ended {
				return append(want, "EOF, 0 bytes left")
			}
		default:
			for bytes.HasPrefix(line, []byte("\xef\xbb\xbf")) {
				line = line[3:]
			}
			want = append(want, string(bytes.TrimSuffix(line, []byte("\r"))))
		}
		stream = rest
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("{}\r\n\xef\xbb\xbf{}\n\n"), 10, []byte{1, 2, 3})
	f.Add([]byte("\xef\xbb\xbf{}\nxxxxxxxxxxxx\n{"), 5, []byte{4})
	f.Add(bytes.Repeat([]byte("xxxxxxxx\n"), 20), 8, []byte{0, 9})
	f.Add(bytes.Repeat([]byte("x"), 5000), 100, []byte{255})
	for i, stream := range sample.Corpus(f, "{}\r\n\xef\xbb\xbf{}\n\n", "\xef\xbb\xbf{}\nxxxxxxxxxxxx\n{", strings.Repeat("xxxxxxxx\n", 20)) {
		f.Add([]byte(stream), i, []byte{byte(i), byte(i / 7)})
	}
	f.Fuzz(func(t *testing.T, stream []byte, limit int, pieces []byte) {
		if len(stream) > 64<<10 || len(pieces) > 64 {
			return
		}
		limit = max(1, limit%5000)
		sizes := []int{1 << 20}
		if sum := 0; len(pieces) > 0 {
			sizes = nil
			for _, piece := range pieces {
				sizes = append(sizes, int(piece)*int(piece))
				sum += int(piece)
			}
			if sum == 0 {
				sizes = append(sizes, 1) // a source has to get on
			}
		}
		r := NewReader(&dripping{text: string(stream), sizes: sizes}, limit)
		got, want := plain(heard(r), limit), plain(lines(stream, limit), limit)
		if !slices.Equal(got, want) {
			t.Errorf("limit %d, pieces %v\ngot  %.300q\nwant %.300q", limit, sizes, got, want)
		}
	})
}

// plain forgets where a line without end was given up, which depends on the
// pieces it came in; that it is skipped as a whole does not.
func plain(lines []string, limit int) []string {
	for i, line := range lines {
		length, ok := strings.CutPrefix(line, "long ")
		if n, err := strconv.Atoi(length); ok && err == nil && n > endlessFactor*limit {
			lines[i] = "endless"
		}
	}
	return slices.CompactFunc(lines, func(a, b string) bool { return a == "endless" && a == b })
}

func TestALongLineIsKeptWithoutItsByteOrderMark(t *testing.T) {
	r := NewReader(strings.NewReader("\xef\xbb\xbf{"+strings.Repeat("x", 200)+"\n"), 100)
	_, err := r.Next()
	var long *TooLong
	if !errors.As(err, &long) || !bytes.HasPrefix(long.Head, []byte("{x")) {
		t.Errorf("got %+v, %v", long, err)
	}
}
