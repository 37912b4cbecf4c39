package llm

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Limit returns a model that is asked at most perMinute questions in any minute, each of at most
// maxInput bytes. A question beyond that is not sent and fails immediately with [OverBudget]. A
// limit of 0 is none.
func Limit(model Model, perMinute, maxInput int) Model {
	return &limited{model: model, maxInput: maxInput, asked: make([]time.Time, max(perMinute, 0))}
}

type limited struct {
	model    Model
	maxInput int

	mu    sync.Mutex
	asked []time.Time // a ring of the times of the latest questions
	next  int         // the oldest entry of asked
}

func (l *limited) Ask(ctx context.Context, q Question) (Answer, error) {
	size := len(q.Instructions) + len(q.Text) + len(q.Schema)
	if l.maxInput > 0 && size > l.maxInput {
		return Answer{}, &Error{Kind: OverBudget, Detail: fmt.Sprintf("the request is %d bytes long; the limit is %d", size, l.maxInput)}
	}
	if !l.take(time.Now()) {
		return Answer{}, &Error{Kind: OverBudget, Detail: fmt.Sprintf("the limit is %d requests per minute", len(l.asked))}
	}
	return l.model.Ask(ctx, q)
}

// take counts a question and reports whether it is within the limit.
func (l *limited) take(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.asked) == 0 {
		return true
	}
	if oldest := l.asked[l.next]; !oldest.IsZero() && now.Sub(oldest) < time.Minute {
		return false
	}
	l.asked[l.next] = now
	l.next = (l.next + 1) % len(l.asked)
	return true
}
