package repair

import (
	"bytes"
	"maps"
	"slices"

	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema/kind"
)

// Verdict is the result of checking the arguments of a call.
type Verdict int

const (
	Valid      Verdict = iota // the arguments fit and are not changed
	Repaired                  // the arguments fit after the changes in the receipts
	Refused                   // the arguments do not fit and cannot be repaired
	Unverified                // the arguments could not be checked and are not changed
)

func (v Verdict) String() string {
	return [...]string{"valid", "repaired", "refused", "unverified"}[v]
}

// Tier limits the repairs of a call.
type Tier int

const (
	Off    Tier = iota // repair nothing
	Silent             // repairs with a single reading, for every tool
	Told               // also repairs that the model should know about, for safe tools
	Shown              // changes that are only shown to the caller, never sent
)

// Options is what Schema.Arguments has to know besides the arguments.
type Options struct {
	Tool string // its name, because models wrap arguments in it
	Tier Tier   // the repairs that are allowed

	// Lenient is what the server is not known to enforce. It may accept such arguments as they are,
	// so only harmless repairs are made there.
	Lenient Aspect
}

// Outcome is the result of Schema.Arguments.
type Outcome struct {
	Verdict   Verdict
	Arguments []byte   // the arguments to send; the original bytes if nothing was changed
	Changes   []Change // in the order they were made
	Notes     []string // likely mistakes in arguments that fit
	Reason    string   // why the arguments could not be checked completely
	unchecked obstacle // the same for ModeStrict, which refuses them; zero if they were checked

	// The rest is set for refused arguments, for Explain.
	sent       any
	rank       map[string]int
	closest    any // the value after as much repair as possible
	violations []violation
	unreadable string // why the text cannot be read as JSON
	text       string // the arguments as they were written
}

// Arguments checks the arguments of one call and repairs them if it can. raw is JSON, or text that
// a model wrote as JSON; nil if the call has no arguments.
func (s *Schema) Arguments(raw []byte, o Options) Outcome {
	if s.Ready().plain.fits(raw, false) {
		return Outcome{Arguments: raw}
	}
	return s.checked(raw, o)
}

// checked is Arguments for arguments that the fast path does not accept.
func (s *Schema) checked(raw []byte, o Options) Outcome {
	out := Outcome{Arguments: raw}
	if s.why != "" {
		return out.unverified(s.why, otherTool)
	}
	doc, err := decode(string(raw))
	if _, ok := err.(limitError); ok {
		return out.unverified(err.Error(), sendLess)
	}
	if unsure := doc.unique(err); unsure != nil && err == nil {
		return out.unverified(unsure.Error()+", and servers differ in which value they use", "Send every key only once.")
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		doc, err = document{value: absent{}}, nil
	}
	if err != nil {
		return s.text(string(raw), o)
	}
	return s.judge(out, doc, nil, o)
}

// text is Arguments for text that is not JSON.
func (s *Schema) text(text string, o Options) Outcome {
	doc, err := decodeLoosely(text)
	if err != nil && o.Tier >= Told {
		if damaged, failed := decodeDamaged(text, slices.Sorted(maps.Keys(s.declared))); failed == nil && isObject(damaged.value) {
			doc, err = damaged, nil
		}
	}
	if _, ok := err.(limitError); ok {
		return Outcome{Arguments: []byte(text)}.unverified(err.Error(), sendLess)
	}
	if err := doc.unique(err); err != nil {
		return Outcome{Verdict: Refused, Arguments: []byte(text), unreadable: err.Error(), text: text}
	}
	read := Change{Path: Path(nil), Before: quoted(text), Rule: RuleReadText, Tier: doc.tier(Silent)}
	if read.Tier > o.Tier {
		return Outcome{Verdict: Refused, Arguments: []byte(text), unreadable: "the JSON is incomplete", text: text}
	}
	return s.judge(Outcome{Arguments: []byte(text)}, doc, []Change{read}, o)
}

// absent is the value of arguments or a field that is not there.
type absent struct{}

// judge validates the arguments, repairs a copy, validates it again and compares the two.
func (s *Schema) judge(out Outcome, doc document, before []Change, o Options) Outcome {
	m := editor{schema: s, whole: s, options: o, rank: doc.rank, changes: before}
	if why := s.notChecked(); why != "" {
		out.unchecked = obstacle{why, otherTool}
	}
	value := doc.value
	if _, none := value.(absent); none || value == nil && !s.acceptsNull() {
		if o.Tier > Off {
			m.receipt(nil, value, map[string]any{}, RuleNoArguments, Silent)
		}
		value = map[string]any{}
	}
	checked, mended := false, false
	why := s.session(func() {
		out.violations = s.violations(s.root, value)
		checked = true
		if o.Lenient&Formats != 0 && onlyFormats(out.violations) {
			return // the server may well accept them
		}
		if len(out.violations) > 0 && o.Tier > Off && weigh(out.violations) <= maxViolations {
			// A change that must be told is not made where silent ones are enough.
			mended = o.Tier > Silent && m.attempt(Silent, value, out.violations) || m.attempt(o.Tier, value, out.violations)
		}
	})
	switch {
	case !checked:
		return out.unverified(why, sendLess)
	case onlyOverlaps(out.violations, value): // they were checked
		out.Verdict, out.Reason = Unverified, "the arguments match more than one branch of a oneOf, but many servers accept this"
	case len(out.violations) == 0 && len(m.changes) == 0:
		out.Reason = s.notChecked()
		out.Notes = s.unknownKeys(value)
		if out.Reason != "" {
			out.Verdict = Unverified
		}
	case len(out.violations) == 0 || mended:
		if !mended {
			m.value = value
		}
		out.Verdict, out.Changes, out.violations = Repaired, m.changes, nil
		out.Arguments = encode(m.value, m.rank)
		out.Reason = s.notChecked()
		out.settle()
	default:
		out.Verdict = Refused
		out.sent, out.rank, out.closest = value, m.rank, m.value
		if m.value == nil {
			out.closest = value
		}
	}
	return out
}

// acceptsNull reports whether the arguments of a call may be null, which is rare.
func (s *Schema) acceptsNull() bool {
	takes := false
	s.session(func() { takes = s.root.Validate(nil) == nil })
	return takes
}

// settle completes the receipt of text that was read as JSON with the final value.
func (out *Outcome) settle() {
	for i := range out.Changes {
		if out.Changes[i].Rule == RuleReadText && out.Changes[i].After == nil {
			out.Changes[i].After = out.Arguments
		}
	}
}

// onlyOverlaps reports whether the only violations are scalars that match more than one branch of a
// oneOf, as an integer matches both integer and number.
func onlyOverlaps(list []violation, value any) bool {
	for _, v := range list {
		if k, ok := v.kind.(*kind.OneOf); !ok || len(k.Subschemas) < 2 {
			return false
		}
		if at := lookup(value, v.path); isContainer(at) {
			return false
		}
	}
	return len(list) > 0
}

// onlyFormats reports whether the only violations are string formats, which many servers do not
// check.
func (out *Outcome) onlyFormats() bool { return onlyFormats(out.violations) }

func onlyFormats(list []violation) bool {
	for _, v := range list {
		_, ok := v.kind.(*kind.Format)
		if !ok && !slices.ContainsFunc(v.branches, onlyFormats) {
			return false
		}
	}
	return len(list) > 0
}

func (out Outcome) unverified(why, fix string) Outcome {
	out.Verdict, out.Reason, out.unchecked = Unverified, why, obstacle{why, fix}
	return out
}

func (s *Schema) notChecked() string {
	if len(s.partial) == 0 {
		return ""
	}
	return s.partial[0]
}
