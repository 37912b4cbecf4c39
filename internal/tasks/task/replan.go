package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Replan records a corrected plan for the steps that are not done.
func Replan(ctx context.Context, log Log, id string, plan *Plan) (*State, error) {
	s, err := stateOf(ctx, log, id)
	if err != nil {
		return nil, err
	}
	if err := s.Accepts(plan); err != nil {
		return s, fmt.Errorf("the task %s cannot continue with this file: %w", id, err)
	}
	e := entry(KindReplanned, Replanned{*plan}, time.Now())
	if e.Seq, err = log.Append(ctx, id, s.Seq, e); err != nil {
		return s, err
	}
	return s, s.Apply(e)
}

// Accepts returns why the task cannot continue with a different plan, or nil. What is done stays as
// it was, and so does a step whose call may have had its effect. Everything else may change.
func (s *State) Accepts(plan *Plan) error {
	switch {
	case s.Done != nil:
		return errors.New("it is done")
	case s.Plan.ByModel():
		return errors.New("a model chooses its calls, so it has no steps to correct")
	case plan.ByModel():
		return errors.New("the task has steps, but the file has none")
	}
	at := s.standing()
	for i := range s.Plan.Steps[:at.index] {
		if !sameStep(s.Plan.Steps, plan.Steps, i) {
			return fmt.Errorf("step %q is done, so it must not change", s.Plan.Steps[i].ID)
		}
	}
	if at.index == len(s.Plan.Steps) || sameStep(s.Plan.Steps, plan.Steps, at.index) {
		return nil
	}
	step := s.Plan.Steps[at.index]
	named := at.index < len(plan.Steps) && plan.Steps[at.index].ID == step.ID && plan.Steps[at.index].For == step.For
	switch {
	case at.doubtful:
		return fmt.Errorf("it is unknown whether the call in step %q took effect, so the step must not change", step.ID)
	case at.begun && step.For == "":
		return fmt.Errorf("step %q is done, so it must not change", step.ID)
	case at.begun && !named:
		return fmt.Errorf("step %q has started, so its id and its loop (for) must not change", step.ID)
	}
	return nil
}

// sameStep reports whether two lists have the same step at an index. What a step does about errors
// makes no difference to what it has done.
func sameStep(a, b []Step, index int) bool {
	if index >= len(a) || index >= len(b) {
		return false
	}
	text := func(s Step) string {
		s.OnError, s.Unlisted = OnError{}, false
		encoded, err := json.Marshal(s)
		if err != nil {
			panic("task: " + err.Error()) // strings and valid JSON
		}
		return string(encoded)
	}
	return text(a[index]) == text(b[index])
}

// standing is where a task is in its plan. The steps before index are passed.
type standing struct {
	index, item int
	open        *Call // the latest call here, if a corrected one may be sent instead; otherwise nil
	begun       bool  // the step has made a call that counts
	doubtful    bool  // its latest call may have had its effect
}

// position returns the step and the item of the last call, or where a corrected plan continues.
func (s *State) position() (index, item int) {
	if n := len(s.Calls); n > s.replannedAt {
		return s.indexOf(s.Calls[n-1].Step), s.Calls[n-1].Item
	}
	return s.from, s.fromItem
}

func (s *State) standing() (at standing) {
	at.index, at.item = s.position()
	if at.index >= len(s.Plan.Steps) {
		return at
	}
	step := s.Plan.Steps[at.index]
	for place := range s.latest {
		if place.step == step.ID && place.item != at.item {
			at.begun = true
		}
	}
	call := s.latest[place{step: step.ID, item: at.item}]
	switch {
	case call == nil:
	case s.after(call, step.OnError) == nil:
		at.begun = true
	case call.harmless():
		at.open = call
	default:
		at.doubtful = true
	}
	return at
}

// harmless reports whether a call that is not settled had no effect, as far as the server says, or may
// have it twice, as a person said.
func (c *Call) harmless() bool {
	o := c.Outcome
	return c.Class == ReadOnly || c.Decision == "repeat" || o != nil && (o.Status == Failed || o.Delivery == Unsent)
}

// replan continues with a plan that was accepted.
func (s *State) replan(plan Plan) {
	at := s.standing()
	if at.open != nil {
		delete(s.latest, at.open.place())
	}
	if !at.begun && !at.doubtful {
		at.item = 0
	}
	s.from, s.fromItem, s.replannedAt = at.index, at.item, len(s.Calls)
	s.usePlan(plan)
	s.ids, s.walked, s.corrected = nil, nil, true
	s.Tools = map[string]map[string]string{} // all names are checked again
}
