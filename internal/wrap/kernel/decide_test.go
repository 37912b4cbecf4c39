package kernel

import (
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// What becomes of a lost call. A row changes what it names in an otherwise ordinary loss: delivered,
// nothing known, by a session that may repeat.
func TestWhatBecomesOfALostCall(t *testing.T) {
	t.Parallel()
	tool := func(class Class) lostCall { return lostCall{class: class, method: "tools/call", deaths: 1} }
	with := func(c lostCall, change func(*lostCall)) lostCall { change(&c); return c }
	usual := lossPolicy{quarantine: true, budget: true, inTime: true, settled: true}
	under := func(change func(*lossPolicy)) lossPolicy { p := usual; change(&p); return p }
	first := under(func(p *lossPolicy) { p.settled = false })

	unsent := upstream.Loss{Delivery: fault.Unsent, Code: fault.ServerUnreachable}
	unknown := upstream.Loss{Delivery: fault.Unknown, Code: fault.OutcomeUnknown}
	session := upstream.Loss{Delivery: fault.Refused, Session: true, Code: fault.HTTPRefused}
	final := upstream.Loss{Delivery: fault.Refused, Final: true, Status: 403, Code: fault.AuthDenied}
	down := upstream.Loss{Delivery: fault.Unknown, Status: 503, Code: fault.HTTPUnavailable}
	broken := upstream.Loss{Delivery: fault.Unknown, Status: 500, Code: fault.HTTPUnavailable}
	missing := upstream.Loss{Delivery: fault.Unknown, Code: fault.AnswerMissing}
	garbled := upstream.Loss{Delivery: fault.Answered, Final: true, Code: fault.ResponseInvalid}

	needed := func(d fault.Delivery) upstream.Loss {
		return upstream.Loss{Delivery: d, Final: true, Status: 401, Code: fault.AuthRequired, Login: &login.Needed{}}
	}
	person := under(func(p *lossPolicy) { p.login = true })

	discover := lostCall{class: Reads, method: "server/discover", deaths: 1}
	initialize := lostCall{class: Start, method: "initialize", deaths: 1}
	again := func(spends bool) verdict { return verdict{action: repeatCall, spends: spends} }
	answered := func(code fault.Code) verdict { return verdict{action: answerFault, code: code} }

	const conn, exchange = connectionLost, exchangeLost
	for _, row := range []struct {
		name  string
		call  lostCall
		kind  lossKind
		loss  upstream.Loss
		under lossPolicy
		want  verdict
	}{
		{"an unsafe call that was not read", tool(Unsafe), conn, unsent, usual, again(false)},
		{"an unsafe request that was not sent", tool(Unsafe), exchange, unsent, usual, again(false)},
		{"not read three times", with(tool(Unsafe), func(c *lostCall) { c.proven = 2 }), conn, unsent, usual, answered(fault.ReplayExhausted)},
		{"not sent three times", with(tool(Unsafe), func(c *lostCall) { c.proven = 2 }), exchange, unsent, usual, answered(fault.ServerUnreachable)},

		{"a read at a death", tool(ReadOnly), conn, unknown, usual, again(true)},
		{"a read, lost alone", tool(ReadOnly), exchange, unknown, usual, again(true)},
		{"a read at the third death", with(tool(ReadOnly), func(c *lostCall) { c.deaths = 3 }), conn, unknown, usual, answered(fault.ReplayExhausted)},
		{"a read, lost the third time", with(tool(ReadOnly), func(c *lostCall) { c.deaths = 3 }), exchange, unknown, usual, answered(fault.ReplayExhausted)},
		{"an idempotent call", tool(Idempotent), conn, unknown, usual, again(true)},
		{"an idempotent call before a write", with(tool(Idempotent), func(c *lostCall) { c.laterWrite = true }), conn, unknown, usual, answered(fault.OutcomeUnknown)},
		{"an idempotent request before a write", with(tool(Idempotent), func(c *lostCall) { c.laterWrite = true }), exchange, unknown, usual, answered(fault.OutcomeUnknown)},
		{"an unsafe call at a death", tool(Unsafe), conn, unknown, usual, answered(fault.OutcomeUnknown)},
		{"an unsafe request, lost alone", tool(Unsafe), exchange, unknown, usual, answered(fault.OutcomeUnknown)},
		{"a stream, lost alone", lostCall{class: Stream, deaths: 1}, exchange, unknown, usual, answered(fault.ReplayExhausted)},

		{"a call at two deaths in a row", with(tool(ReadOnly), func(c *lostCall) { c.lastDeath = true }), conn, unknown, usual,
			verdict{action: answerFault, code: fault.CallQuarantined, bar: true}},
		{"an unsafe call at two deaths in a row", with(tool(Unsafe), func(c *lostCall) { c.lastDeath = true }), conn, unknown, usual,
			verdict{action: answerFault, code: fault.OutcomeUnknown, bar: true}},
		{"not read at the second of two deaths", with(tool(ReadOnly), func(c *lostCall) { c.lastDeath = true }), conn, unsent, usual, again(false)},
		{"quarantine is off", with(tool(ReadOnly), func(c *lostCall) { c.lastDeath = true }), conn, unknown, under(func(p *lossPolicy) { p.quarantine = false }), again(true)},
		{"lost alone after a death", with(tool(ReadOnly), func(c *lostCall) { c.lastDeath = true }), exchange, unknown, usual, again(true)},
		{"a read of the protocol at two deaths", with(discover, func(c *lostCall) { c.lastDeath = true }), conn, unknown, usual, again(true)},

		{"no budget", tool(ReadOnly), conn, unknown, under(func(p *lossPolicy) { p.budget = false }), answered(fault.RetryBudgetSpent)},
		{"no budget, lost alone", tool(ReadOnly), exchange, unknown, under(func(p *lossPolicy) { p.budget = false }), answered(fault.RetryBudgetSpent)},
		{"no budget needed", tool(ReadOnly), conn, unsent, under(func(p *lossPolicy) { p.budget = false }), again(false)},
		{"too late", tool(ReadOnly), exchange, down, under(func(p *lossPolicy) { p.inTime = false }), answered(fault.HTTPUnavailable)},
		{"too late for a read that was cut off", with(tool(ReadOnly), func(c *lostCall) { c.deaths = 2 }), exchange, unknown, under(func(p *lossPolicy) { p.inTime = false }), answered(fault.CallTimeout)},
		{"too late for a read that was lost too often", with(tool(ReadOnly), func(c *lostCall) { c.deaths = 3 }), exchange, unknown, under(func(p *lossPolicy) { p.inTime = false }), answered(fault.ReplayExhausted)},
		{"too late for an idempotent call", tool(Idempotent), exchange, unknown, under(func(p *lossPolicy) { p.inTime = false }), answered(fault.OutcomeUnknown)},
		{"the session ends", tool(ReadOnly), conn, unknown, under(func(p *lossPolicy) { p.closing = true }), answered(fault.Stopping)},
		{"the session ends, lost alone", tool(ReadOnly), exchange, unknown, under(func(p *lossPolicy) { p.closing = true }), answered(fault.Stopping)},

		{"a session the server forgot", tool(Unsafe), exchange, session, usual, answered(fault.OutcomeUnknown)},
		{"a read in a session the server forgot", tool(ReadOnly), exchange, session, usual, again(false)},
		{"a read, forgotten three times", with(tool(ReadOnly), func(c *lostCall) { c.deaths = 3 }), exchange, session, usual, answered(fault.HTTPRefused)},
		{"an idempotent call before a write, forgotten", with(tool(Idempotent), func(c *lostCall) { c.laterWrite = true }), exchange, session, usual, answered(fault.OutcomeUnknown)},

		{"a login is needed before a write", tool(Unsafe), exchange, needed(fault.Unsent), person, verdict{action: awaitLogin}},
		{"a login is needed, says the answer to a write", tool(Unsafe), exchange, needed(fault.Refused), person, answered(fault.AuthRequired)},
		{"more permissions are needed for a write", tool(Unsafe), exchange, upstream.Loss{Delivery: fault.Refused, Final: true, Status: 403, Code: fault.AuthDenied, Login: &login.Needed{}}, person, verdict{action: awaitLogin}},
		{"a login is needed, says the answer to a read", tool(ReadOnly), exchange, needed(fault.Refused), person, verdict{action: awaitLogin}},
		{"a login is needed for an idempotent call before a write", with(tool(Idempotent), func(c *lostCall) { c.laterWrite = true }), exchange, needed(fault.Refused), person, answered(fault.AuthRequired)},

		{"rejected", tool(ReadOnly), exchange, final, usual, answered(fault.AuthDenied)},
		{"an answer that is not one", tool(Unsafe), exchange, garbled, usual, answered(fault.ResponseInvalid)},
		{"a write and a 503", tool(Unsafe), exchange, down, usual, answered(fault.HTTPUnavailable)},
		{"a write and a 500", tool(Unsafe), exchange, broken, usual, answered(fault.OutcomeUnknown)},
		{"a write without an answer", tool(Unsafe), exchange, missing, usual, answered(fault.AnswerMissing)},

		{"initialize at a death", with(initialize, func(c *lostCall) { c.deaths = 9 }), conn, unknown, first, again(false)},
		{"initialize, lost alone", initialize, exchange, unknown, first, again(false)},
		{"initialize, lost the third time", with(initialize, func(c *lostCall) { c.deaths = 3 }), exchange, unknown, first, verdict{action: awaitDoctor}},
		{"initialize while the server warms up", with(initialize, func(c *lostCall) { c.deaths = 9 }), exchange, down, first, again(false)},
		{"initialize rejected", initialize, exchange, final, first, verdict{action: awaitDoctor}},
		{"the first list rejected", lostCall{class: Reads, method: "tools/list", deaths: 1}, exchange, final, first, verdict{action: awaitDoctor}},
		{"the first list lost", lostCall{class: Reads, method: "tools/list", deaths: 3}, exchange, unknown, first, answered(fault.ReplayExhausted)},
		{"discover at the first death", discover, conn, unknown, first, again(true)},
		{"discover at the second death", with(discover, func(c *lostCall) { c.deaths = 2 }), conn, unknown, first, verdict{action: refuseDiscover}},
		{"discover rejected", discover, exchange, final, first, verdict{action: refuseDiscover}},
	} {
		if got := decide(row.call, row.kind, row.loss, row.under); got != row.want {
			t.Errorf("%s: %+v, want %+v", row.name, got, row.want)
		}
	}
}

// The licence, by class and by what is known of the loss: how often a call is
// repeated that is lost in the same way each time.
func TestHowOftenALostCallIsRepeated(t *testing.T) {
	t.Parallel()
	unsent := upstream.Loss{Delivery: fault.Unsent}
	unknown := upstream.Loss{Delivery: fault.Unknown}
	refused := upstream.Loss{Delivery: fault.Refused}
	session := upstream.Loss{Delivery: fault.Refused, Session: true}
	for _, row := range []struct {
		class      Class
		loss       upstream.Loss
		laterWrite bool
		want       int
		code       fault.Code
	}{
		{Reads, unsent, false, 2, fault.ReplayExhausted},
		{Unsafe, unsent, false, 2, fault.ReplayExhausted},
		{Reads, unknown, false, 2, fault.ReplayExhausted},
		{ReadOnly, unknown, true, 2, fault.ReplayExhausted},
		{Idempotent, unknown, false, 2, fault.OutcomeUnknown},
		{Idempotent, unknown, true, 0, fault.OutcomeUnknown},
		{Unsafe, unknown, false, 0, fault.OutcomeUnknown},
		{ReadOnly, refused, false, 2, fault.ReplayExhausted},
		{Idempotent, refused, true, 0, fault.OutcomeUnknown},
		{Unsafe, refused, false, 0, fault.OutcomeUnknown},
		{ReadOnly, session, false, 2, fault.HTTPRefused},
		{Idempotent, session, true, 0, fault.OutcomeUnknown},
		{Unsafe, session, false, 0, fault.OutcomeUnknown},
	} {
		c := lostCall{class: row.class, laterWrite: row.laterWrite}
		repeated := 0
		var code fault.Code
		for ok := true; ok; repeated++ {
			if row.loss.Delivery != fault.Unsent {
				c.deaths++
			}
			if ok, code = mayRepeat(c, connectionLost, row.loss); !ok {
				break
			}
			if row.loss.Delivery == fault.Unsent {
				c.proven++
			}
		}
		if repeated != row.want || code != row.code {
			t.Errorf("%v, %+v: repeated %d times and then %s, want %d and %s", row.class, row.loss, repeated, code, row.want, row.code)
		}
	}
}

// What was sent once is not unsent because its repetition was not sent.
func TestASentCallStaysSent(t *testing.T) {
	t.Parallel()
	if got := overall(&Call{past: past{deaths: 1}}, fault.Unsent); got != fault.Unknown {
		t.Errorf("%v", got)
	}
	if got := overall(&Call{}, fault.Unsent); got != fault.Unsent {
		t.Errorf("%v", got)
	}
	if got := overall(&Call{past: past{deaths: 1}}, fault.Refused); got != fault.Refused {
		t.Errorf("%v", got)
	}
}

func TestACallThatWaitsForTheFirstStartSaysSo(t *testing.T) {
	t.Parallel()
	f := troubled(nil, &Call{}, time.Now())
	if f.Code != fault.ServerStarting || f.Delivery != fault.Unsent {
		t.Errorf("%s, %v", f.Code, f.Delivery)
	}
}
