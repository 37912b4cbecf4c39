package repair

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
)

// Errors of Schema.Propose.
var (
	ErrUnfit     = errors.New("the model's arguments do not match the schema")
	ErrInvented  = errors.New("the model's arguments contain a value that the caller did not send")
	ErrUnchanged = errors.New("the model returned the same arguments")
)

// Proposal is a set of arguments that matches the schema. What the caller sent is kept where it was
// valid; what is neither the caller's nor the schema's is the model's own.
type Proposal struct {
	Arguments []byte
	// Changes is what differs from the arguments that were sent, secrets masked. Each has the Tier
	// of the whole proposal.
	Changes []Change
	// Tier says how certain it is that the proposal means what the caller sent: Silent for changes
	// of type and spelling, Told for readings that have no alternative, Shown if only the caller can
	// tell, or if a value is the model's own.
	Tier    Tier
	Touched bool     // a value that was valid at its place was changed or left out, or a series was renamed
	Opened  bool     // a value is the model's own; its Change has RuleOwn
	Doubt   string   // why a proposal that is Shown must not be sent even to a tool that only reads
	Dropped []string // fields with a value that the proposal does not contain
	Lost    []Lost   // the values of those that are valid and were not rejected
	Shown   []byte   // the arguments with secrets masked
}

// ProposeOptions is what Schema.Propose has to know besides the arguments.
type ProposeOptions struct {
	Tool string // its name, which models repeat next to the arguments
	Said string // the server's words, if it received the call
	// Goal and About are what else the model read: what the caller wants, and the tool's description.
	Goal, About string
}

// Propose is the closed-world gate: it compares arguments that a model proposed with those that the
// caller sent. Every value must have been sent, be declared by the schema for its place, or be a
// change of type or form of a sent one, and no sent value may be used twice or change places with
// another. Any other value is the model's own, which own.go judges.
func (s *Schema) Propose(sent, proposed []byte, o ProposeOptions) (p Proposal, err error) {
	s.Ready()
	if s.why != "" {
		return p, fmt.Errorf("%w: %s", ErrUnfit, s.why)
	}
	from, text, err := s.decodeSent(sent)
	if err != nil {
		return p, fmt.Errorf("%w: the arguments that were sent cannot be compared: %w", ErrInvented, err)
	}
	to, err := decodeOnce(string(proposed))
	if err == nil && !isObject(to.value) {
		err = errors.New("they are not an object")
	}
	if err != nil {
		return p, fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	g := &closedGate{schema: s, options: o, sent: from.value, proposed: to.value, text: text}
	if why := s.session(func() {
		if err = g.readText(); err == nil {
			err = g.judge()
		}
	}); why != "" {
		return p, fmt.Errorf("%w: %s", ErrUnfit, why)
	}
	if err != nil {
		return p, err
	}
	return g.proposal(from.rank), nil
}

// decodeSent reads the arguments of the caller as the rules would. text is what they say if they are
// not JSON, without a document.
func (s *Schema) decodeSent(raw []byte) (doc document, text string, err error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return document{value: map[string]any{}, rank: map[string]int{}}, "", nil
	}
	doc, err = decode(string(raw))
	if err != nil {
		if doc, err = decodeLoosely(string(raw)); err != nil {
			doc, err = decodeDamaged(string(raw), slices.Sorted(maps.Keys(s.declared)))
		}
	}
	var limit limitError
	switch inner, isText := doc.value.(string); {
	case errors.As(err, &limit):
		return doc, "", err
	case err != nil && doc.twice == "":
		return document{}, string(raw), nil
	case err == nil && isText && looksLikeContainer(inner):
		if _, ok := opened(inner); !ok {
			return document{}, inner, nil
		}
	}
	return doc, "", doc.unique(err)
}

// closedGate compares a proposal with what was sent. It fails closed: what it cannot trace to a
// sent value or to the schema is invented.
type closedGate struct {
	schema         *Schema
	options        ProposeOptions
	sent, proposed any
	text           string // what was sent, if it is not JSON

	sources  []*source
	targets  []*target
	rejected [][]string // places that were rejected or are missing
	violated bool       // what was sent does not match the schema
	tier     Tier
	touched  bool
	altered  bool       // a valid value was changed or left out
	owned    [][]string // places of values that are the model's own
	doubt    string     // see Proposal
	dropped  []string
	lost     [][]string // places of dropped values that are valid, and not what was rejected
	mover    string     // see moved
	known    *masker    // of what was sent
	origin   origin
	usedKeys []string // sent keys that are values in the proposal
}

