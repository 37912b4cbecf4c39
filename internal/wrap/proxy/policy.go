package proxy

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/mend/correct"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
)

// Policy is what the user configured for one tool. It overrides the server's hints.
type Policy struct {
	Replay      string        // never, safe or idempotent; empty: by the tool's hints
	Timeout     time.Duration // without progress; 0: the session's
	MaxInFlight int           // 0: no limit
	Repair      string        // off, silent, report or strict; empty: repair, and report anything beyond spelling
	Correct     correct.Policy
}

// AllTools is the name whose policy about corrections applies to all tools. What a tool's own policy
// sets takes precedence, key by key.
const AllTools = "*"

// correctKey begins the keys of the policy about corrections.
const correctKey = "correct."

// ParsePolicy parses NAME:replay=safe,timeout=5m,max-in-flight=2,repair=off,correct.enabled=false.
func ParsePolicy(text string) (tool string, p Policy, err error) {
	tool, settings, ok := strings.Cut(text, ":")
	if !ok || tool == "" {
		return "", p, fmt.Errorf("invalid tool policy %q: must be NAME:replay=never|safe|idempotent,timeout=DURATION,max-in-flight=N,repair=off|silent|report|strict,correct.KEY=VALUE", text)
	}
	for setting := range strings.SplitSeq(settings, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(setting), "=")
		if err := p.SetFor(tool, key, value); err != nil {
			return "", p, fmt.Errorf("invalid tool policy %q: %w", text, err)
		}
	}
	return tool, p, nil
}

// SetFor sets one setting of the policy of a tool, or of AllTools, by its name.
func (p *Policy) SetFor(tool, key, value string) error {
	if tool == AllTools && !strings.HasPrefix(strings.ToLower(key), correctKey) {
		return fmt.Errorf("%q can only be set for one tool; for all tools (%q), set %sKEY, or use the flag with the same name", key, AllTools, correctKey)
	}
	return p.Set(key, value)
}

// Set sets one setting by its name.
func (p *Policy) Set(key, value string) (err error) {
	if name, ok := strings.CutPrefix(strings.ToLower(key), correctKey); ok {
		return p.Correct.Set(name, value)
	}
	switch strings.ReplaceAll(strings.ToLower(key), "_", "-") {
	case "replay":
		switch value {
		case "never", "safe", "idempotent":
			p.Replay = value
		default:
			return fmt.Errorf("invalid replay %q: must be never, safe or idempotent", value)
		}
	case "timeout":
		if p.Timeout, err = time.ParseDuration(value); err != nil || p.Timeout <= 0 {
			return fmt.Errorf("invalid timeout %q: must be a duration such as 90s or 5m", value)
		}
	case "max-in-flight":
		if p.MaxInFlight, err = strconv.Atoi(value); err != nil || p.MaxInFlight < 1 {
			return fmt.Errorf("invalid max-in-flight %q: must be a whole number of at least 1", value)
		}
	case "repair":
		if err := CheckRepair(value); err != nil {
			return err
		}
		p.Repair = value
	default:
		return fmt.Errorf("unknown setting %q: must be replay, timeout, max-in-flight, repair or correct.KEY", key)
	}
	return nil
}

// CheckRepair reports whether a repair mode has this name.
func CheckRepair(name string) error {
	_, err := repair.ParseMode(name)
	return err
}

// repairMode returns the mode for the tool, or else the one for all tools.
func (p Policy) repairMode(all string) string {
	if p.Repair != "" {
		return p.Repair
	}
	return all
}

// kernel returns what the kernel has to know of the policy, given the repair mode of all tools.
func (p Policy) kernel(repairMode string) kernel.Policy {
	return kernel.Policy{Replay: p.Replay, Timeout: p.Timeout, MaxInFlight: p.MaxInFlight, Strict: repair.Mode(p.repairMode(repairMode)) == repair.ModeStrict}
}

// shown returns the policy as the user would write it, without what is about corrections.
func (p Policy) shown() string {
	var all []string
	set := func(isSet bool, key string, value any) {
		if isSet {
			all = append(all, fmt.Sprintf("%s=%v", key, value))
		}
	}
	set(p.Replay != "", "replay", p.Replay)
	set(p.Timeout > 0, "timeout", p.Timeout)
	set(p.MaxInFlight > 0, "max-in-flight", p.MaxInFlight)
	set(p.Repair != "", "repair", p.Repair)
	return strings.Join(all, ", ")
}
