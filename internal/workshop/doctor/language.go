package doctor

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// A condition in a .cause file is a phrase such as
//
//	remote and not (line has "401" "403" or {path} matches client-file)
//
// Its parts are names of conditions, observations with their numbers or words (status 401), and what
// a text contains (has, mentions, is, starts, ends, matches). docs/CAUSES.md lists them.

// condition decides whether a match is evidence for a cause, or whether an advice fits.
type condition func(m *match) bool

// phrase is the part of a condition that is not read yet.
type phrase struct {
	left    []token
	reader  *reader
	observe bool // whether observations put what they saw into the match
}

// token is a word or a quoted string.
type token struct {
	text   string
	quoted bool
}

// condition reads a whole condition.
func (r *reader) condition(text string, observe bool) (condition, error) {
	tokens, err := tokens(text)
	if err != nil {
		return nil, err
	}
	p := &phrase{left: tokens, reader: r, observe: observe}
	c, err := p.either()
	if err == nil && len(p.left) > 0 {
		return nil, fmt.Errorf("unexpected %q: connect conditions with \"and\" or \"or\"", p.left[0].text)
	}
	return c, err
}

// tokens splits a condition. Strings are between double quotes or backquotes, without escapes.
func tokens(text string) (all []token, err error) {
	for {
		text = strings.TrimLeft(text, " ")
		if text == "" {
			return all, nil
		}
		switch c := text[0]; c {
		case '"', '`':
			end := strings.IndexByte(text[1:], c)
			if end < 0 {
				return nil, fmt.Errorf("the string that begins with %c is not closed", c)
			}
			all = append(all, token{text[1 : 1+end], true})
			text = text[end+2:]
		case '(', ')':
			all = append(all, token{text: text[:1]})
			text = text[1:]
		default:
			end := strings.IndexAny(text, " ()")
			if end < 0 {
				end = len(text)
			}
			all = append(all, token{text: text[:end]})
			text = text[end:]
		}
	}
}

// next returns and drops the next word if it is one of these; without words, any word.
func (p *phrase) next(words ...string) (string, bool) {
	if len(p.left) == 0 || p.left[0].quoted || len(words) > 0 && !slices.Contains(words, p.left[0].text) {
		return "", false
	}
	word := p.left[0].text
	p.left = p.left[1:]
	return word, true
}

// either reads conditions that are connected by "or".
func (p *phrase) either() (condition, error) {
	c, err := p.both()
	for err == nil {
		if _, ok := p.next("or"); !ok {
			break
		}
		first := c
		var second condition
		second, err = p.both()
		c = func(m *match) bool { return first(m) || second(m) }
	}
	return c, err
}

// both reads conditions that are connected by "and".
func (p *phrase) both() (condition, error) {
	c, err := p.single()
	for err == nil {
		if _, ok := p.next("and"); !ok {
			break
		}
		first := c
		var second condition
		second, err = p.single()
		c = all(first, second)
	}
	return c, err
}

// all returns a condition that holds if both do. The first may be nil.
func all(first, second condition) condition {
	if first == nil {
		return second
	}
	return func(m *match) bool { return first(m) && second(m) }
}

func not(c condition) condition { return func(m *match) bool { return !c(m) } }

func (p *phrase) single() (condition, error) {
	word, ok := p.next()
	switch {
	case !ok:
		return nil, errors.New("a condition is missing here")
	case word == "not":
		c, err := p.single()
		return not(c), err
	case word == "(":
		c, err := p.either()
		if _, ok := p.next(")"); err == nil && !ok {
			return nil, errors.New("a closing parenthesis is missing")
		}
		return c, err
	}
	if of := p.reader.subject(word); of != nil {
		return p.predicate(word, of)
	}
	if c := p.reader.conditions[word]; c != nil {
		return c, nil
	}
	if read := p.reader.observations[word]; read != nil {
		return read(p, p.arguments())
	}
	return nil, unknown("condition", word, p.reader.conditionNames())
}

// arguments returns and drops the words and strings up to the next connection.
func (p *phrase) arguments() (words []string) {
	for len(p.left) > 0 {
		t := p.left[0]
		if !t.quoted && slices.Contains([]string{"and", "or", "not", "(", ")"}, t.text) {
			break
		}
		words, p.left = append(words, t.text), p.left[1:]
	}
	return words
}

// unknown returns the error about a name that is not known.
func unknown(what, name string, known []string) error {
	if near := plaintext.Nearest(name, known); len(near) > 0 {
		return fmt.Errorf("unknown %s %q; did you mean %q?", what, name, near[0])
	}
	return fmt.Errorf("unknown %s %q: see docs/CAUSES.md for the full list", what, name)
}

// subject is a text that a condition is about.
type subject func(m *match) string

func subjects() map[string]subject {
	return map[string]subject{
		"line":    func(m *match) string { return m.said },
		"hit":     func(m *match) string { return m.hit },
		"text":    func(m *match) string { return m.x.text },
		"command": func(m *match) string { return m.x.cmd.line },
		"program": func(m *match) string { return strings.Join(m.x.Command[:min(1, len(m.x.Command))], "") },
		"runner":  func(m *match) string { return m.x.cmd.runner() },
		"package": func(m *match) string { return m.x.cmd.packageName() },
		"address": func(m *match) string { return m.x.cmd.address() },
		"url":     func(m *match) string { return m.x.URL },
	}
}

