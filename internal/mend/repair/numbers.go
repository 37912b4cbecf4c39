package repair

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// number returns the number that a string spells, if it can be represented exactly.
func number(text string) (json.Number, bool) {
	text = strings.TrimSpace(text)
	if !isNumber(text) || hugeNumber(text) {
		return "", false
	}
	return json.Number(text), true
}

// hasThousands reports whether the commas of a string may separate the thousands of one number.
func hasThousands(text string) bool { return groupedForm.MatchString(strings.TrimSpace(text)) }

// hasMixedCommas reports whether only some commas of a string are followed by a space, so that the
// others may be part of a number: "1,234, 5,678".
func hasMixedCommas(text string) bool {
	spaced := strings.Count(text, ", ")
	return spaced > 0 && spaced < strings.Count(text, ",")
}

// hasDecimalComma reports whether a string may be one number with a decimal comma: "0,75" and
// "1.234,56".
func hasDecimalComma(text string) bool { return decimalComma.MatchString(strings.TrimSpace(text)) }

var (
	groupedForm  = regex.New(`^-?\d{1,3}(?:\.[^,]*)?(?:,\d{3}(?:\.[^,]*)?)*$`)
	decimalComma = regex.New(`^-?(?:\d*|\d{1,3}(?:\.\d{3})*),\d+$`)
)

func leadingZero(text string) bool {
	text = strings.TrimPrefix(strings.TrimSpace(text), "-")
	return len(text) > 1 && text[0] == '0' && text[1] != '.' && text[1] != 'e' && text[1] != 'E'
}

// isWhole reports whether a number is an integer that every JSON parser can represent.
func isWhole(n json.Number) bool {
	f, err := n.Float64()
	return err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53
}

// spelledOut writes an integer without fraction and exponent.
func spelledOut(n json.Number) json.Number {
	f, _ := n.Float64()
	return json.Number(strconv.FormatInt(int64(f), 10))
}

// isExact reports whether every JSON parser reads the same number.
func isExact(n json.Number) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(n.String()), "e")
	return len(strings.Trim(strings.Replace(strings.TrimPrefix(mantissa, "-"), ".", "", 1), "0")) <= 15
}

func sameNumber(a, b json.Number) bool {
	x, errX := a.Float64()
	y, errY := b.Float64()
	return a == b || errX == nil && errY == nil && x == y
}

// isNumber reports whether text is a number in the syntax of JSON.
func isNumber(text string) bool {
	text = strings.TrimPrefix(text, "-")
	whole := digits(text)
	if whole == 0 || whole > 1 && text[0] == '0' {
		return false
	}
	text = text[whole:]
	if rest, ok := strings.CutPrefix(text, "."); ok {
		fraction := digits(rest)
		if fraction == 0 {
			return false
		}
		text = rest[fraction:]
	}
	if text != "" && (text[0] == 'e' || text[0] == 'E') {
		text = text[1:]
		if text != "" && (text[0] == '+' || text[0] == '-') {
			text = text[1:]
		}
		return text != "" && digits(text) == len(text)
	}
	return text == ""
}

func digits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

// hugeNumber reports whether arithmetic on a number would take too long.
func hugeNumber(text string) bool {
	if len(text) > maxDigits {
		return true
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		power, err := strconv.Atoi(strings.TrimPrefix(text[i+1:], "+"))
		return err != nil || power > maxPower || power < -maxPower
	}
	return false
}

func roundTo(value, step *big.Rat) *big.Rat {
	half := new(big.Rat).Add(new(big.Rat).Quo(value, step), big.NewRat(1, 2))
	whole := new(big.Int).Div(half.Num(), half.Denom()) // rounds down, because the denominator is positive
	return new(big.Rat).Mul(new(big.Rat).SetInt(whole), step)
}

// jsonNumber encodes a number that every JSON parser can represent, and rejects larger ones.
func jsonNumber(r *big.Rat) (json.Number, bool) {
	text := ratText(r)
	f, _ := r.Float64()
	return json.Number(text), isNumber(text) && math.Abs(f) < 1<<53
}
