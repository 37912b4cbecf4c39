package history

import (
	"fmt"
	"slices"
)

// Rule is a guarantee that a history can violate.
type Rule string

const (
	Lost          Rule = "lost"              // a call has no response
	Double        Rule = "answered twice"    // a call has more than one response
	NeverAsked    Rule = "never asked"       // a response or an effect belongs to no call
	Duplicated    Rule = "duplicated effect" // a key is in the ledger more than once
	Reverted      Rule = "reverted"          // an idempotent effect was repeated after a later one
	Invented      Rule = "invented success"  // the call succeeded, but the ledger or the echo disagrees
	FalseDenial   Rule = "false denial"      // the call "did not happen", but it is in the ledger
	ThrownAway    Rule = "discarded answer"  // the outcome is unknown although the response could be read
	OutOfOrder    Rule = "out of order"      // the effects have a different order from their calls
	ForeignAnswer Rule = "foreign answer"    // the response is neither the server's nor a fault
	GaveUp        Rule = "gave up"           // a call failed that waiting would have saved
	TooUnknown    Rule = "too many unknown"  // there are more unknown outcomes per kill or other fault than allowed
)

// Limits are the settings that differ between runs.
type Limits struct {
	UnknownPerKill float64 // maximum; other faults count as kills
	Failed         int     // maximum number of responses with a fault other than unknown
	InOrder        bool    // one effect at a time: the ledger must have the order of the calls
}

// Verdict summarizes a history and the rules it violates.
type Verdict struct {
	Calls      int            `json:"calls"`
	Answers    int            `json:"answers"`
	OK         int            `json:"ok"`
	Unknown    int            `json:"unknown"`
	Failed     map[string]int `json:"failed"` // by code
	Effects    int            `json:"effects"`
	Duplicates int            `json:"duplicates"`
	Repeated   int            `json:"repeated"` // idempotent effects that occurred more than once
	Kills      int            `json:"kills"`
	Injected   int            `json:"harms"`         // faults other than kills
	Settled    int            `json:"kills_settled"` // kills of a server that had answered everything it had read
	Broken     map[Rule]int   `json:"broken"`        // number of violations by rule
	Examples   []string       `json:"examples"`      // the first few violations
}

// Pass reports whether no rule was violated.
func (v *Verdict) Pass() bool { return len(v.Broken) == 0 }

// UnknownPerKill returns the number of unknown outcomes per kill or other fault.
func (v *Verdict) UnknownPerKill() float64 {
	if v.Kills+v.Injected == 0 {
		return 0
	}
	return float64(v.Unknown) / float64(v.Kills+v.Injected)
}

const maxExamples = 12

func (v *Verdict) broke(r Rule, format string, args ...any) {
	v.Broken[r]++
	if v.Broken[r] <= 3 && len(v.Examples) < maxExamples {
		v.Examples = append(v.Examples, string(r)+": "+fmt.Sprintf(format, args...))
	}
}

// call is one call and the first response to it.
type call struct {
	Event
	order   int
	answers int
	answer  Event
}

// Check compares the history with the ledger.
func Check(events []Event, ledger []Effect, limits Limits) *Verdict {
	v := &Verdict{Failed: map[string]int{}, Broken: map[Rule]int{}, Effects: len(ledger)}
	calls, settled := v.readEvents(events)
	byKey := map[string]*call{}
	for _, c := range calls {
		if c.Effect {
			byKey[c.Key] = c
		}
	}
	done := v.readLedger(ledger, byKey, limits)
	for _, c := range calls {
		v.judge(c, done[c.Key], settled)
	}
	if faults := v.Kills + v.Injected; v.UnknownPerKill() > limits.UnknownPerKill || faults == 0 && v.Unknown > 0 {
		v.broke(TooUnknown, "%d after %d kills; the limit is %.2f per kill", v.Unknown, faults, limits.UnknownPerKill)
	}
	if failed := v.failed(); failed > limits.Failed {
		v.broke(GaveUp, "%d calls; the limit is %d: %v", failed, limits.Failed, v.Failed)
	}
	return v
}

