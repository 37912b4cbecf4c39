package faultyserver

import (
	"fmt"
	"strings"
	"sync"
)

// Tools with an effect, and tools that die before or after it.

func (c *call) append() {
	c.execute("append", c.args.Key, c.args.Value)
	if c.wait(millis(c.args.MS)) {
		c.say("appended " + c.args.Key)
	}
}

func (c *call) set() {
	c.s.store.set(c.args.Key, c.args.Value, func() { c.execute("set", c.args.Key, c.args.Value) })
	if c.wait(millis(c.args.MS)) {
		c.say(c.args.Key + " is " + c.args.Value)
	}
}

func (c *call) get() {
	value, ok, err := c.s.store.get(c.args.Key)
	switch {
	case err != nil:
		c.fail("ledger: " + err.Error())
	case !ok:
		c.fail("no such key: " + c.args.Key)
	default:
		c.say(value)
	}
}

// store holds the values that set wrote. A new generation reads them from the ledger when first
// asked.
type store struct {
	path string
	mu   sync.Mutex
	all  map[string]string
}

// set runs the effect and stores the value together, so that the ledger has the same last value as
// the store.
func (st *store) set(key, value string, effect func()) {
	st.mu.Lock()
	defer st.mu.Unlock()
	effect()
	if st.all != nil {
		st.all[key] = value
	} else if st.path == "" {
		st.all = map[string]string{key: value}
	}
}

func (st *store) get(key string) (value string, ok bool, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.all == nil {
		all := map[string]string{}
		if st.path != "" {
			entries, _, err := ReadLedger(st.path)
			if err != nil {
				return "", false, err
			}
			for _, e := range entries {
				if e.Op == "set" {
					all[e.Key] = e.Value
				}
			}
		}
		st.all = all
	}
	value, ok = st.all[key]
	return value, ok, nil
}

// die executes its effect and dies, in the requested order. With times it dies only that often over
// all generations (counted in -state, per key) and then responds normally, so that a replay can
// succeed.
func (c *call) die() {
	when := c.args.When
	if when == "" {
		when = "before-effect"
	}
	if !c.timesLeft("die " + quote(c.args.Key)) {
		when = "never"
	}
	if c.args.Signal == "" && c.args.Code == nil {
		c.args.Signal = "KILL"
	}
	if c.args.Signal != "" {
		if err := checkSignal(c.args.Signal); err != nil {
			c.fail(err.Error())
			return
		}
	}
	dieNow := func() {
		code := 0
		if c.args.Code != nil {
			code = *c.args.Code
		}
		end(c.args.Signal, code)
	}
	result := textResult("survived "+c.args.Key, false)
	line := c.envelope(string(c.id), result) + "\n"
	switch when {
	case "before-effect":
		dieNow()
	case "after-effect":
		c.execute("die", c.args.Key, when)
		dieNow()
	case "after-answer":
		c.execute("die", c.args.Key, when)
		c.s.writeAndEnd(line, dieNow)
	case "before-newline":
		c.execute("die", c.args.Key, when)
		c.s.writeAndEnd(strings.TrimSuffix(line, "\n"), dieNow)
	case "mid-answer":
		c.execute("die", c.args.Key, when)
		c.s.writeAndEnd(line[:len(line)/2], dieNow)
	case "never":
		c.execute("die", c.args.Key, when)
		c.answer(result)
	default:
		c.fail(fmt.Sprintf("invalid when %q: must be before-effect, after-effect, after-answer, before-newline or mid-answer", when))
	}
}
