package kernel

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// ruling is a stage that rules as a test wants.
type ruling struct {
	Bystander
	arrive, fail, respond Ruling
}

func (r *ruling) Arrive(*Call) Ruling             { return r.arrive }
func (r *ruling) Fail(*Call, *Failure) Ruling     { return r.fail }
func (r *ruling) Respond(*Call, *Response) Ruling { return r.respond }

// ruled returns a kernel with these stages, and what its client is told.
func ruled(stages ...Stage) (s *Session, told *[]string) {
	told = new([]string)
	s = New(Options{Server: upstream.Options{Spec: launch.Spec{URL: "http://127.0.0.1:1/mcp"}}, Words: plainly{}, Stages: stages,
		Tell: func(t Told) { *told = append(*told, string(t.Line)) }})
	return s, told
}

// holdNew lets a stage hold a call of tool x until release is called.
func (s *Session) holdNew(t *testing.T, h *Held) (c *Call, release func()) {
	t.Helper()
	m, _, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	c = s.newCall(&m)
	c.tool, c.class = "x", Idempotent
	end := make(chan struct{})
	s.update(func() {
		r := Hold(func(context.Context, *Held) { <-end })
		s.hold(c, h, &r)
	})
	return c, func() {
		close(end)
		s.work.background.Wait()
	}
}

func TestAHeldCallIsNotSentWhenTheSessionEnds(t *testing.T) {
	t.Parallel()
	s, _ := ruled(Bystander{})
	c, release := s.holdNew(t, &Held{})
	s.update(func() { s.leaving.closing = true })
	if release(); c.state != held {
		t.Errorf("the call is %v", c.state)
	}
	if s.leaving.abandonAll(); c.state != done {
		t.Errorf("the call is %v", c.state)
	}
}

// While a call waits for a login, the server may be replaced by one in which its tool is a different one, or
// does not say that it may be repeated.
func TestAHeldCallIsNotRepeatedByADifferentTool(t *testing.T) {
	t.Parallel()
	for code, set := range map[fault.Code]func(*Session, *Call){
		fault.ToolChanged:    func(s *Session, c *Call) { s.catalog.tools["x"] = tool{shape: 2, class: Idempotent} },
		fault.OutcomeUnknown: func(s *Session, c *Call) { s.catalog.remembered = true },
	} {
		s, told := ruled(Bystander{})
		s.catalog.tools["x"] = tool{shape: 1, class: Idempotent}
		c, release := s.holdNew(t, &Held{})
		s.update(func() {
			c.shape, c.past.deaths, c.past.loss, c.conn = 1, 1, &upstream.Loss{}, &upstream.Conn{}
			set(s, c)
		})
		if release(); c.state != done || len(*told) != 1 || !strings.Contains((*told)[0], string(code)) {
			t.Errorf("%s: the call is %v, and its client was told %q", code, c.state, *told)
		}
	}
}

func TestAWriteDoesNotOvertakeAHeldCallThatIsRepeated(t *testing.T) {
	t.Parallel()
	s, _ := ruled(Bystander{})
	c, release := s.holdNew(t, &Held{})
	c.past.deaths = 1
	later := &Call{class: Unsafe, seq: c.seq + 1}
	s.mu.Lock()
	if !s.order.wouldOvertake(later) {
		t.Error("it may be sent")
	}
	if s.table.move(c, done); !s.table.freed || s.order.wouldOvertake(later) {
		t.Error("it still waits")
	}
	s.mu.Unlock()
	release()
}

// A call that waited for a login before its tools were ever listed is checked like any other.
func TestAHeldCallWaitsForTheList(t *testing.T) {
	t.Parallel()
	s, _ := ruled(Bystander{})
	s.config.Others.Strict = true
	c, release := s.holdNew(t, &Held{})
	if release(); c.state != queued || !c.awaitsList {
		t.Errorf("the call is %v and waits for the list: %v", c.state, c.awaitsList)
	}
}