func (v *Verdict) failed() int {
	n := 0
	for _, count := range v.Failed {
		n += count
	}
	return n
}

// readEvents reads the events in order. A response that comes before its request belongs to no
// call.
func (v *Verdict) readEvents(events []Event) (calls []*call, settled map[int]bool) {
	byID := map[string]*call{}
	settled = map[int]bool{}
	for _, e := range events {
		switch e.Kind {
		case Invoke:
			v.Calls++
			c := &call{Event: e, order: v.Calls}
			calls, byID[e.ID] = append(calls, c), c
		case Kill:
			v.Kills++
			if e.Settled {
				v.Settled++
				settled[e.PID] = true
			}
		case Injected:
			v.Injected++
		default:
			v.Answers++
			c := byID[e.ID]
			if c == nil {
				v.broke(NeverAsked, "a response with id %s", e.ID)
				continue
			}
			c.answers++
			if c.answers > 1 {
				v.broke(Double, "%.60s, id %s", c.Key, e.ID)
				continue
			}
			c.answer = e
		}
	}
	return calls, settled
}

// readLedger returns the process that had each effect first, by key.
func (v *Verdict) readLedger(ledger []Effect, byKey map[string]*call, limits Limits) map[string]int {
	done := map[string]int{}
	newest := map[string]int{} // by register
	last := 0
	for _, e := range ledger {
		c := byKey[e.Key]
		if c == nil {
			v.broke(NeverAsked, "an effect with key %s", e.Key)
			continue
		}
		first, again := done[e.Key]
		if c.Register != "" {
			v.readRegister(c, newest)
			if again {
				v.Repeated++
			} else {
				done[e.Key] = e.PID
			}
			continue
		}
		if again {
			v.Duplicates++
			v.broke(Duplicated, "%s, by process %d and by process %d", e.Key, first, e.PID)
			continue
		}
		done[e.Key] = e.PID
		if limits.InOrder && c.order < last {
			v.broke(OutOfOrder, "%s was requested before the effect it follows", e.Key)
		}
		last = max(last, c.order)
	}
	return done
}

// readRegister records an idempotent effect. newest is the last call that set each register. A
// repetition after a later call is a violation only if its own response was a success: a call with
// an unknown outcome may take effect at any time.
func (v *Verdict) readRegister(c *call, newest map[string]int) {
	if c.order < newest[c.Register] && c.answer.Kind == OK {
		v.broke(Reverted, "%s took effect again after a later call had set the register", c.Key)
	}
	newest[c.Register] = max(newest[c.Register], c.order)
}

// judge compares the response to a call with what process pid did. A pid of 0 means no effect.
func (v *Verdict) judge(c *call, pid int, settled map[int]bool) {
	if c.answers == 0 {
		v.broke(Lost, "%.60s, id %s", c.Key, c.ID)
		return
	}
	happened := c.Effect && pid != 0
	switch c.answer.Kind {
	case OK:
		v.OK++
		if c.answer.Key != c.Key {
			v.broke(Invented, "%.60s was answered with %.60q", c.Key, c.answer.Key)
		} else if c.Effect && !happened {
			v.broke(Invented, "%s is not in the ledger", c.Key)
		}
	case Fail:
		v.Failed[c.answer.Code]++
		if c.answer.Unsent && happened {
			v.broke(FalseDenial, "%s: %s, but process %d ran the call", c.Key, c.answer.Code, pid)
		}
	case Unknown:
		v.Unknown++
		if happened && settled[pid] {
			v.broke(ThrownAway, "process %[2]d ran and answered %[1]s", c.Key, pid)
		}
	case Foreign:
		v.broke(ForeignAnswer, "%.60s: %.200s", c.Key, c.answer.Code)
	}
}

// Rules returns the violated rules, sorted.
func (v *Verdict) Rules() []Rule {
	var rules []Rule
	for r := range v.Broken {
		rules = append(rules, r)
	}
	slices.Sort(rules)
	return rules
}
