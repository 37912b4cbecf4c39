package repair

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of what is compiled and of what one call may cost. A schema is
// somebody else's input.
const (
	maxSchema    = 256 << 10       // bytes of a schema
	maxNodes     = 5_000           // schemas inside of a schema
	maxPatterns  = 50_000          // instructions of all patterns of a schema
	maxPattern   = 1 << 10         // bytes of a pattern
	maxMatching  = 4 << 20         // bytes of a text times instructions of a pattern
	maxSubject   = 64 << 10        // bytes a pattern is matched against
	maxSteps     = 100_000         // schemas one call may be held against
	maxTime      = time.Second     // a net below the steps, which take a twentieth of it
	maxShelf     = 2 << 20         // bytes of them, as they came
	maxRemember  = 1_024           // compiled schemas kept
	whereSchema  = "gauze:///tool" // a base that relative references lead away from
	clockSamples = 256             // steps between two looks at the clock
)

// Schema is the input schema of one tool, ready to hold calls against. It is
// safe for concurrent use: calls of the same tool are judged one by one.
type Schema struct {
	once    sync.Once
	raw     []byte
	size    int
	root    *jsonschema.Schema
	nodes   map[string]*jsonschema.Schema // by location, as errors name them
	why     string                        // why nothing can be checked; empty: it can
	partial []string                      // what is not checked of an otherwise usable schema
	plain   *simple                       // decides most calls; nil: the validator decides all

	declared map[string]*jsonschema.Schema // the arguments it has
	folded   map[string]string             // and their names, folded

	mu    sync.Mutex // guards meter, and with it everything that validates
	meter *meter
}

// meter is the budget of one call.
type meter struct {
	steps int
	until time.Time
}

// spent is thrown when the budget of a call is used up.
type spent string

// Compile returns the schema of a tool. The same bytes are compiled once, at
// their first use or at Ready, and shared. A schema that cannot be checked
// safely is no error: calls then pass unverified.
func Compile(raw []byte) *Schema {
	if len(raw) > maxSchema {
		return tooLarge
	}
	key := sha256.Sum256(raw)
	shelf.Lock()
	defer shelf.Unlock()
	if known := shelf.schemas[key]; known != nil {
		return known
	}
	for old, s := range shelf.schemas {
		if len(shelf.schemas) < maxRemember && shelf.bytes+len(raw) <= maxShelf {
			break
		}
		delete(shelf.schemas, old)
		shelf.bytes -= s.size
	}
	s := &Schema{raw: append([]byte(nil), raw...), size: len(raw)}
	shelf.schemas[key] = s
	shelf.bytes += s.size
	return s
}

// tooLarge stands for all schemas that are.
var tooLarge = func() *Schema {
	s := &Schema{why: fmt.Sprintf("the schema is larger than %d KB", maxSchema>>10)}
	s.once.Do(func() {})
	return s
}()

var shelf = struct {
	sync.Mutex
	schemas map[[sha256.Size]byte]*Schema
	bytes   int // of the schemas as they came
}{schemas: map[[sha256.Size]byte]*Schema{}}

// Ready compiles now what would otherwise be compiled by the first call.
func (s *Schema) Ready() *Schema {
	s.once.Do(s.compile)
	return s
}

// Unverifiable says why calls cannot be checked; empty if they can.
func (s *Schema) Unverifiable() string { return s.Ready().why }

func (s *Schema) compile() {
	defer func() {
		if problem := recover(); problem != nil {
			s.root, s.why = nil, fmt.Sprint("the schema cannot be read: ", problem)
		}
	}()
	s.meter = &meter{}
	if len(s.raw) == 0 {
		s.raw = []byte("{}")
	}
	if len(s.raw) > maxSchema {
		s.why = fmt.Sprintf("the schema is larger than %d KB", maxSchema>>10)
		return
	}
	doc, err := decode(string(s.raw))
	if err != nil {
		s.why = "the schema cannot be read: " + err.Error()
		return
	}
	p := preparation{draft: jsonschema.Draft2020}
	if err := p.prepare(doc.value); err != nil {
		s.why = err.Error()
		return
	}
	s.partial = p.unchecked
	if s.root, err = s.build(doc.value, &p); err != nil {
		s.root, s.why = nil, explainCompile(err)
		return
	}
	if len(s.partial) == 0 {
		s.plain = plainOf(s.root, 0)
	}
	s.nodes = map[string]*jsonschema.Schema{}
	s.index(s.root)
	s.declared = s.properties(nil)
	s.folded = map[string]string{}
	for name := range s.declared {
		s.folded[name] = fold(name)
	}
}