// source is a scalar that the caller sent.
type source struct {
	path   []string
	value  any
	inner  []*source // the scalars of a string that contains JSON
	used   bool
	pinned bool // valid at a place that the schema declares
	valid  bool // like pinned, also inside a string that contains JSON
	empty  bool // null, an empty string or a word for null
}

// target is a scalar of the proposal.
type target struct {
	path  []string
	value any
	from  []*source
	done  bool
}

func (g *closedGate) judge() error {
	g.origin = origin{sent: g.sent, options: g.options}
	g.strip(g.proposed, nil)
	switch list := g.schema.violations(g.schema.root, g.proposed); {
	case len(list) > 0 && len(list[0].path) == 0:
		return ErrUnfit
	case len(list) > 0:
		return fmt.Errorf("%w: %s", ErrUnfit, field(list[0].path))
	}
	if g.text == "" && bytes.Equal(encode(g.sent, nil), encode(g.proposed, nil)) {
		return ErrUnchanged
	}
	wrong := g.schema.violations(g.schema.root, g.sent)
	g.findRejected(wrong)
	g.sources = g.collect(g.sent, nil, wrong)
	if len(g.sources) > maxScalars {
		return fmt.Errorf("%w: the call has more than %d values", ErrInvented, maxScalars)
	}
	walk(g.proposed, nil, func(path []string, value any) {
		if !isContainer(value) {
			g.targets = append(g.targets, &target{path: slices.Clone(path), value: value})
		}
	})
	if len(g.targets) > 2*maxScalars {
		return fmt.Errorf("%w: the proposal has more than %d values", ErrInvented, 2*maxScalars)
	}
	if err := g.checkContainers(); err != nil {
		return err
	}
	g.trace()
	for _, t := range g.targets {
		if !t.done && !g.declares(t) && !g.own(t) {
			return fmt.Errorf("%w: %s", ErrInvented, field(t.path))
		}
	}
	if !g.inOrder() {
		return fmt.Errorf("%w: the items of an array are in a different order", ErrInvented)
	}
	g.findDropped()
	if g.tier > Told {
		g.doubtRisks()
	}
	return g.keepValid()
}

// raise records the tier of a change.
func (g *closedGate) raise(tier Tier) { g.tier = max(g.tier, tier) }

// strip removes optional fields that the model added with the default or with nothing in them. They
// say the same as no field.
func (g *closedGate) strip(value any, path []string) {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			at := below(path, key)
			_, sent := present(g.sent, at)
			if !sent && (isEmpty(item) || g.isDefault(at, item)) && !g.schema.needs(path, key) {
				delete(v, key)
			} else {
				g.strip(item, at)
			}
		}
	case []any:
		for i, item := range v {
			g.strip(item, below(path, fmt.Sprint(i)))
		}
	}
}

// isDefault reports whether the schema declares a value as the default of its place.
func (g *closedGate) isDefault(path []string, value any) bool {
	return slices.ContainsFunc(g.schema.nodesAt(path), func(node *jsonschema.Schema) bool {
		return node.Default != nil && exactly(*node.Default, value)
	})
}

// collect returns the scalars that were sent.
func (g *closedGate) collect(value any, path []string, wrong []violation) (list []*source) {
	walk(value, path, func(path []string, value any) {
		if isContainer(value) {
			return
		}
		s := &source{path: slices.Clone(path), value: value, empty: saysNothing(value)}
		s.valid = g.isPinned(s, wrong)
		s.pinned = s.valid
		if doc, ok := openedValue(value); ok && !s.pinned {
			s.inner = g.collect(doc, slices.Clone(path), nil)
			for _, inner := range s.inner {
				inner.pinned = false
			}
		}
		list = append(list, s)
	})
	return list
}

// isPinned reports whether a sent value is valid at a place that the schema declares.
func (g *closedGate) isPinned(s *source, wrong []violation) bool {
	isWrong := slices.ContainsFunc(wrong, func(v violation) bool {
		keys, _ := missingKeys(v)
		return keys == nil && slices.Equal(v.path, s.path)
	})
	return !isWrong && g.schema.declares(s.path) && fitsAny(g.schema.nodesAt(s.path), s.value)
}

// declares reports whether the schema declares every key on a path.
func (s *Schema) declares(path []string) bool { return len(s.nodesAt(path)) > 0 }
