package proxy

import (
	"testing"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// The licence, by class and by what is known of the loss: how often a call is
// repeated that is lost in the same way each time.
func TestHowOftenALostCallIsRepeated(t *testing.T) {
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
		{Idempotent, session, true, 1, fault.OutcomeUnknown},
		{Unsafe, session, false, 1, fault.OutcomeUnknown},
	} {
		c := &call{class: row.class}
		repeated := 0
		var code fault.Code
		for ok := true; ok; repeated++ {
			if row.loss.Delivery != fault.Unsent {
				c.deaths++
			}
			if ok, code = mayRepeat(c, row.loss, row.laterWrite); !ok {
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
	if got := overall(&call{deaths: 1}, fault.Unsent); got != fault.Unknown {
		t.Errorf("%v", got)
	}
	if got := overall(&call{}, fault.Unsent); got != fault.Unsent {
		t.Errorf("%v", got)
	}
	if got := overall(&call{deaths: 1}, fault.Refused); got != fault.Refused {
		t.Errorf("%v", got)
	}
}