// build hands the schema to the library: no loader, our formats, our meter.
func (s *Schema) build(doc any, p *preparation) (*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(p.draft)
	compiler.UseLoader(refuseToLoad{})
	compiler.UseRegexpEngine(p.patterns.compile)
	compiler.AssertFormat()
	for _, format := range formats {
		compiler.RegisterFormat(format)
	}
	compiler.AssertVocabs()
	compiler.RegisterVocabulary(&jsonschema.Vocabulary{
		URL: "gauze:meter",
		Compile: func(_ *jsonschema.CompilerContext, schema map[string]any) (jsonschema.SchemaExt, error) {
			return toll{s.meter, stepsOf(schema)}, nil
		},
	})
	if err := compiler.AddResource(whereSchema, doc); err != nil {
		return nil, err
	}
	return compiler.Compile(whereSchema)
}

// toll stands in every schema: it checks nothing and counts.
type toll struct {
	meter *meter
	steps int
}

// stepsOf counts a schema and its branches: a branch that fails at once is
// not asked for its own toll.
func stepsOf(schema map[string]any) int {
	steps := 1
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := schema[key].([]any)
		steps += len(branches)
	}
	return steps
}

// Validate is called by the library for every schema a value is held against.
func (t toll) Validate(*jsonschema.ValidatorContext, any) { t.meter.pay(t.steps) }

// pay counts, and ends what takes too long.
func (m *meter) pay(steps int) {
	before := m.steps
	if m.steps += steps; m.steps > maxSteps {
		panic(spent(fmt.Sprintf("checking it takes more than %d steps", maxSteps)))
	}
	if before/clockSamples != m.steps/clockSamples && time.Now().After(m.until) {
		panic(spent("checking it takes more than " + maxTime.String()))
	}
}

// refuseToLoad is the loader: a schema is never fetched, from nowhere.
type refuseToLoad struct{}

func (refuseToLoad) Load(url string) (any, error) {
	return nil, errors.New("it refers to another document, which is never loaded")
}

func explainCompile(err error) string {
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return "the schema refers to another document, which is never loaded: " + bounded(load.URL, 80)
	}
	return "the schema itself is not valid JSON Schema"
}

// index finds every schema by its location.
func (s *Schema) index(node *jsonschema.Schema) {
	if node == nil || s.nodes[node.Location] != nil {
		return
	}
	s.nodes[node.Location] = node
	for _, child := range children(node) {
		s.index(child)
	}
}

// children are the schemas directly inside of a schema, references included.
func children(node *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{node.Ref, node.RecursiveRef, node.Not, node.If, node.Then, node.Else, node.PropertyNames,
		node.UnevaluatedProperties, node.Contains, node.Items2020, node.UnevaluatedItems, node.ContentSchema}
	if node.DynamicRef != nil {
		list = append(list, node.DynamicRef.Ref)
	}
	list = append(list, node.AllOf...)
	list = append(list, node.AnyOf...)
	list = append(list, node.OneOf...)
	list = append(list, node.PrefixItems...)
	for _, child := range node.Properties {
		list = append(list, child)
	}
	for _, child := range node.PatternProperties {
		list = append(list, child)
	}
	for _, child := range node.DependentSchemas {
		list = append(list, child)
	}
	for _, child := range node.Dependencies {
		if child, ok := child.(*jsonschema.Schema); ok {
			list = append(list, child)
		}
	}
	for _, child := range []any{node.AdditionalProperties, node.Items, node.AdditionalItems} {
		switch child := child.(type) {
		case *jsonschema.Schema:
			list = append(list, child)
		case []*jsonschema.Schema:
			list = append(list, child...)
		}
	}
	return list
}

// session gives f the schema to itself, with a fresh budget. What it returns
// is empty, or says why f was cut short.
func (s *Schema) session(f func()) (why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.meter = meter{until: time.Now().Add(maxTime)}
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case spent:
			why = string(problem)
		default:
			why = fmt.Sprint("checking it failed: ", problem)
		}
	}()
	f()
	return ""
}