// subject returns a subject, {name} for what a clue captured, or nil.
func (r *reader) subject(word string) subject {
	if name, ok := strings.CutPrefix(word, "{"); ok && strings.HasSuffix(name, "}") {
		name = strings.TrimSuffix(name, "}")
		return func(m *match) string { return m.names[name] }
	}
	return r.subjects[word]
}

// predicate reads what is said about a subject. A subject alone holds if it is not empty.
func (p *phrase) predicate(name string, of subject) (condition, error) {
	if len(p.left) == 0 || !p.left[0].quoted && slices.Contains([]string{"and", "or", ")"}, p.left[0].text) {
		return func(m *match) bool { return of(m) != "" }, nil
	}
	verb, _ := p.next()
	if kind := p.reader.kinds[verb]; kind != nil {
		return func(m *match) bool { return kind(of(m)) }, nil
	}
	words := p.arguments()
	if verb == "matches" {
		return p.matches(of, words)
	}
	compare := p.reader.verbs[verb]
	if compare == nil {
		return nil, fmt.Errorf("after %q: %w", name, unknown("verb", verb, p.reader.verbNames()))
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("%s %s requires a string, for example: %s %s \"words of the log\"", name, verb, name, verb)
	}
	if other := p.reader.subject(words[0]); other != nil && len(words) == 1 && strings.HasPrefix(words[0], "{") {
		return func(m *match) bool { return compare(of(m), other(m)) }, nil
	}
	return func(m *match) bool {
		text := of(m)
		return slices.ContainsFunc(words, func(word string) bool { return compare(text, word) })
	}, nil
}

// matches reads the name of a word, or a pattern in quotes.
func (p *phrase) matches(of subject, words []string) (condition, error) {
	if len(words) != 1 {
		return nil, errors.New("\"matches\" requires the name of a word, or one pattern in backquotes")
	}
	re := p.reader.words[words[0]]
	if re == nil && strings.ContainsAny(words[0], ` \()[]|.*+?^$`) {
		source, err := p.reader.pattern(words[0])
		if err != nil {
			return nil, err
		}
		if _, err := syntax.Parse(source, syntax.Perl); err != nil { // it is compiled when it is needed
			return nil, err
		}
		re = regex.New(source)
	}
	if re == nil {
		return nil, unknown("word", words[0], p.reader.wordNames())
	}
	return func(m *match) bool { return re.MatchString(of(m)) }, nil
}

type verb func(text, word string) bool

// verbs compare a text with each string that follows.
func verbs() map[string]verb {
	return map[string]verb{
		"has":         func(text, word string) bool { return strings.Contains(text, word) },
		"mentions":    func(text, word string) bool { return strings.Contains(strings.ToLower(text), word) },
		"is":          func(text, word string) bool { return text == word },
		"is-any-case": func(text, word string) bool { return strings.EqualFold(text, word) },
		"is-program":  func(text, word string) bool { return program(text) == word },
		"starts":      func(text, word string) bool { return strings.HasPrefix(text, word) },
		"ends":        func(text, word string) bool { return strings.HasSuffix(text, word) },
	}
}

// observation reads what follows its name.
type observation func(p *phrase, words []string) (condition, error)

// observations are conditions on what was seen besides the text. They are followed by what was seen.
func observations() map[string]observation {
	return map[string]observation{
		"status":     withCodes((*exam).status),
		"exit-code":  withCodes((*exam).exited),
		"rpc":        withCodes((*exam).rpc),
		"node-below": withCodes(func(x *exam, _ *match, version ...int) bool { return x.nodeBelow(version[0]) }),
		"signal":     withWords((*exam).signal),
		"npm-exit":   withWords((*exam).npmExit),
		"runs":       withWords(func(x *exam, _ *match, programs ...string) bool { return x.cmd.runs(programs...) }),
		"argument":   withWords(func(x *exam, _ *match, words ...string) bool { return x.cmd.has(words...) }),
		"symptom":    withLine(func(x *exam, m *match, words *regex.Lazy) bool { return x.onlySymptom(m, words) }),
		"text-line":  withLine(func(x *exam, m *match, words *regex.Lazy) bool { return x.tells(m, words) }),
	}
}

// match returns what an observation may change.
func (p *phrase) match() func(m *match) *match {
	if p.observe {
		return func(m *match) *match { return m }
	}
	return func(*match) *match { return &match{} }
}

func withCodes(holds func(x *exam, m *match, codes ...int) bool) observation {
	return func(p *phrase, words []string) (condition, error) {
		var list []int
		for _, word := range words {
			code, err := strconv.Atoi(word)
			if err != nil {
				return nil, fmt.Errorf("%q must be a number", word)
			}
			list = append(list, code)
		}
		if len(list) == 0 {
			return nil, errors.New("a number is missing here")
		}
		shown := p.match()
		return func(m *match) bool { return holds(m.x, shown(m), list...) }, nil
	}
}

func withWords(holds func(x *exam, m *match, words ...string) bool) observation {
	return func(p *phrase, words []string) (condition, error) {
		if len(words) == 0 {
			return nil, errors.New("a name is missing here")
		}
		shown := p.match()
		return func(m *match) bool { return holds(m.x, shown(m), words...) }, nil
	}
}

func withLine(holds func(x *exam, m *match, words *regex.Lazy) bool) observation {
	return func(p *phrase, words []string) (condition, error) {
		var re *regex.Lazy
		if len(words) > 0 {
			if re = p.reader.words[words[0]]; re == nil {
				return nil, unknown("word", words[0], p.reader.wordNames())
			}
		}
		shown := p.match()
		return func(m *match) bool { return holds(m.x, shown(m), re) }, nil
	}
}
