package repair

import (
	"bytes"
	"errors"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Verdict is what became of a call's arguments.
type Verdict int

const (
	Valid      Verdict = iota // they fit as they are
	Repaired                  // they fit now, and the receipts say what was changed
	Refused                   // they do not fit, and the issues say why
	Unverified                // they could not be checked, and go on as they are
)

func (v Verdict) String() string {
	return [...]string{"valid", "repaired", "refused", "unverified"}[v]
}

// Tier is how far repair may go.
type Tier int

const (
	Off    Tier = iota // nothing is changed
	Silent             // what has one reading only: for every tool
	Told               // what the caller should hear of: for tools that do no harm
)

// Options is what is known of a call besides its arguments.
type Options struct {
	Tool string // its name: models wrap arguments in it
	Tier Tier   // how far repair may go

	// Lenient is what the server is not known to enforce of its schema. There, only what cannot
	// hurt is repaired: the server may accept the arguments as they came.
	Lenient Aspect
}

// Outcome is the judgement over the arguments of one call.
type Outcome struct {
	Verdict   Verdict
	Arguments []byte   // what to send: the very bytes that came, if nothing was changed
	Changes   []Change // receipts, in the order the changes were made
	Notes     []string // what a caller may want to know although it validates
	Reason    string   // why it could not be checked, or not in full

	// of a refused call, for Explain
	said       any
	rank       map[string]int
	near       any // as far as repair came
	nearBy     []Change
	violations []violation
	unreadable string // why the text is no JSON
	text       string // it
}

// Arguments judges the arguments of one call and repairs them if it can. raw
// is the JSON that came; nil if the call had none.
func (s *Schema) Arguments(raw []byte, o Options) Outcome {
	if s.Ready().plain.fits(raw) {
		return Outcome{Arguments: raw}
	}
	return s.checked(raw, o)
}

// checked is Arguments for what does not plainly fit.
func (s *Schema) checked(raw []byte, o Options) Outcome {
	out := Outcome{Arguments: raw}
	if s.why != "" {
		return out.unverified(s.why)
	}
	doc, err := decode(string(raw))
	if _, ok := err.(tooMuch); ok {
		return out.unverified(err.Error())
	}
	if err == nil && doc.twice != "" {
		return out.unverified("the key " + bounded(doc.twice, 60) + " is there twice, and servers differ in which one they take")
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		doc, err = document{value: absent{}}, nil
	}
	if err != nil {
		return s.text(string(raw), o)
	}
	return s.judge(out, doc, nil, o)
}

func (s *Schema) text(text string, o Options) Outcome {
	doc, err := decodeLoosely(text)
	if _, ok := err.(tooMuch); ok {
		return Outcome{Arguments: []byte(text)}.unverified(err.Error())
	}
	if err == nil && doc.twice != "" {
		err = errors.New("the key " + bounded(doc.twice, 60) + " is there twice")
	}
	if err != nil {
		return Outcome{Verdict: Refused, Arguments: []byte(text), unreadable: err.Error(), text: text}
	}
	read := Change{Path: Path(nil), Before: quoted(text), Rule: RuleReadText, Tier: Silent}
	if slices.Contains(doc.loose, missingEnd) {
		read.Tier = Told
	}
	if read.Tier > o.Tier {
		return Outcome{Verdict: Refused, Arguments: []byte(text), unreadable: "the JSON ends in the middle", text: text}
	}
	return s.judge(Outcome{Arguments: []byte(text)}, doc, []Change{read}, o)
}

// absent stands for arguments that did not come at all.
type absent struct{}

// judge is the story: validate, mend a copy, validate, compare.
func (s *Schema) judge(out Outcome, doc document, before []Change, o Options) Outcome {
	m := mender{schema: s, options: o, rank: doc.rank, changes: before}
	value := doc.value
	if _, none := value.(absent); none || value == nil && !s.takesNull() {
		if o.Tier > Off {
			m.supply(value)
		}
		value = map[string]any{}
	}
	checked, mended := false, false
	why := s.session(func() {
		out.violations = s.violations(s.root, value)
		checked = true
		if len(out.violations) > 0 && o.Tier > Off && weigh(out.violations) <= mostComplaints {
			m.value = clone(value)
			mended = m.mend(out.violations) && faithful(value, m.value, m.granted) && o.allows(m.changes)
		}
	})
	switch {
	case !checked:
		return out.unverified(why)
	case onlyOverlaps(out.violations, value):
		return out.unverified("it fits more than one form of a oneOf, which many servers take")
	case len(out.violations) == 0 && len(m.changes) == 0:
		out.Reason = s.notChecked()
		out.Notes = s.unknownKeys(value)
		if out.Reason != "" {
			out.Verdict = Unverified
		}
	case len(out.violations) == 0:
		out.Verdict, out.Changes = Repaired, m.changes
		out.Arguments = encode(value, doc.rank)
		out.Reason = s.notChecked()
		out.settle()
	case mended:
		out.Verdict, out.Changes, out.violations = Repaired, m.changes, nil
		out.Arguments = encode(m.value, doc.rank)
		out.Reason = s.notChecked()
		out.settle()
	default:
		out.Verdict = Refused
		out.said, out.rank, out.near, out.nearBy = value, doc.rank, m.value, m.changes
		if m.value == nil {
			out.near = value
		}
	}
	return out
}

// takesNull reports whether a call may have null for arguments; hardly any.
func (s *Schema) takesNull() bool {
	takes := false
	s.session(func() { takes = s.root.Validate(nil) == nil })
	return takes
}

// settle completes the receipt of a text that was read: what it was read as
// is known only now.
func (out *Outcome) settle() {
	for i := range out.Changes {
		if out.Changes[i].Rule == RuleReadText && out.Changes[i].After == nil {
			out.Changes[i].After = out.Arguments
		}
	}
}

// onlyOverlaps reports whether all that is wrong is that a scalar fits more
// than one branch of a oneOf, as an integer does where numbers are one, too.
func onlyOverlaps(list []violation, value any) bool {
	for _, v := range list {
		if k, ok := v.kind.(*kind.OneOf); !ok || len(k.Subschemas) < 2 {
			return false
		}
		if at := lookup(value, v.path); isObject(at) || isList(at) {
			return false
		}
	}
	return len(list) > 0
}

// onlyFormats reports whether the only violations are string formats. Many servers do not check
// formats, or accept more than the format's definition.
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

func (out Outcome) unverified(why string) Outcome {
	out.Verdict, out.Reason = Unverified, why
	return out
}

func (s *Schema) notChecked() string {
	if len(s.partial) == 0 {
		return ""
	}
	return s.partial[0]
}
