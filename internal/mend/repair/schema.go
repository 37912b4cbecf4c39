package repair

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
)

// Limits of a schema and of the cost of checking one call. Schemas are untrusted input.
const (
	maxSchema          = 256 << 10       // bytes of a schema
	maxNodes           = 5_000           // schemas in a schema
	maxPatterns        = 50_000          // instructions of all patterns of a schema
	maxPattern         = 1 << 10         // bytes of a pattern
	maxMatching        = 4 << 20         // bytes of a string times instructions of a pattern
	maxSubject         = 64 << 10        // bytes of a string that is matched against a pattern
	maxSteps           = 100_000         // schemas that the values of one call are validated against
	maxTime            = time.Second     // in case the steps, which take a twentieth of it, are not enough
	maxCacheBytes      = 2 << 20         // bytes of the cached schemas
	maxCachedSchemas   = 1_024           // number of cached schemas
	schemaURL          = "gauze:///tool" // base of relative references, which are never loaded
	stepsPerClockCheck = 256             // steps between two checks of the clock
)

// Schema is the input schema of one tool. It is safe for concurrent use: calls of the same tool are
// checked one at a time.
type Schema struct {
	once    sync.Once
	raw     []byte
	size    int
	root    *jsonschema.Schema
	nodes   map[string]*jsonschema.Schema // by location, as in errors
	why     string                        // why calls cannot be checked; empty if they can
	partial []string                      // what cannot be checked of an otherwise usable schema
	plain   *simple                       // the fast path; nil if there is none

	declared map[string]*jsonschema.Schema // the declared arguments
	folded   map[string]string             // their folded names

	mu      sync.Mutex // guards the rest, and so all validation
	meter   *meter
	samples map[string]string // values for arguments, as JSON; empty if there is none
}

// meter is the budget of one call.
type meter struct {
	steps int
	until time.Time
}

// overBudget is the panic value when the budget of a call is exceeded.
type overBudget string

// Compile returns the schema of a tool. Equal schemas are shared, and compiled on first use or by
// Ready. A schema that cannot be checked safely is not an error: its calls are unverified.
func Compile(raw []byte) *Schema {
	if len(raw) > maxSchema {
		return tooLarge
	}
	key := sha256.Sum256(raw)
	schemaCache.Lock()
	defer schemaCache.Unlock()
	if known := schemaCache.schemas[key]; known != nil {
		return known
	}
	for old, s := range schemaCache.schemas {
		if len(schemaCache.schemas) < maxCachedSchemas && schemaCache.bytes+len(raw) <= maxCacheBytes {
			break
		}
		delete(schemaCache.schemas, old)
		schemaCache.bytes -= s.size
	}
	s := &Schema{raw: append([]byte(nil), raw...), size: len(raw)}
	schemaCache.schemas[key] = s
	schemaCache.bytes += s.size
	return s
}

// tooLarge is the schema of all tools whose schema exceeds maxSchema.
var tooLarge = func() *Schema {
	s := &Schema{why: fmt.Sprintf("the schema is larger than %d KB", maxSchema>>10)}
	s.once.Do(func() {})
	return s
}()

var schemaCache = struct {
	sync.Mutex
	schemas map[[sha256.Size]byte]*Schema
	bytes   int // total size of the schemas
}{schemas: map[[sha256.Size]byte]*Schema{}}

// Ready compiles the schema now instead of on first use.
func (s *Schema) Ready() *Schema {
	s.once.Do(s.compile)
	return s
}

func (s *Schema) compile() {
	defer func() {
		if problem := recover(); problem != nil {
			s.root, s.why = nil, fmt.Sprint("the schema cannot be read: ", problem)
		}
	}()
	s.meter = &meter{}
	if text := bytes.TrimSpace(s.raw); len(text) == 0 || string(text) == "null" {
		s.raw = []byte("{}") // also what programs write that have none
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
	p := preparer{draft: jsonschema.Draft2020}
	if err := p.visit(doc.value, 0, refersInside(doc.value)); err != nil {
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

// build compiles the schema without a loader, with our formats and our meter.
func (s *Schema) build(doc any, p *preparer) (*jsonschema.Schema, error) {
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
			return stepCounter{s.meter, stepsOf(schema)}, nil
		},
	})
	if err := compiler.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	return compiler.Compile(schemaURL)
}

// stepCounter is an extension of every schema. It checks nothing and counts steps.
type stepCounter struct {
	meter *meter
	steps int
}

// stepsOf counts a schema and its branches. A branch that fails early does not count itself.
func stepsOf(schema map[string]any) int {
	steps := 1
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := schema[key].([]any)
		steps += len(branches)
	}
	return steps
}

// Validate is called by the library for every schema that a value is validated against.
func (t stepCounter) Validate(*jsonschema.ValidatorContext, any) { t.meter.pay(t.steps) }

// pay counts steps, and panics if the budget is exceeded.
func (m *meter) pay(steps int) {
	before := m.steps
	if m.steps += steps; m.steps > maxSteps {
		panic(overBudget(fmt.Sprintf("checking the arguments would take more than %d steps", maxSteps)))
	}
	if before/stepsPerClockCheck != m.steps/stepsPerClockCheck && time.Now().After(m.until) {
		panic(overBudget("checking the arguments would take more than " + maxTime.String()))
	}
}

// refuseToLoad is a loader that never loads anything.
type refuseToLoad struct{}

func (refuseToLoad) Load(url string) (any, error) {
	return nil, errors.New("the schema refers to another document, which gauze does not load")
}

func explainCompile(err error) string {
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return "the schema refers to another document, which gauze does not load: " + bounded(load.URL, 80)
	}
	return "the schema is not valid JSON Schema"
}

// index records every schema by its location.
func (s *Schema) index(node *jsonschema.Schema) {
	if node == nil || s.nodes[node.Location] != nil {
		return
	}
	s.nodes[node.Location] = node
	for _, child := range children(node) {
		s.index(child)
	}
}

// children returns the schemas directly inside a schema, including references.
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

// session calls f with exclusive use of the schema and a new budget. It returns why f was
// interrupted, or nothing.
func (s *Schema) session(f func()) (why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.meter = meter{until: time.Now().Add(maxTime)}
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case overBudget:
			why = string(problem)
		default:
			why = fmt.Sprint("checking the arguments failed: ", problem)
		}
	}()
	f()
	return ""
}
