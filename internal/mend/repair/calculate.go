package repair

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

var (
	// arithmetic matches what only an expression has.
	arithmetic = regex.New(`[*^]|[\d)i] [+/] |\bpi\b|\)[+/-]|[+/-]\(`)
	// notation matches what dates, phone numbers and ranges have: numbers joined by a hyphen or a
	// slash, two slashes, a leading zero.
	notation = regex.New(`\d[-/]\d|^[\d\s]+/[\d\s]+/[\d\s]+$|(?:^|[^\d.])0\d`)
)

// calculated returns the value of text that is clearly an arithmetic expression, as in "2 * pi" and
// "500 / 12".
func calculated(text string) (json.Number, bool) {
	if !isExpression(text) {
		return "", false
	}
	return evaluated(text)
}

// isExpression reports whether text is clearly an arithmetic expression.
func isExpression(text string) bool {
	plain := plainExpression(text)
	return arithmetic.MatchString(plain) && !notation.MatchString(plain)
}

// plainExpression returns an expression without the spellings of a programming language.
func plainExpression(text string) string {
	return strings.NewReplacer("math.", "", "np.", "", "**", "^", "π", "pi").Replace(strings.ToLower(bounded(text, 80)))
}

// evaluated returns the value of an arithmetic expression, rounded.
func evaluated(text string) (json.Number, bool) {
	value, ok := exactValue(text)
	if !ok {
		return "", false
	}
	return number(strconv.FormatFloat(math.Round(value*1e4)/1e4, 'f', -1, 64))
}

// exactValue returns the value of an arithmetic expression.
func exactValue(text string) (value float64, ok bool) {
	c := calculator{text: plainExpression(text)}
	value = c.operation(0)
	inRange := math.Abs(value) < 1<<53 // NaN is not
	return value, len(c.text) <= 60 && c.next() == 0 && inRange
}

// calculator reads numbers, pi, + - * / ^ and parentheses. What it cannot read is not a number.
type calculator struct {
	text       string
	pos, depth int
}

// next returns the next character after spaces, or 0.
func (c *calculator) next() byte {
	for c.pos < len(c.text) && c.text[c.pos] == ' ' {
		c.pos++
	}
	if c.pos == len(c.text) {
		return 0
	}
	return c.text[c.pos]
}

// operators are in the order in which they bind.
var operators = []string{"+-", "*/", "^"}

// operation reads operands joined by the operators of a level and of those that bind closer.
func (c *calculator) operation(level int) float64 {
	if level == len(operators) {
		return c.operand()
	}
	value := c.operation(level + 1)
	for operator := c.next(); operator != 0 && strings.IndexByte(operators[level], operator) >= 0; operator = c.next() {
		c.pos++
		switch other := c.operation(level + 1); operator {
		case '+':
			value += other
		case '-':
			value -= other
		case '*':
			value *= other
		case '/':
			value /= other
		case '^':
			value = math.Pow(value, other)
		}
	}
	return value
}

func (c *calculator) operand() float64 {
	if c.depth++; c.depth > 60 {
		return math.NaN()
	}
	first := c.next()
	switch c.pos++; {
	case first == '-':
		return -c.operand()
	case first == '(':
		value := c.operation(0)
		if c.next() != ')' {
			return math.NaN()
		}
		c.pos++
		return value
	case strings.HasPrefix(c.text[min(c.pos-1, len(c.text)):], "pi"):
		c.pos++
		return math.Pi
	}
	start := min(c.pos-1, len(c.text))
	for c.pos = start; c.pos < len(c.text) && strings.IndexByte("0123456789.", c.text[c.pos]) >= 0; {
		c.pos++
	}
	value, err := strconv.ParseFloat(c.text[start:c.pos], 64)
	if err != nil {
		return math.NaN()
	}
	return value
}
