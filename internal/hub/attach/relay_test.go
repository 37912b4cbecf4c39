package attach_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/hub/attach"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// stage is a client of Relay, and the gauze ups that the test plays.
type stage struct {
	t     *testing.T
	in    io.WriteCloser
	out   *bufio.Reader
	next  chan *attach.Conn // what Relay attaches to when a gauze up is gone; nil: it does not start
	ended chan error        // of Relay
	gone  func()            // ends the context of Relay: the client does not read any more
}

var errNone = errors.New("none can be started")

// onStage starts a session with a first gauze up.
func onStage(t *testing.T) (*stage, *up) {
	t.Helper()
	in, client := io.Pipe()
	out, relayed := io.Pipe()
	s := &stage{t: t, in: client, out: bufio.NewReader(out), next: make(chan *attach.Conn, 1), ended: make(chan error, 1)}
	first := s.enter()
	ctx, gone := context.WithCancel(patience.Context(t))
	s.gone = gone
	again := func(ctx context.Context) (*attach.Conn, error) {
		select {
		case conn := <-s.next:
			if conn == nil {
				return nil, errNone
			}
			return conn, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	go func() {
		s.ended <- attach.Relay(ctx, <-s.next, again, in, relayed)
		relayed.Close()
	}()
	t.Cleanup(func() { gone(); client.Close(); out.Close() })
	return s, first
}

// enter returns another gauze up, which Relay attaches to next.
func (s *stage) enter() *up {
	client, raw := net.Pipe()
	u := &up{t: s.t, raw: raw, conn: attach.NewConn(raw)}
	u.lines = bufio.NewReader(u.conn)
	s.next <- attach.NewConn(client)
	s.t.Cleanup(func() { raw.Close() })
	return u
}

// say sends lines of the client, also from another goroutine than the test's.
func (s *stage) say(lines ...string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, strings.Join(lines, "\n")+"\n"); err != nil {
		s.t.Error(err)
	}
}

// hears expects a line to the client.
func (s *stage) hears(want string) {
	s.t.Helper()
	if got, err := s.out.ReadString('\n'); strings.TrimSpace(got) != want {
		s.t.Fatalf("the client got %s (%v), want %s", got, err, want)
	}
}

// hearsUnknown expects that the outcome of a request is unknown.
func (s *stage) hearsUnknown(id string) {
	s.t.Helper()
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		s.t.Fatal(err)
	}
	var m struct {
		ID     json.RawMessage
		Error  struct{ Data json.RawMessage }
		Result struct {
			Meta    map[string]json.RawMessage `json:"_meta"`
			IsError bool
		}
	}
	if err := json.Unmarshal(line, &m); err != nil || string(m.ID) != id {
		s.t.Fatalf("the client got %s, want that the outcome of %s is unknown", line, id)
	}
	data := m.Error.Data
	if m.Result.IsError {
		data = m.Result.Meta[fault.MetaKey]
	}
	if f := fault.Parse(data); f == nil || f.Code != fault.OutcomeUnknown {
		s.t.Errorf("%s", line)
	}
}

// up is a gauze up that the test plays.
type up struct {
	t     *testing.T
	raw   net.Conn
	conn  *attach.Conn
	lines *bufio.Reader
}

var ourID = regexp.MustCompile(`"gauze-connect-[^"]*"`)

// gets expects a line from the client. An id of gauze connect is shown as OURS, and returned.
func (u *up) gets(want string) (id string) {
	u.t.Helper()
	got, err := u.lines.ReadString('\n')
	id = ourID.FindString(got)
	if got = ourID.ReplaceAllString(strings.TrimSpace(got), "OURS"); got != want {
		u.t.Fatalf("gauze up got %s (%v), want %s", got, err, want)
	}
	return id
}

func (u *up) say(line string) {
	u.t.Helper()
	if _, err := io.WriteString(u.conn, line+"\n"); err != nil {
		u.t.Fatal(err)
	}
}

