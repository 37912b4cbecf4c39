package kernel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// callQuack is a CallDoctor that knows one cause and suspects texts with the word "down".
type callQuack struct {
	begin  chan struct{} // if not nil, Examine waits for it
	ailing string        // the tool that failed in an earlier session
	look   func()        // if not nil, Suspects calls it

	mu        sync.Mutex
	asked     []upstream.FailedCall
	succeeded []string
}

func (q *callQuack) Suspects(_ launch.Spec, f upstream.FailedCall) bool {
	if q.look != nil {
		q.look()
	}
	return strings.Contains(f.Text, "down")
}

func (q *callQuack) Examine(_ context.Context, _ launch.Spec, f upstream.FailedCall) fault.Cause {
	q.mu.Lock()
	q.asked = append(q.asked, f)
	q.mu.Unlock()
	if q.begin != nil {
		<-q.begin
	}
	return fault.Cause{Code: "companion_app_not_running", Explanation: "The database is not running.", Remedy: "Start it."}
}

func (q *callQuack) Ailing(launch.Spec) string { return q.ailing }

func (q *callQuack) Succeeded(_ launch.Spec, tool string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.succeeded = append(q.succeeded, tool)
}

func (q *callQuack) recovered() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return strings.Join(q.succeeded, " ")
}

// parrot starts a session with a server that answers what it is told to.
func parrot(t *testing.T, q *callQuack) *story {
	t.Helper()
	o := quick()
	o.Calls = q
	return beginListed(t, "parrot", o)
}

// say returns the raw answer to a call that the server answers with these members.
func (s *story) say(members string) string { return s.answer(s.startSaying(members)).raw }

func (s *story) startSaying(members string) string {
	arguments, _ := json.Marshal(map[string]string{"answer": members})
	return s.start("say", string(arguments))
}

const ourCause = `[gauze] Likely cause: The database is not running. Different arguments are unlikely to help. Tell the user: Start it.`

func TestTheCauseOfAFailedCallFollowsTheServersWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ said, want string }{
		{`"error":{"code":-32603,"message":"it is down"}`, `"error":{"code":-32603,"message":"it is down\n\n` + ourCause + `"}`},
		{`"error":{"data":{"mine":1},"message":"down","code":7,"x":2}`, `"error":{"data":{"mine":1},"message":"down\n\n` + ourCause + `","code":7,"x":2}`},
		{`"result":{"content":[{"type":"text","text":"down"}],"isError":true}`,
			`"result":{"content":[{"type":"text","text":"down"},{"type":"text","text":"` + ourCause + `"}],"isError":true}`},
		{`"result":{"isError": true,"content":[{"type":"text","text":"it is"},{"type":"text","text":"down"}],"y":1}`,
			`"result":{"isError": true,"content":[{"type":"text","text":"it is"},{"type":"text","text":"down"},{"type":"text","text":"` + ourCause + `"}],"y":1}`},
	} {
		t.Run(c.said, func(t *testing.T) {
			s := parrot(t, &callQuack{})
			id := s.startSaying(c.said)
			if got, want := s.answer(id).raw, `{"jsonrpc":"2.0","id":`+id+`,`+c.want+`}`; got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
		})
	}
}

func TestAFailedCallIsReportedOnceUntilItSucceeds(t *testing.T) {
	t.Parallel()
	q := &callQuack{}
	s := parrot(t, q)
	const down, fine = `"error":{"code":-32603,"message":"down"}`, `"result":{"content":[]}`
	s.say(down)
	e := s.await(event.Diagnosed, 1)
	if e.Tool != "say" || e.Cause.Code != "companion_app_not_running" || e.Cause.Remedy != "Start it." {
		t.Errorf("%+v", e)
	}
	s.say(down)
	s.say(fine)
	s.until("the doctor knows", func() bool { return q.recovered() == "say" })
	s.say(fine)
	s.say(down)
	s.await(event.Diagnosed, 2)
	if n := s.happened(event.Diagnosed); n != 2 || q.recovered() != "say" {
		t.Errorf("%d events, recovered: %q", n, q.recovered())
	}
}

