package faultyserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const faultGrammar = `
Faults: -NAME always applies; -NAME=COUNT applies the first COUNT times. Options follow as key=value,
separated by commas: -exit-after=1,after=100ms,code=3. The key of the main option may be omitted:
-stray=banner+ansi. skip=N skips the first N times. The -state file keeps the counts across all
generations.
`

// armed is a fault that a flag has armed.
type armed struct {
	fault   *fault
	on      bool
	count   int // 0 for always
	skip    int
	options map[string]string
}

// String implements flag.Value.
func (a *armed) String() string { return "" }

// IsBoolFlag allows -hang without a value.
func (a *armed) IsBoolFlag() bool { return true }

// Set parses "COUNT,key=value,...", the syntax of every fault.
func (a *armed) Set(text string) error {
	a.on = text != "false"
	if text == "true" || text == "false" || text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		key, value, keyed := strings.Cut(part, "=")
		if n, err := strconv.Atoi(part); err == nil && !keyed {
			if n < 1 {
				return fmt.Errorf("invalid count %d: must be at least 1", n)
			}
			a.count = n
			continue
		}
		if !keyed {
			if a.fault.bare == "" {
				return fmt.Errorf("invalid %q: must be a count%s", part, a.fault.allowed())
			}
			key, value = a.fault.bare, part
		}
		if err := a.setOption(key, value); err != nil {
			return err
		}
	}
	return nil
}

func (a *armed) setOption(key, value string) error {
	if key == "skip" {
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return fmt.Errorf("invalid skip %q: must be at least 0", value)
		}
		a.skip = n
		return nil
	}
	if !slices.Contains(a.fault.options, key) {
		return fmt.Errorf("unknown option %q: expected a count%s", key, a.fault.allowed())
	}
	if err := a.checkOption(key, value); err != nil {
		return err
	}
	if a.options == nil {
		a.options = map[string]string{}
	}
	a.options[key] = value
	return nil
}

// checkOption checks the value of an option. A key has the same type in all faults.
func (a *armed) checkOption(key, value string) error {
	switch key {
	case "code":
		if _, err := strconv.Atoi(value); err != nil {
			return fmt.Errorf("invalid code %q: must be an integer", value)
		}
	case "n":
		if n, err := strconv.Atoi(value); err != nil || n < 0 {
			return fmt.Errorf("invalid n %q: must be at least 0", value)
		}
	case "after":
		if d, err := time.ParseDuration(value); err != nil || d < 0 {
			return fmt.Errorf("invalid after %q: must be a duration such as 100ms or 2s", value)
		}
	case "setsid":
		if _, err := strconv.ParseBool(value); err != nil {
			return fmt.Errorf("invalid setsid %q: must be true or false", value)
		}
	case "at":
		if value != "start" && value != "each" {
			return fmt.Errorf("invalid at %q: must be start or each", value)
		}
	case "signal":
		return checkSignal(value)
	case "kind":
		for kind := range strings.SplitSeq(value, "+") {
			if !slices.Contains(a.fault.kinds, kind) {
				return fmt.Errorf("invalid kind %q: must be one or more of %s, joined with +", kind, strings.Join(a.fault.kinds, ", "))
			}
		}
	}
	return nil
}

// allowed lists the options for help and error messages.
func (f *fault) allowed() string {
	text := ", skip="
	for _, o := range f.options {
		text += ", " + o + "="
		if o == "kind" {
			text += strings.Join(f.kinds, "|")
		}
	}
	return " [" + strings.TrimPrefix(text, ", ") + "]"
}

func (a *armed) limited() bool { return a.count > 0 || a.skip > 0 }

// fires counts the occasion and reports whether the fault applies to it.
func (a *armed) fires(m *memory) bool {
	if !a.on {
		return false
	}
	if !a.limited() {
		return true
	}
	k := m.occasion(a.fault.name)
	return k > a.skip && (a.count == 0 || k <= a.skip+a.count)
}

// The getters rely on Set having checked the value. A missing option is the zero value.

func (a *armed) text(key string) string {
	if v, ok := a.options[key]; ok {
		return v
	}
	return a.fault.defaults[key]
}

func (a *armed) has(key string) bool { return a.text(key) != "" }

func (a *armed) number(key string) int {
	n, _ := strconv.Atoi(a.text(key))
	return n
}

func (a *armed) duration(key string) time.Duration {
	d, _ := time.ParseDuration(a.text(key))
	return d
}

func (a *armed) words(key string) []string {
	if t := a.text(key); t != "" {
		return strings.Split(t, "+")
	}
	return nil
}
