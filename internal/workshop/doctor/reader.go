package doctor

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// data are the causes: words, conditions and facts first, then the families in the order in which
// equals are ranked. docs/CAUSES.md describes the format.
//
//go:embed causes/*.cause
var data embed.FS

// reader reads .cause files.
type reader struct {
	table      *table
	sources    map[string]string // of words
	words      map[string]*regex.Lazy
	conditions map[string]condition
	facts      map[string]*fact
	remedies   map[string][]remedy

	subjects     map[string]subject
	verbs        map[string]verb
	kinds        map[string]func(string) bool
	observations map[string]observation

	file   string
	line   int
	cause  *cause
	fact   *fact
	advice *advice // the last one of cause
	clue   *clue   // the last one of cause or fact
}

// readCauses reads all files.
func readCauses(files fs.FS) (*table, error) {
	r := &reader{
		table: &table{}, sources: map[string]string{}, words: wordsInGo(), conditions: conditions(), facts: map[string]*fact{},
		remedies: remedies(),
		subjects: subjects(), verbs: verbs(), kinds: kinds(), observations: observations(),
	}
	paths, err := fs.Glob(files, "causes/*.cause")
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, err
		}
		r.file, r.line, r.cause, r.fact = path, 0, nil, nil
		for line := range strings.Lines(string(text)) {
			r.line++
			if err := r.read(strings.TrimRight(line, "\r\n")); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", r.file, r.line, err)
			}
		}
	}
	return r.table, nil
}

// read reads one line.
func (r *reader) read(line string) error {
	if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	if strings.TrimRight(line, " \t") != line {
		return errors.New("the line ends with a space: remove it, or use [ ] in a pattern")
	}
	rest, indented := strings.CutPrefix(line, "  ")
	key, value, _ := strings.Cut(rest, " ")
	if indented {
		return r.detail(key, value)
	}
	r.advice, r.clue = nil, nil
	switch key {
	case "word", "condition":
		return r.define(key, value)
	case "fact":
		if r.cause == nil {
			return r.beginFact(value)
		}
	case "cause":
		return r.beginCause(value)
	}
	switch {
	case key == "clue" || key == "seen" || key == "fact":
		return r.addClue(key, value)
	case r.fact != nil && (key == "if" || key == "unless"):
		return r.restrict(&r.fact.when, key, value)
	case r.cause != nil:
		return r.attribute(key, value)
	}
	return fmt.Errorf("%q must be part of a cause: begin with a line such as \"cause env_not_set\"", key)
}

// define reads a word or a condition with a name.
func (r *reader) define(key, value string) error {
	name, rest, _ := strings.Cut(value, " ")
	if rest == "" {
		return fmt.Errorf("a %s requires a name and a definition", key)
	}
	if r.words[name] != nil || r.conditions[name] != nil {
		return fmt.Errorf("%q is defined twice", name)
	}
	if key == "word" {
		source, err := r.pattern(rest)
		if err != nil {
			return err
		}
		r.sources[name], r.words[name] = source, regex.New(source)
		_, err = syntax.Parse(source, syntax.Perl) // it is compiled when it is needed
		return err
	}
	c, err := r.condition(rest, false)
	r.conditions[name] = c
	return err
}

// pattern returns a pattern with its words filled in.
func (r *reader) pattern(text string) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "(?&")
		b.WriteString(before)
		if !found {
			break
		}
		name, after, _ := strings.Cut(rest, ")")
		source, ok := r.sources[name]
		if !ok {
			return "", unknown("word", name, r.wordNames())
		}
		b.WriteString(source)
		text = after
	}
	if strings.Contains(b.String(), "(?=") || strings.Contains(b.String(), "(?!") {
		return "", errors.New("patterns do not support lookahead ((?= and (?!): use a line \"  unless line matches ...\" instead")
	}
	return b.String(), nil
}

func (r *reader) beginFact(name string) error {
	if name == "" || r.facts[name] != nil {
		return fmt.Errorf("invalid fact name %q: must not be empty or already in use", name)
	}
	r.cause, r.fact = nil, &fact{name: name}
	r.facts[name], r.table.facts = r.fact, append(r.table.facts, r.fact)
	return nil
}

func (r *reader) beginCause(name string) error {
	if name == "" || slices.ContainsFunc(r.table.causes, func(c cause) bool { return c.name == name }) {
		return fmt.Errorf("invalid cause name %q: must not be empty or already in use", name)
	}
	r.table.causes = append(r.table.causes, cause{name: name})
	r.fact, r.cause = nil, &r.table.causes[len(r.table.causes)-1]
	return nil
}

// attribute reads what is said about a cause.
func (r *reader) attribute(key, value string) (err error) {
	c := r.cause
	if value == "" && key != "passes" {
		return fmt.Errorf("%s needs a value", key)
	}
	switch key {
	case "category":
		if c.category = Category(value); !slices.Contains(categories, c.category) {
			var names []string
			for _, c := range categories {
				names = append(names, string(c))
			}
			return unknown("category", value, names)
		}
	case "passes":
		c.passes = true
	case "explain":
		c.explain = value
	case "fix":
		c.fix = value
	case "command":
		c.command = value
	case "instead":
		when, err := r.condition(value, false)
		c.instead = append(c.instead, advice{when: when})
		r.advice = &c.instead[len(c.instead)-1]
		return err
	case "hides":
		c.hides = strings.Fields(value)
	case "unless":
		c.unless, err = r.condition(value, false)
	case "url":
		c.atURL, err = oneOf(scopes, "scope", value)
	case "call":
		c.atCall, err = oneOf(scopes, "scope", value)
	case "risk":
		c.risk, err = oneOf(risks, "risk", value)
	case "remedies":
		for _, name := range strings.Fields(value) {
			if r.remedies[name] == nil {
				return unknown("remedy", name, sortedKeys(r.remedies))
			}
			c.remedies = append(c.remedies, r.remedies[name]...)
		}
	default:
		return unknown("line", key, attributes)
	}
	return err
}