func TestAToolThatFailedInAnEarlierSessionRecovers(t *testing.T) {
	t.Parallel()
	q := &callQuack{ailing: "say"}
	s := parrot(t, q)
	s.say(`"result":{"content":[]}`)
	s.until("the doctor knows", func() bool { return q.recovered() == "say" })
}

func TestWhatIsNotSuspectIsNotTouched(t *testing.T) {
	t.Parallel()
	q := &callQuack{}
	s := parrot(t, q)
	for _, said := range []string{
		`"error":{"code":-32603,"message":"the disk is full"}`,
		`"result":{"content":[{"type":"text","text":"no such city"}],"isError":true}`,
		`"result":{"content":[{"type":"text","text":"it is down: connect ECONNREFUSED 127.0.0.1:5432"}],"isError":false}`,
		`"result":{"content":[{"type":"text","text":"down"}]}`,
	} {
		id := s.startSaying(said)
		if got, want := s.answer(id).raw, `{"jsonrpc":"2.0","id":`+id+`,`+said+`}`; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if len(q.asked) != 0 || s.happened(event.Diagnosed) != 0 {
		t.Errorf("examined: %+v", q.asked)
	}
}

// A result that claims success stays as it is and is not delayed; the person is told.
func TestAFailureThatClaimsSuccessIsOnlyReported(t *testing.T) {
	t.Parallel()
	q := &callQuack{begin: make(chan struct{})}
	s := parrot(t, q)
	const said = `"result":{"content":[{"type":"text","text":"down: 401 Unauthorized"}]}`
	id := s.startSaying(said)
	if got, want := s.answer(id).raw, `{"jsonrpc":"2.0","id":`+id+`,`+said+`}`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	close(q.begin)
	s.await(event.Diagnosed, 1)
}

// With --repair off a response stays as the server wrote it; the person is told.
func TestAResponseIsNotChangedIfRepairsAreOff(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Calls, o.Repair = &callQuack{}, "off"
	s := beginListed(t, "parrot", o)
	const said = `"error":{"code":-32603,"message":"down"}`
	id := s.startSaying(said)
	if got, want := s.answer(id).raw, `{"jsonrpc":"2.0","id":`+id+`,`+said+`}`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	s.await(event.Diagnosed, 1)
}

// examines waits until n failed calls are being examined.
func (s *story) examines(q *callQuack, n int) {
	s.t.Helper()
	s.until("the calls are examined", func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return len(q.asked) == n
	})
}

// order returns the ids of the responses in the order in which the client got them.
func (s *story) order() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.lines {
		if m.Method == "" {
			ids = append(ids, string(m.ID))
		}
	}
	return ids
}

const (
	saysDown = `"error":{"code":-32603,"message":"down"}`
	saysFine = `"result":{"content":[]}`
)

// A server that answers in order is answered for in order, also while a cause is looked for.
func TestAnExaminedAnswerIsNotOvertaken(t *testing.T) {
	t.Parallel()
	q := &callQuack{begin: make(chan struct{})}
	o := quick()
	o.Calls, o.Waits.Examine = q, patience.Limit()
	s := beginListed(t, "parrot", o)
	before := s.session.Counters().Answered
	var sent []string
	for _, said := range []string{saysFine, saysDown, saysFine, saysDown, saysFine} {
		sent = append(sent, s.startSaying(said))
	}
	s.examines(q, 2)
	s.until("the server has answered", func() bool { return s.session.Counters().Answered == before+5 })
	close(q.begin)
	for i, id := range sent {
		if got, explained := s.answer(id).raw, i%2 == 1; strings.Contains(got, "Likely cause") != explained {
			t.Errorf("answer %d: %s", i, got)
		}
	}
	if got := s.order(); !slices.Equal(got[len(got)-5:], sent) {
		t.Errorf("the answers came as %v, want %v", got, sent)
	}
}

