package repair

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
)

var (
	// arithmetic matches what only an expression has.
	arithmetic = regexp.MustCompile(`[*^]|[\d)i] [+/] |\bpi\b|\)[+/-]|[+/-]\(`)
	// notation matches what dates, phone numbers and ranges have: numbers joined by a hyphen or a
	// slash, two slashes, a leading zero.
	notation = regexp.MustCompile(`\d[-/]\d|^[\d\s]+/[\d\s]+/[\d\s]+$|(?:^|[^\d.])0\d`)
)

// calculated returns the value of text that is clearly an arithmetic expression, as in "2 * pi" and
// "500 / 12". It is only offered, never applied.
func calculated(text string) (json.Number, bool) {
	if plain := plainExpression(text); !arithmetic.MatchString(plain) || notation.MatchString(plain) {
		return "", false
	}
	return evaluated(text)
}

// plainExpression returns an expression without the spellings of a programming language.
func plainExpression(text string) string {
	return strings.NewReplacer("math.", "", "np.", "", "**", "^", "π", "pi").Replace(strings.ToLower(bounded(text, 80)))
}

// evaluated returns the value of an arithmetic expression.
func evaluated(text string) (json.Number, bool) {
	if text = plainExpression(text); len(text) > 60 {
		return "", false
	}
	c := calculator{text: text}
	value, ok := c.sum(0)
	if !ok || c.skip() != 0 || math.IsNaN(value) || math.Abs(value) >= 1<<53 {
		return "", false
	}
	return number(strconv.FormatFloat(math.Round(value*1e4)/1e4, 'f', -1, 64))
}

// calculator reads numbers, pi, + - * / ^ and parentheses.
type calculator struct {
	text string
	pos  int
}

// skip returns the next character after spaces, or 0.
func (c *calculator) skip() byte {
	for c.pos < len(c.text) && c.text[c.pos] == ' ' {
		c.pos++
	}
	if c.pos == len(c.text) {
		return 0
	}
	return c.text[c.pos]
}

func (c *calculator) sum(depth int) (float64, bool) {
	value, ok := c.product(depth)
	for ok && (c.skip() == '+' || c.skip() == '-') {
		sign := c.skip()
		c.pos++
		var other float64
		if other, ok = c.product(depth); sign == '-' {
			other = -other
		}
		value += other
	}
	return value, ok
}

func (c *calculator) product(depth int) (float64, bool) {
	value, ok := c.power(depth)
	for ok && (c.skip() == '*' || c.skip() == '/') {
		divides := c.skip() == '/'
		c.pos++
		var other float64
		if other, ok = c.power(depth); divides {
			other = 1 / other
		}
		value *= other
	}
	return value, ok
}

func (c *calculator) power(depth int) (float64, bool) {
	value, ok := c.atom(depth)
	if ok && c.skip() == '^' {
		c.pos++
		var exponent float64
		exponent, ok = c.atom(depth)
		value = math.Pow(value, exponent)
	}
	return value, ok
}

func (c *calculator) atom(depth int) (float64, bool) {
	switch next := c.skip(); {
	case depth > 20:
		return 0, false
	case next == '-':
		c.pos++
		value, ok := c.atom(depth + 1)
		return -value, ok
	case next == '(':
		c.pos++
		value, ok := c.sum(depth + 1)
		if !ok || c.skip() != ')' {
			return 0, false
		}
		c.pos++
		return value, true
	case strings.HasPrefix(c.text[c.pos:], "pi"):
		c.pos += 2
		return math.Pi, true
	}
	end := c.pos
	for end < len(c.text) && strings.IndexByte("0123456789.", c.text[end]) >= 0 {
		end++
	}
	value, err := strconv.ParseFloat(c.text[c.pos:end], 64)
	c.pos = end
	return value, err == nil
}