const (
	helloParams = `{"protocolVersion":"2025-11-25","capabilities":{}}`
	helloResult = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// begin begins a session.
func (s *stage) begin(u *up) {
	s.t.Helper()
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":` + helloParams + `}`
	s.say(hello)
	u.gets(hello)
	u.say(`{"jsonrpc":"2.0","id":0,` + helloResult + `}`)
	s.hears(`{"jsonrpc":"2.0","id":0,` + helloResult + `}`)
	s.say(initialized)
	u.gets(initialized)
}

// meets expects that gauze up is told about the session that another one had begun.
func (s *stage) meets(u *up) {
	s.t.Helper()
	id := u.gets(`{"jsonrpc":"2.0","id":OURS,"method":"initialize","params":` + helloParams + `}`)
	u.say(`{"jsonrpc":"2.0","id":` + id + `,` + helloResult + `}`)
	u.gets(initialized)
}

const toolsChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

// A session whose gauze up is killed continues with the next one.
func TestASessionContinues(t *testing.T) {
	s, first := onStage(t)
	s.begin(first)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a:b"}}`,
		`{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"a:c"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"resources/unsubscribe","params":{"uri":"a:c"}}`,
	} {
		s.say(line)
		first.gets(line)
		answer := `{"jsonrpc":"2.0","id":` + line[len(`{"jsonrpc":"2.0","id":`):][:1] + `,"result":{}}`
		first.say(answer)
		s.hears(answer)
	}
	open := []string{
		`{"jsonrpc":"2.0","id":"a\"b","method":"tools/call","params":{"name":"pay","arguments":{"id":7}}}`,
		`{"jsonrpc":"2.0","id":6,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":7,"method":"secret/method"}`,
		`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"cancelled"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`,
	}
	s.say(open...)
	for _, line := range open {
		first.gets(line)
	}
	for _, question := range []string{`{"jsonrpc":"2.0","id":70,"method":"roots/list"}`, `{"jsonrpc":"2.0","id":71,"method":"elicitation/create","params":{}}`} {
		first.say(question)
		s.hears(question)
	}
	s.say(`{"jsonrpc":"2.0","id":70,"result":{"roots":[]}}`)
	first.gets(`{"jsonrpc":"2.0","id":70,"result":{"roots":[]}}`)
	first.raw.Write([]byte("\x00\x00\x00\x00\x64" + `{"jsonrpc":"2.0","id":7,"resu`)) // is cut off
	first.raw.Close()

	s.hears(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":71,"reason":"gauze up exited"}}`)
	s.hearsUnknown(`"a\"b"`)
	s.hearsUnknown("7")
	second := s.enter()
	s.meets(second)
	level := second.gets(`{"jsonrpc":"2.0","id":OURS,"method":"logging/setLevel","params":{"level":"debug"}}`)
	follow := second.gets(`{"jsonrpc":"2.0","id":OURS,"method":"resources/subscribe","params":{"uri":"a:b"}}`)
	second.gets(open[1])
	s.hears(toolsChanged)
	second.say(`{"jsonrpc":"2.0","id":` + follow + `,"result":{}}` + "\n" +
		`{"jsonrpc":"2.0","id":6,"result":{"tools":[]}}` + "\n" + `{"jsonrpc":"2.0","id":` + level + `,"result":{}}`)
	s.hears(`{"jsonrpc":"2.0","id":6,"result":{"tools":[]}}`)
	s.say(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	second.gets(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	second.say(`{"jsonrpc":"2.0","id":9,"result":{}}`)
	s.hears(`{"jsonrpc":"2.0","id":9,"result":{}}`)
	s.in.Close()
	if _, err := second.lines.ReadByte(); err != io.EOF {
		t.Error(err)
	}
	second.conn.CloseWrite()
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

// A request that was not sent, or not to its end, was not handled, and is sent to the next gauze up.
func TestWhatWasNotSentIsSentOnce(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay"}}`
	for name, n := range map[string]int{"nothing": 0, "a part of the frame's head": 3, "a part": 20, "all but the end of the line": len("kind!") + len(call)} {
		t.Run(name, func(t *testing.T) {
			s, first := onStage(t)
			s.begin(first)
			go s.say(call)
			if _, err := io.ReadFull(first.raw, make([]byte, n)); err != nil {
				t.Fatal(err)
			}
			first.raw.Close()
			second := s.enter()
			s.meets(second)
			s.hears(toolsChanged)
			second.gets(call)
			second.say(`{"jsonrpc":"2.0","id":1,"result":{}}`)
			s.hears(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		})
	}
}

// A gauze up that asks its client to leave answers what it has, and gets what belongs to that. The session continues with the
// next one: nothing is unknown, and nothing changes its place.
func TestAGauzeUpThatLeaves(t *testing.T) {
	s, first := onStage(t)
	s.begin(first)
	request := func(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call"}`, id) }
	cancel := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
	}
	answered := func(id string) {
		t.Helper()
		first.say(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
		s.hears(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
	}
	s.say(request(1))
	first.gets(request(1))
	first.say(`{"jsonrpc":"2.0","id":"asked","method":"roots/list"}`)
	s.hears(`{"jsonrpc":"2.0","id":"asked","method":"roots/list"}`)
	if err := first.conn.Leave(); err != nil {
		t.Fatal(err)
	}
	ping, later := `{"jsonrpc":"2.0","id":"ping","method":"ping"}`, 2
	for ; ; later++ {
		go s.say(request(later), ping)
		line, err := first.lines.ReadString('\n')
		if line = strings.TrimSpace(line); line == ping {
			break
		}
		if line != request(later) {
			t.Fatal(line, err)
		}
		first.gets(ping) // the client does not know yet
		answered("\"ping\"")
		answered(fmt.Sprint(later))
	}
	answered(`"ping"`)
	said := make(chan struct{})
	go func() {
		defer close(said)
		s.say(cancel(later), `{"jsonrpc":"2.0","id":"asked","result":{"roots":[]}}`, cancel(1))
	}()
	first.gets(`{"jsonrpc":"2.0","id":"asked","result":{"roots":[]}}`)
	first.gets(cancel(1))
	<-said
	if _, err := first.lines.ReadByte(); err != io.EOF {
		t.Errorf("the client went on: %v", err)
	}
	first.conn.CloseWrite()
	second := s.enter()
	s.meets(second)
	s.hears(toolsChanged)
	second.gets(request(later))
	second.gets(cancel(later))
}

// A client whose initialize was not answered gets one answer, also if the next gauze up does not start immediately.
func TestBeforeThereIsASession(t *testing.T) {
	s, first := onStage(t)
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":` + helloParams + `}`
	s.say(hello, initialized)
	first.gets(hello)
	first.gets(initialized)
	first.raw.Close()
	s.next <- nil
	second := s.enter()
	second.gets(hello)
	second.gets(initialized)
	second.say(`{"jsonrpc":"2.0","id":0,` + helloResult + `}`)
	s.hears(`{"jsonrpc":"2.0","id":0,` + helloResult + `}`)
}

// A session that cannot be continued ends with the reason, and every open request gets its one error.
func TestASessionThatCannotContinue(t *testing.T) {
	for name, c := range map[string]struct {
		answer string // to initialize; empty: there is no gauze up
		want   string
	}{
		"there is none":   {"", errNone.Error()},
		"another version": {`"result":{"protocolVersion":"2024-11-05","capabilities":{}}`, `"2024-11-05"`},
		"an error":        {`"error":{"code":-1,"message":"no such server"}`, "no such server"},
	} {
		t.Run(name, func(t *testing.T) {
			s, first := onStage(t)
			s.begin(first)
			open := []string{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call"}`}
			s.say(open...)
			first.gets(open[0])
			first.gets(open[1])
			first.raw.Close()
			s.hearsUnknown("2")
			if c.answer == "" {
				close(s.next)
			} else {
				second := s.enter()
				id := second.gets(`{"jsonrpc":"2.0","id":OURS,"method":"initialize","params":` + helloParams + `}`)
				second.say(`{"jsonrpc":"2.0","id":` + id + `,` + c.answer + `}`)
			}
			s.hearsUnknown("1")
			if err := <-s.ended; err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// A client that has closed its side is not continued: its requests get errors.
func TestAClientThatHasLeft(t *testing.T) {
	s, first := onStage(t)
	s.begin(first)
	s.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	first.gets(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	s.in.Close()
	if _, err := first.lines.ReadByte(); err != io.EOF {
		t.Error(err)
	}
	first.raw.Close()
	s.hearsUnknown("1")
	if err := <-s.ended; err == nil || !strings.Contains(err.Error(), "1 open request") {
		t.Errorf("%v", err)
	}
}

// A client that is gone ends the session, with or without open requests: gauze up has not exited.
func TestAClientThatIsGone(t *testing.T) {
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for name, before := range map[string]func(*stage, *up){
		"idle":             func(*stage, *up) {},
		"with a request":   func(s *stage, u *up) { s.say(list); u.gets(list) },
		"without gauze up": func(_ *stage, u *up) { u.raw.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s, first := onStage(t)
			s.begin(first)
			before(s, first)
			s.gone()
			if rest, err := io.ReadAll(s.out); err != nil || len(rest) > 0 {
				t.Errorf("the client was told %q, %v", rest, err)
			}
			if err := <-s.ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// A client that has closed its side and waits for nothing loses nothing with gauze up.
func TestAClientThatHasLeftAndWaitsForNothing(t *testing.T) {
	s, first := onStage(t)
	s.begin(first)
	s.in.Close()
	if _, err := first.lines.ReadByte(); err != io.EOF {
		t.Error(err)
	}
	first.raw.Close()
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

// A session that gauze up ends is not an error, and its output is the server's, byte for byte.
func TestARelayedSession(t *testing.T) {
	p := place(t)
	listen(t, p, echo)
	var out bytes.Buffer
	text := "{\"id\":1}\r\n\n  not JSON \x00\xff\n[[[\"" + strings.Repeat("x", 100_000) + "\n{\"no newline\":"
	again := func(context.Context) (*attach.Conn, error) { return nil, errNone }
	err := attach.Relay(patience.Context(t), dial(t, p, attach.Hello{}), again, strings.NewReader(text), &out)
	if err != nil || out.String() != text {
		t.Errorf("%v: %d bytes came back, want %d", err, out.Len(), len(text))
	}
}

// When a gauze up ends, its clients get the responses that are due before they leave.
func TestClientsAreDrained(t *testing.T) {
	p := place(t)
	l, err := attach.Listen(t.Context(), p, "v1")
	if err != nil {
		t.Fatal(err)
	}
	l.Drain = patience.Limit()
	ctx, stop := context.WithCancel(t.Context())
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		l.Serve(ctx, func(ctx context.Context, _ attach.Hello, in io.Reader, out io.Writer) error {
			bufio.NewReader(in).ReadBytes('\n')
			stop()
			_, err := io.WriteString(out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n")
			io.Copy(io.Discard, in) // until the client has left
			return errors.Join(err, ctx.Err())
		})
	}()
	in, client := io.Pipe()
	defer client.Close()
	out, relayed := io.Pipe()
	none := func(context.Context) (*attach.Conn, error) { return nil, errNone }
	go func() {
		relayed.CloseWithError(attach.Relay(patience.Context(t), dial(t, p, attach.Hello{}), none, in, relayed))
	}()
	go io.WriteString(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}\n")
	if text, err := io.ReadAll(out); string(text) != "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n" || !errors.Is(err, errNone) {
		t.Errorf("%q, %v", text, err)
	}
	<-returned
}
