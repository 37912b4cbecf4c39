package repair

import (
	"regexp/syntax"
	"strings"
	"unicode"
)

// maxSpelled limits the length of a string made from a pattern.
const maxSpelled = 1_000

// spell returns a string that a pattern matches, with some optional repetitions. It ignores
// assertions, so the string has to be checked.
func spell(pattern string, more int) (string, bool) {
	tree, err := syntax.Parse(fromECMA(pattern), syntax.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	ok := spellNode(&b, tree, more)
	return b.String(), ok
}

func spellNode(b *strings.Builder, node *syntax.Regexp, more int) bool {
	if b.Len() > maxSpelled {
		return false
	}
	switch node.Op {
	case syntax.OpLiteral:
		b.WriteString(string(node.Rune))
	case syntax.OpCharClass:
		r, ok := typical(node.Rune)
		b.WriteRune(r)
		return ok
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpStar:
		return spellTimes(b, node.Sub[0], 0, -1, more)
	case syntax.OpPlus:
		return spellTimes(b, node.Sub[0], 1, -1, more)
	case syntax.OpQuest:
		return spellTimes(b, node.Sub[0], 0, 1, more)
	case syntax.OpRepeat:
		return spellTimes(b, node.Sub[0], node.Min, node.Max, more)
	case syntax.OpAlternate:
		return spellNode(b, node.Sub[0], more)
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range node.Sub {
			if !spellNode(b, sub, more) {
				return false
			}
		}
	case syntax.OpNoMatch:
		return false
	}
	return true
}

func spellTimes(b *strings.Builder, node *syntax.Regexp, least, most, more int) bool {
	times := least + more
	if most >= 0 {
		times = min(times, most)
	}
	for range times {
		if !spellNode(b, node, more) {
			return false
		}
	}
	return true
}

// typical returns the character of a class that people would choose first.
func typical(ranges []rune) (rune, bool) {
	for _, r := range "axAX10-_. " {
		if inRanges(ranges, r) {
			return r, true
		}
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1] && r < ranges[i]+200; r++ {
			if unicode.IsPrint(r) {
				return r, true
			}
		}
	}
	return 0, false
}

func inRanges(ranges []rune, r rune) bool {
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i] <= r && r <= ranges[i+1] {
			return true
		}
	}
	return false
}