// A doctor that takes too long costs the explanation, not the response.
func TestASlowExaminationCostsNoAnswer(t *testing.T) {
	t.Parallel()
	q := &callQuack{begin: make(chan struct{})}
	o := quick()
	o.Calls, o.Waits.Examine = q, time.Millisecond
	s := beginListed(t, "parrot", o)
	var sent []string
	for range maxExamined {
		sent = append(sent, s.startSaying(saysDown))
	}
	s.examines(q, maxExamined)
	sent = append(sent, s.startSaying(saysDown)) // one more than are examined
	for _, id := range sent {
		if got, want := s.answer(id).raw, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, saysDown); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	s.say(saysFine)
	for _, id := range sent {
		if n := s.answers(id); n != 1 {
			t.Errorf("%d answers", n)
		}
	}
	close(q.begin)
}

// A server that sends much while a cause is looked for is not collected without limit.
func TestMuchBehindAnExaminedAnswerReleasesIt(t *testing.T) {
	t.Parallel()
	q := &callQuack{begin: make(chan struct{})}
	o := quick()
	o.Calls, o.Waits.Examine = q, patience.Limit()
	s := beginListed(t, "parrot", o)
	failed := s.startSaying(saysDown)
	s.examines(q, 1)
	s.say(`"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", kernel.MaxHeldBytes) + `"}]}`)
	if got := s.answer(failed).raw; strings.Contains(got, "gauze") {
		t.Errorf("explained: %s", got)
	}
	close(q.begin)
	s.await(event.Diagnosed, 1) // the person is still told
	if n := s.answers(failed); n != 1 {
		t.Errorf("%d answers", n)
	}
}

// The client leaves while a call is examined: the cause still comes.
func TestAnExaminationDelaysTheEndOfItsSession(t *testing.T) {
	t.Parallel()
	q := &callQuack{begin: make(chan struct{})}
	o := quick()
	o.Calls, o.Waits.Examine, o.Timing.FinishGrace = q, patience.Limit(), patience.Limit()
	s := beginListed(t, "parrot", o)
	id := s.startSaying(saysDown)
	s.examines(q, 1)
	s.in.Close()
	close(q.begin)
	if err := s.end(); err != nil {
		t.Error(err)
	}
	if got := s.answer(id).raw; !strings.Contains(got, "Likely cause") {
		t.Error(got)
	}
}

// A session that must stop does not wait for a cause. What was held for it is still sent.
func TestAStopDoesNotWaitForAnExamination(t *testing.T) {
	t.Parallel()
	q := &callQuack{begin: make(chan struct{})}
	o := quick()
	o.Calls, o.Waits.Examine = q, time.Hour
	s := beginListed(t, "parrot", o)
	before := s.session.Counters().Answered
	sent := []string{s.startSaying(saysDown), s.startSaying(saysFine)}
	s.examines(q, 1)
	s.until("the server has answered", func() bool { return s.session.Counters().Answered == before+2 })
	s.cancel()
	for _, id := range sent {
		if got := s.answer(id).raw; strings.Contains(got, "gauze") {
			t.Error(got)
		}
	}
	close(q.begin)
	s.end()
}

// maxExamined is how many failed calls are examined at the same time.
const maxExamined = 4

// Calls that end while their responses are looked at are not counted as examined for ever.
func TestCallsThatEndWhileTheirResponseIsLookedAt(t *testing.T) {
	t.Parallel()
	looks, looked := make(chan struct{}), make(chan struct{})
	q := &callQuack{look: func() { looks <- struct{}{}; <-looked }}
	s := parrot(t, q)
	const down = `"error":{"code":-32603,"message":"it is down"}`
	for n := range 5 {
		id := s.startSaying(down)
		<-looks
		s.withdraw(id)
		s.await(event.Cancelled, n+1)
		looked <- struct{}{}
		s.await(event.Dropped, n+1)
	}
	id := s.startSaying(down)
	<-looks
	looked <- struct{}{}
	if got := s.answer(id).raw; !strings.Contains(got, "Likely cause") {
		t.Error(got)
	}
}
