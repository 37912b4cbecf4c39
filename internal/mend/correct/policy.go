package correct

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// Policy is what the user configured about corrections, for a server or for one tool. The zero
// value corrects calls if there is a model.
type Policy struct {
	Off         bool          // enabled: false
	OfferOnly   bool          // max_retries: 0; a correction is shown to the caller and never sent, and nothing is sent again
	NoModel     bool          // use_model: false
	Model       string        // the name of a model, as in GAUZE_MODEL; empty: the configured one
	Timeout     time.Duration // for the question, including retries; 0: the model's own
	Correctable []Kind        // correctable_errors; nil: as Classify says, and what is transient
	Closed      bool          // open: false; values of the model's own are shown to the caller and never sent

	given []string // keys that were set, also to their default
}

// policyKeys are the keys of a policy.
var policyKeys = []struct {
	name string
	set  func(p *Policy, value string) error
}{
	{"enabled", negated(func(p *Policy) *bool { return &p.Off })},
	{"max_retries", (*Policy).setMaxRetries},
	{"use_model", negated(func(p *Policy) *bool { return &p.NoModel })},
	{"model", func(p *Policy, value string) error { p.Model = value; return nil }},
	{"timeout", (*Policy).setTimeout},
	{"correctable_errors", (*Policy).setCorrectable},
	{"open", negated(func(p *Policy) *bool { return &p.Closed })},
}

// Keys returns the names of the keys that Set accepts.
func Keys() []string {
	names := make([]string, len(policyKeys))
	for i, key := range policyKeys {
		names[i] = key.name
	}
	return names
}

// Set sets one key to a value as the user wrote it. A hyphen and an underscore are the same. The
// kinds of correctable_errors are separated by commas, spaces, plus signs or vertical bars.
func (p *Policy) Set(key, value string) error {
	name := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(key)), "-", "_")
	if slices.Contains(Keys(), name) {
		return p.setAs(name, name, value)
	}
	hint := "must be one of " + strings.Join(Keys(), ", ")
	if near := plaintext.Nearest(name, Keys()); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %q?", near[0])
	}
	return fmt.Errorf("unknown key %q: %s", key, hint)
}

// setAs sets one key. In an error it is called as the user knows it.
func (p *Policy) setAs(called, name, value string) error {
	at := slices.Index(Keys(), name)
	if err := policyKeys[at].set(p, strings.TrimSpace(value)); err != nil {
		return fmt.Errorf("invalid %s %q: %w", called, value, err)
	}
	p.given = append(slices.Clip(p.given), name)
	return nil
}

// Over returns the policy of a tool on top of that of its server: what p sets counts, and the rest
// comes from base.
func (p Policy) Over(base Policy) Policy {
	either := func(key string, own, inherited bool) bool { return own || inherited && !slices.Contains(p.given, key) }
	p.Off = either("enabled", p.Off, base.Off)
	p.OfferOnly = either("max_retries", p.OfferOnly, base.OfferOnly)
	p.NoModel = either("use_model", p.NoModel, base.NoModel)
	p.Closed = either("open", p.Closed, base.Closed)
	if !slices.Contains(p.given, "model") {
		p.Model = cmp.Or(p.Model, base.Model)
	}
	p.Timeout = cmp.Or(p.Timeout, base.Timeout)
	if p.Correctable == nil {
		p.Correctable = base.Correctable
	}
	p.given = slices.Concat(p.given, base.given)
	return p
}

func negated(field func(*Policy) *bool) func(*Policy, string) error {
	return func(p *Policy, value string) error {
		on, err := parseBool(value)
		*field(p) = err == nil && !on
		return err
	}
}

func parseBool(value string) (bool, error) {
	switch strings.ToLower(value) {
	case "true", "yes", "on":
		return true, nil
	case "false", "no", "off":
		return false, nil
	}
	return false, fmt.Errorf("must be true or false")
}

func (p *Policy) setMaxRetries(value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > 1 {
		return fmt.Errorf("must be 0 or 1, because a corrected call is sent at most once")
	}
	p.OfferOnly = n == 0
	return nil
}

func (p *Policy) setTimeout(value string) error {
	timeout, err := time.ParseDuration(value)
	if err != nil || timeout <= 0 {
		return fmt.Errorf("must be a duration above 0, such as 20s")
	}
	p.Timeout = timeout
	return nil
}

func (p *Policy) setCorrectable(value string) error {
	kinds := []Kind{}
	for _, name := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(",+| \t\n[]", r) }) {
		kind := Kind(strings.ReplaceAll(strings.ToLower(name), "_", "-"))
		switch {
		case !slices.Contains(Kinds(), kind):
			return fmt.Errorf("unknown kind %q: must be one of %s", name, joined(allowed()))
		case kind.never():
			return fmt.Errorf("%s is never correctable: must be one of %s", kind, joined(allowed()))
		}
		kinds = append(kinds, kind)
	}
	p.Correctable = kinds
	return nil
}

// allowed returns the kinds that a policy may declare correctable.
func allowed() []Kind { return slices.DeleteFunc(Kinds(), Kind.never) }

func joined(kinds []Kind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = string(kind)
	}
	return strings.Join(names, ", ")
}

// Allows reports whether the policy lets a rejected call be corrected. No policy can make a kind
// correctable that never is. What is transient is not corrected but repeated; see Repeats.
func (p Policy) Allows(c Class) bool {
	switch {
	case p.Off || c.Kind.never() || c.Kind.transient():
		return false
	case p.Correctable != nil:
		return p.lists(c.Kind)
	}
	return c.Correctable
}

// lists reports whether the policy does not exclude a kind.
func (p Policy) lists(k Kind) bool { return p.Correctable == nil || slices.Contains(p.Correctable, k) }
