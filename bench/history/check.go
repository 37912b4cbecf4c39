package history

import (
	"fmt"
	"slices"
)

// Rule is one promise a history can break.
type Rule string

const (
	Lost          Rule = "lost"               // a call without an answer
	Double        Rule = "answered twice"     // a call with more than one
	NeverAsked    Rule = "never asked"        // an answer to no call, or an effect of none
	Duplicated    Rule = "duplicated effect"  // a key more than once in the ledger
	Reverted      Rule = "reverted"           // an idempotent effect came again, after a later one
	Invented      Rule = "invented success"   // ok, and the ledger or the echo disagrees
	FalseDenial   Rule = "false denial"       // "did not happen", and it is in the ledger
	ThrownAway    Rule = "thrown away answer" // unknown, although the answer was there to be read
	OutOfOrder    Rule = "out of order"       // effects in another order than their calls
	ForeignAnswer Rule = "foreign answer"     // neither the server's answer nor an honest fault
	GaveUp        Rule = "gave up"            // a call failed that patience would have saved
	TooUnknown    Rule = "too many unknown"   // more unknown answers per kill, or other harm, than allowed
)

// Limits are what differs from one run to the next.
type Limits struct {
	UnknownPerKill float64 // at most; other harm counts as a kill does
	Failed         int     // at most this many answers with a fault other than unknown
	InOrder        bool    // one effect at a time: the ledger must show the order of the calls
}

// Verdict is what the history amounts to.
type Verdict struct {
	Calls      int            `json:"calls"`
	Answers    int            `json:"answers"`
	OK         int            `json:"ok"`
	Unknown    int            `json:"unknown"`
	Failed     map[string]int `json:"failed"` // by code
	Effects    int            `json:"effects"`
	Duplicates int            `json:"duplicates"`
	Repeated   int            `json:"repeated"` // idempotent effects that came more than once
	Kills      int            `json:"kills"`
	Harms      int            `json:"harms"`         // other than kills
	Settled    int            `json:"kills_settled"` // of a server that had answered all it had read
	Broken     map[Rule]int   `json:"broken"`        // how often each rule was broken
	Examples   []string       `json:"examples"`      // the first few, in words
}

// Pass reports whether every rule held.
func (v *Verdict) Pass() bool { return len(v.Broken) == 0 }

// UnknownPerKill is the price of a kill, or other harm, in answers nobody can
// vouch for.
func (v *Verdict) UnknownPerKill() float64 {
	if v.Kills+v.Harms == 0 {
		return 0
	}
	return float64(v.Unknown) / float64(v.Kills+v.Harms)
}

const mostExamples = 12

func (v *Verdict) broke(r Rule, format string, args ...any) {
	v.Broken[r]++
	if v.Broken[r] <= 3 && len(v.Examples) < mostExamples {
		v.Examples = append(v.Examples, string(r)+": "+fmt.Sprintf(format, args...))
	}
}

// call is one call and the first answer it got.
type call struct {
	Event
	order   int
	answers int
	answer  Event
}

// Check holds the history against the ledger.
func Check(events []Event, ledger []Effect, limits Limits) *Verdict {
	v := &Verdict{Failed: map[string]int{}, Broken: map[Rule]int{}, Effects: len(ledger)}
	calls, settled := v.tell(events)
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
	if harms := v.Kills + v.Harms; v.UnknownPerKill() > limits.UnknownPerKill || harms == 0 && v.Unknown > 0 {
		v.broke(TooUnknown, "%d after %d kills, allowed are %.2f per kill", v.Unknown, harms, limits.UnknownPerKill)
	}
	if failed := v.failed(); failed > limits.Failed {
		v.broke(GaveUp, "%d calls, allowed are %d: %v", failed, limits.Failed, v.Failed)
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

// tell goes through the story once, in order: an answer that comes before its
// question is an answer to nothing.
func (v *Verdict) tell(events []Event) (calls []*call, settled map[int]bool) {
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
		case Harm:
			v.Harms++
		default:
			v.Answers++
			c := byID[e.ID]
			if c == nil {
				v.broke(NeverAsked, "an answer with id %s", e.ID)
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

// readLedger returns who did what: key to process, of the first time.
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
			v.broke(OutOfOrder, "%s was asked for before the effect it follows", e.Key)
		}
		last = max(last, c.order)
	}
	return done
}

// readRegister takes an idempotent effect: newest is the last call that set
// the same. Whoever was told that nobody knows must expect it at any time.
func (v *Verdict) readRegister(c *call, newest map[string]int) {
	if c.order < newest[c.Register] && c.answer.Kind == OK {
		v.broke(Reverted, "%s came after a later call had set it", c.Key)
	}
	newest[c.Register] = max(newest[c.Register], c.order)
}

// judge compares what one caller was told with what was done by process pid, 0
// if nothing was.
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
			v.broke(FalseDenial, "%s: %s, but process %d did it", c.Key, c.answer.Code, pid)
		}
	case Unknown:
		v.Unknown++
		if happened && settled[pid] {
			v.broke(ThrownAway, "%s was done and answered by process %d", c.Key, pid)
		}
	case Foreign:
		v.broke(ForeignAnswer, "%.60s: %.200s", c.Key, c.answer.Code)
	}
}

// Rules lists the broken ones, sorted.
func (v *Verdict) Rules() []Rule {
	var rules []Rule
	for r := range v.Broken {
		rules = append(rules, r)
	}
	slices.Sort(rules)
	return rules
}
