package repair

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// maxSpelled limits the length of a string made from a pattern.
const maxSpelled = 1_000

// spellings returns strings that a pattern matches, of the required length.
func spellings(pattern string, length span) (list []string) {
	if length.least > maxSpelled {
		return nil
	}
	for _, more := range []int{0, 1, 2, 3, 5, 8, length.least, length.least / 2, length.least / 3} {
		if text, ok := spell(pattern, more); ok && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	for _, text := range slices.Clone(list) { // the pattern may allow a longer string
		if missing := length.least - len([]rune(text)); missing > 0 {
			list = append(list, text+strings.Repeat("a", missing), strings.Repeat("a", missing)+text)
		}
	}
	return list
}

// spell returns a string that a pattern matches, with some optional repetitions. It ignores
// assertions, so the string has to be checked.
func spell(pattern string, more int) (string, bool) {
	tree, err := syntax.Parse(fromECMA(pattern), syntax.Perl)
	if err != nil {
		return "", false
	}
	return spellNode(tree, more)
}

func spellNode(node *syntax.Regexp, more int) (text string, ok bool) {
	times, parts := 1, node.Sub
	switch node.Op {
	case syntax.OpLiteral:
		return string(node.Rune), true
	case syntax.OpCharClass:
		return typical(node.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a", true
	case syntax.OpNoMatch:
		return "", false
	case syntax.OpAlternate:
		parts = parts[:1]
	case syntax.OpStar:
		times = more
	case syntax.OpPlus:
		times = 1 + more
	case syntax.OpQuest:
		times = min(1, more)
	case syntax.OpRepeat:
		if times = node.Min + more; node.Max >= 0 {
			times = min(times, node.Max)
		}
	}
	for range times {
		for _, part := range parts {
			spelled, ok := spellNode(part, more)
			if text += spelled; !ok || len(text) > maxSpelled {
				return "", false
			}
		}
	}
	return text, true
}

// typical returns the character of a class that people would choose first.
func typical(ranges []rune) (string, bool) {
	for _, r := range "axAX10-_. !#$%&()*+,/:;<=>?@bcdefghijklmnopqrstuvwyzBCDEFGHIJKLMNOPQRSTUVWYZ23456789äßж中" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= r && r <= ranges[i+1] {
				return string(r), true
			}
		}
	}
	return "", false
}
