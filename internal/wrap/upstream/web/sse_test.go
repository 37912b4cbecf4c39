package web

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

const sseTestLimit = 16 << 20

// events reads a whole stream.
func events(r io.Reader) (all []string, err error) {
	s := newSSEReader(r, standingBuffer, sseTestLimit)
	for {
		e, err := s.next()
		if err != nil {
			return all, err
		}
		all = append(all, fmt.Sprintf("%s|%s|%v|%s", e.name, e.id, e.retry, e.data))
	}
}

func TestStreamsAreReadAsTheStandardSays(t *testing.T) {
	t.Parallel()
	for _, story := range []struct {
		says, stream string
		want         []string
	}{
		{"one event", "data: {}\n\n", []string{"||0s|{}"}},
		{"no space behind the colon", "data:{}\n\n", []string{"||0s|{}"}},
		{"only one space is taken off", "data:  x\n\n", []string{"||0s| x"}},
		{"CR only", "data: a\r\rdata: b\r\r", []string{"||0s|a", "||0s|b"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"||0s|a", "||0s|b"}},
		{"all three", "data: a\rdata: b\r\ndata: c\n\n", []string{"||0s|a\nb\nc"}},
		{"a BOM at the start", "\ufeffdata: a\n\n", []string{"||0s|a"}},
		{"comments", ": hello\n\n:\ndata: a\n: in between\ndata: b\n\n", []string{"||0s|a\nb"}},
		{"all fields", "event: message\nid: 7\nretry: 250\ndata: a\n\n", []string{"message|7|250ms|a"}},
		{"a field without a colon", "data\n\n", []string{"||0s|"}},
		{"unknown fields", "what: ever\ndata: a\n\n", []string{"||0s|a"}},
		{"an id with a zero byte is none", "id: a\x00b\ndata: a\n\n", []string{"||0s|a"}},
		{"a retry that is no number is none", "retry: soon\ndata: a\n\n", []string{"||0s|a"}},
		{"an event that is cut off is none", "data: a\n\ndata: b\n", []string{"||0s|a"}},
		{"a priming event", "id: 1\ndata: \n\n", []string{"|1|0s|"}},
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(story.stream), "byte by byte": iotest.OneByteReader(strings.NewReader(story.stream))} {
			got, err := events(r)
			if err != io.EOF || fmt.Sprint(got) != fmt.Sprint(story.want) {
				t.Errorf("%s, %s: %q, %v; want %q", story.says, name, got, err, story.want)
			}
		}
	}
}

// endless is one event that never ends.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func TestAnEventHasAnEnd(t *testing.T) {
	t.Parallel()
	if _, err := events(endless{}); !errors.Is(err, errEventTooLong) {
		t.Errorf("one line: %v", err)
	}
	many := strings.NewReader(strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", sseTestLimit/1000))
	if _, err := events(many); !errors.Is(err, errEventTooLong) {
		t.Errorf("many lines: %v", err)
	}
	if all, err := events(strings.NewReader("data: " + strings.Repeat("x", 1<<20) + "\n\n")); err != io.EOF || len(all) != 1 {
		t.Errorf("a large one: %d, %v", len(all), err)
	}
}

func FuzzSSE(f *testing.F) {
	for _, text := range sample.Corpus(f, "data: {}\n\n", "id: 1\r\ndata: a\r\rretry: 3\n\n", "\ufeff:\n\n", "data\n\n") {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole, errWhole := events(strings.NewReader(string(stream)))
		single, errSingle := events(iotest.OneByteReader(strings.NewReader(string(stream))))
		if fmt.Sprint(whole) != fmt.Sprint(single) || errWhole != errSingle {
			t.Errorf("%q, %v whole; %q, %v byte by byte", whole, errWhole, single, errSingle)
		}
	})
}

// Events are told apart by their ids, as far as these are positions.
func TestWhatIsSentAgainIsNotHeardTwice(t *testing.T) {
	t.Parallel()
	event := func(id string) sseEvent { return sseEvent{id: id, hasID: true, data: []byte("x")} }
	resumed := &position{}
	for _, id := range []string{"1", "2"} {
		if !resumed.accept(event(id)) {
			t.Errorf("%s is news", id)
		}
	}
	resumed.cut()
	for id, news := range map[string]bool{"1": false, "2": false, "3": true} {
		if resumed.accept(event(id)) != news {
			t.Errorf("%s: news is not %v", id, news)
		}
	}
	// Servers of the Java SDK put the session's id on every event.
	same := &position{}
	for range 3 {
		if !same.accept(event("session")) {
			t.Error("an event was dropped")
		}
	}
	if same.last != "" {
		t.Errorf("resuming behind %q would be wrong", same.last)
	}
}