// What a stage counts about a ruling is given back if the ruling is not carried out.
func TestARulingThatIsNotCarriedOutIsDropped(t *testing.T) {
	t.Parallel()
	dropped := 0
	drop := func() { dropped++ }
	hold := Hold(func(context.Context, *Held) {}).Unless(drop)
	place := InPlace(time.Minute, func(context.Context) {}).Unless(drop)

	s, told := ruled(&ruling{arrive: Refuse(&fault.Fault{Code: fault.ArgumentsInvalid}), fail: hold})
	s.FromClient([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`)) // there is no server
	if dropped != 1 || len(*told) != 1 {
		t.Errorf("dropped %d times after a refusal: %q", dropped, *told)
	}

	for name, tt := range map[string]struct {
		ruling  Ruling
		end     bool // the call ends before
		dropped int
	}{
		"held again": {hold, false, 1}, "in place": {place, false, 0}, "too late": {place, true, 1},
	} {
		dropped = 0
		s, told := ruled(Bystander{}, &ruling{respond: tt.ruling})
		m, _, _ := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
		h := &Held{message: m, response: &Response{Message: &m}}
		c, release := s.holdNew(t, h)
		if tt.end {
			s.update(func() { s.abandon(c) })
		}
		h.Pass()
		if release(); dropped != tt.dropped || tt.end != (len(*told) == 0) {
			t.Errorf("%s: dropped %d times: %q", name, dropped, *told)
		}
	}
}

func TestACallIsNotSentAgainToADifferentTool(t *testing.T) {
	t.Parallel()
	s, _ := ruled(Bystander{})
	s.catalog.tools["x"] = tool{shape: 2, class: ReadOnly}
	c, release := s.holdNew(t, &Held{})
	c.shape, c.class = 1, ReadOnly
	s.mu.Lock()
	if s.isHarmless(c) {
		t.Error("it would be sent")
	}
	s.mu.Unlock()
	release()
}

// A restart that the user asked for waits for a call that may still be sent on this connection.
func TestARestartWaitsForACallThatMayBeCorrected(t *testing.T) {
	t.Parallel()
	s, _ := ruled(Bystander{})
	_, release := s.holdNew(t, &Held{conn: &upstream.Conn{}, fails: func() {}})
	if n := s.table.keeps; n.all != 1 || n.answers != 1 {
		t.Errorf("%+v", n)
	}
	release()
}

// Calls that wait for a login take room like those that are queued, so that a client is held up.
func TestAHeldCallTakesRoom(t *testing.T) {
	t.Parallel()
	s, _ := ruled(Bystander{})
	c, release := s.holdNew(t, &Held{})
	if n := s.Inside().QueuedBytes; n != queuedSize(c) {
		t.Errorf("%d bytes", n)
	}
	s.update(func() { s.abandon(c) })
	if n := s.Inside().QueuedBytes; n != 0 {
		t.Errorf("%d bytes", n)
	}
	release()
}

// looking is a stage that looks at a response until a test lets it go on.
type looking struct {
	Bystander
	end chan struct{}
}

func (l looking) Respond(*Call, *Response) Ruling {
	<-l.end
	return Pass
}

// A stage may begin to hold a call while others look at a late response to it. The race detector sees
// whether both note that in order.
func TestACallIsHeldWhileStagesLookAtALateResponse(t *testing.T) {
	t.Parallel()
	stage := looking{end: make(chan struct{})}
	s, _ := ruled(stage)
	m, _, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	c, conn := s.newCall(&m), &upstream.Conn{}
	c.class, c.conn, c.n = Idempotent, conn, s.ids.nextID()
	s.update(func() { s.table.move(c, sent) })
	late, _, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":` + string(AppendID(nil, c.n)) + `,"error":{"code":1,"message":"no"}}`))
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		s.server.response(conn, &late)
	}()
	for c.part.asking.TryLock() { // one that fails puts nothing in order, which a channel would do
		c.part.asking.Unlock()
		runtime.Gosched()
	}
	s.update(func() {
		r := Hold(func(ctx context.Context, _ *Held) { <-ctx.Done() })
		s.hold(c, &Held{}, &r)
	})
	close(stage.end)
	if <-answered; c.state != held {
		t.Errorf("the call is %v", c.state)
	}
	s.work.endLife()
	s.work.background.Wait()
}