var attributes = []string{
	"cause", "fact", "word", "condition", "category", "passes", "explain", "fix", "command", "instead", "hides", "unless", "url", "call",
	"risk",
	"remedies", "clue", "seen",
}

// detail reads a line that belongs to the one above it.
func (r *reader) detail(key, value string) error {
	switch {
	case value == "":
		return fmt.Errorf("%s needs a value", key)
	case r.advice != nil && key == "explain":
		r.advice.explain = value
	case r.advice != nil && key == "fix":
		r.advice.fix = value
	case r.advice != nil && key == "command":
		r.advice.command = value
	case r.advice != nil:
		return fmt.Errorf("%q cannot follow \"instead\": use explain, fix or command", key)
	case r.clue == nil:
		return errors.New("an indented line must follow a \"clue\" or \"instead\" line")
	case key == "if" || key == "unless":
		return r.restrict(&r.clue.when, key, value)
	case key == "name":
		name, text, _ := strings.Cut(value, " ")
		r.clue.when = all(r.clue.when, func(m *match) bool {
			m.names = map[string]string{name: text}
			return true
		})
	default:
		return fmt.Errorf("%q cannot follow a \"clue\" line: use if, unless or name", key)
	}
	return nil
}

// restrict adds a condition to those that there are.
func (r *reader) restrict(when *condition, key, value string) error {
	c, err := r.condition(value, false)
	if err != nil {
		return err
	}
	if key == "unless" {
		c = not(c)
	}
	*when = all(*when, c)
	return nil
}

// addClue reads a clue of a cause or a fact: a pattern, an observation, or a fact.
func (r *reader) addClue(key, value string) (err error) {
	word, rest, _ := strings.Cut(value, " ")
	added := clue{text: rest, file: r.file, line: r.line}
	if added.confidence, added.asSaid, err = confidence(word); err != nil {
		return err
	}
	if rest == "" {
		return fmt.Errorf("a %s requires a confidence level and a pattern, for example: %s strong ENOENT", key, key)
	}
	switch key {
	case "clue":
		source, err := r.pattern(rest)
		if err != nil {
			return err
		}
		if added.pattern, err = newPattern(source, &r.table.finder); err != nil {
			return err
		}
	case "seen":
		if added.when, err = r.condition(rest, true); err != nil {
			return err
		}
	case "fact":
		if added.fact = r.facts[rest]; added.fact == nil {
			return unknown("fact", rest, sortedKeys(r.facts))
		}
	}
	if added.asSaid && key != "fact" {
		return errors.New("\"said\" can be the confidence of a fact only")
	}
	var clues *[]clue
	switch {
	case r.cause != nil:
		clues = &r.cause.clues
	case r.fact != nil && key != "fact":
		clues = &r.fact.clues
	default:
		return fmt.Errorf("a %s must come after the line that begins its cause, such as \"cause env_not_set\"", key)
	}
	*clues = append(*clues, added)
	r.clue = &(*clues)[len(*clues)-1]
	return nil
}

// confidence returns what a word such as strong means. "strong+1" is a hundredth more; "said" and
// "said+2" are what the fact's own clue says, and a little more.
func confidence(text string) (value float64, asSaid bool, err error) {
	word, more, _ := strings.Cut(text, "+")
	value, err = oneOf(confidences, "confidence", word)
	if err == nil && more != "" {
		var hundredths int
		hundredths, err = strconv.Atoi(more)
		value += float64(hundredths) / 100
	}
	return value, word == "said", err
}

// choice is one of the words that a value may have.
type choice[T any] struct {
	word  string
	value T
}

var (
	confidences = []choice[float64]{{"certain", certain}, {"strong", strong}, {"likely", likely}, {"guess", guess}, {"faint", faint},
		{"said", 0}}
	scopes = []choice[scope]{{"always", always}, {"logs", onlyInLogs}, {"never", never}}
	risks  = []choice[Risk]{{"config", Config}, {"install", Install}, {"secret", Secret}, {"person", Person}}
)

func oneOf[T any](choices []choice[T], what, word string) (value T, err error) {
	var words []string
	for _, c := range choices {
		if c.word == word {
			return c.value, nil
		}
		words = append(words, c.word)
	}
	return value, fmt.Errorf("unknown %s %q: must be one of %s", what, word, strings.Join(words, ", "))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (r *reader) wordNames() []string { return sortedKeys(r.words) }
func (r *reader) verbNames() []string {
	return append(sortedKeys(r.verbs), append(sortedKeys(r.kinds), "matches")...)
}
func (r *reader) conditionNames() []string {
	return slices.Concat(sortedKeys(r.conditions), sortedKeys(r.observations), sortedKeys(r.subjects))
}
