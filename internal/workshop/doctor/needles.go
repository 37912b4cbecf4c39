package doctor

import (
	"errors"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Matching a few hundred patterns one by one against a page of log takes too long. But each of them
// contains words that are in every text it can match, its needles. One pass over the text finds all
// needles of all patterns (with Aho and Corasick's automaton), and a pattern is tried only if
// everything it needs is there, and only around the rarest needle.

// pattern is a regular expression that is compiled when it is first needed.
type pattern struct {
	source  string
	compile func() *regexp.Regexp
	needles []int   // one of them is in every match; the search starts there
	needs   [][]int // one of each of these sets is also in every match
	lines   bool    // whether it can match more than one line
}

// mustPattern is newPattern for a pattern in Go.
func mustPattern(source string, finder *finder) *pattern {
	p, err := newPattern(source, finder)
	if err != nil {
		panic("doctor: " + err.Error())
	}
	return p
}

func newPattern(source string, finder *finder) (*pattern, error) {
	p := &pattern{source: source}
	p.compile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	p.lines = matchesLines(tree)
	best := 0
	for _, words := range needlesOf(tree) {
		var set []int
		for _, word := range words {
			set = append(set, finder.add(word))
		}
		if worth(words) > best {
			best, p.needles = worth(words), set
		}
		p.needs = append(p.needs, set)
	}
	if len(p.needles) == 0 {
		return nil, errors.New("the pattern contains no literal word: each of its alternatives must contain one of at least two letters")
	}
	return p, nil
}

// matchesLines reports whether a match can contain a newline.
func matchesLines(tree *syntax.Regexp) bool {
	switch tree.Op {
	case syntax.OpLiteral:
		return slices.Contains(tree.Rune, '\n')
	case syntax.OpAnyChar:
		return true
	case syntax.OpCharClass:
		for i := 0; i+1 < len(tree.Rune); i += 2 {
			if tree.Rune[i] <= '\n' && '\n' <= tree.Rune[i+1] {
				return true
			}
		}
	}
	return slices.ContainsFunc(tree.Sub, matchesLines)
}

// needlesOf returns sets of words. Every match contains one word of each set.
func needlesOf(tree *syntax.Regexp) (sets [][]string) {
	switch tree.Op {
	case syntax.OpLiteral:
		word := lowerASCII(string(tree.Rune))
		if tree.Flags&syntax.FoldCase != 0 { // the automaton folds only ASCII
			word = longestASCII(word)
		}
		if len(word) > 1 {
			return [][]string{{word}}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needlesOf(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return needlesOf(tree.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range tree.Sub {
			sets = append(sets, needlesOf(sub)...)
		}
	case syntax.OpAlternate:
		var either []string
		for _, sub := range tree.Sub {
			found := rarest(needlesOf(sub))
			if len(found) == 0 {
				return nil
			}
			either = append(either, found...)
		}
		return [][]string{either}
	}
	return sets
}

func longestASCII(word string) (longest string) {
	for _, part := range strings.FieldsFunc(word, func(r rune) bool { return r > unicode.MaxASCII }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

func rarest(sets [][]string) (best []string) {
	for _, set := range sets {
		if worth(set) > worth(best) {
			best = set
		}
	}
	return best
}

// worth estimates how rare a set of needles is, by the shortest of them.
func worth(needles []string) int {
	if len(needles) == 0 {
		return 0
	}
	shortest := 1 << 10
	for _, needle := range needles {
		shortest = min(shortest, len(needle))
	}
	return 100*shortest - len(needles)
}

// finder is the automaton. It ignores case.
type finder struct {
	words  []string
	number map[string]int

	class   [256]uint8 // 0 for bytes that are not in any needle
	classes int
	next    []uint16 // state*classes + class -> state
	ends    []int32  // the needle that ends in a state, or -1
	shorter []uint16 // the next state in which a shorter needle ends, or 0
}

// maxNeedle bounds the automaton: the beginning of a word is also in every match, and nearly as
// rare.
const maxNeedle = 12

func (f *finder) add(word string) int {
	word = word[:min(len(word), maxNeedle)]
	if f.number == nil {
		f.number = map[string]int{}
	}
	n, ok := f.number[word]
	if !ok {
		n = len(f.words)
		f.words, f.number[word] = append(f.words, word), n
	}
	return n
}

// build builds the automaton from the added words.
func (f *finder) build() {
	f.classes = 1
	for _, word := range f.words {
		for _, c := range []byte(word) {
			if f.class[c] == 0 {
				f.class[c] = uint8(f.classes)
				f.classes++
			}
		}
	}
	for c := byte('A'); c <= 'Z'; c++ {
		f.class[c] = f.class[c|0x20]
	}
	states := 1 + distinctPrefixes(f.words)
	if states > math.MaxUint16 {
		panic("doctor: the patterns contain too many words")
	}
	f.next = make([]uint16, states*f.classes)
	f.ends = make([]int32, 0, states)
	state := func() uint16 {
		f.ends = append(f.ends, -1)
		return uint16(len(f.ends) - 1)
	}
	state()
	for n, word := range f.words {
		at := uint16(0)
		for _, c := range []byte(word) {
			to := &f.next[int(at)*f.classes+int(f.class[c])]
			if *to == 0 {
				*to = state()
			}
			at = *to
		}
		f.ends[at] = int32(n)
	}
	f.link()
}

// link adds where the search continues if no word goes on with the next byte.
func (f *finder) link() {
	f.shorter = make([]uint16, len(f.ends))
	fail := make([]uint16, len(f.ends))
	queue := make([]uint16, 0, len(f.ends))
	for _, to := range f.next[:f.classes] {
		if to != 0 {
			queue = append(queue, to)
		}
	}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		for c := range f.classes {
			to := &f.next[int(at)*f.classes+c]
			back := f.next[int(fail[at])*f.classes+c]
			if *to == 0 {
				*to = back
				continue
			}
			fail[*to] = back
			f.shorter[*to] = back
			if f.ends[back] < 0 {
				f.shorter[*to] = f.shorter[back]
			}
			queue = append(queue, *to)
		}
	}
}

// distinctPrefixes counts the distinct prefixes of words: each is a state.
func distinctPrefixes(words []string) (n int) {
	sorted := slices.Sorted(slices.Values(words))
	last := ""
	for _, word := range sorted {
		shared := 0
		for shared < min(len(word), len(last)) && word[shared] == last[shared] {
			shared++
		}
		n += len(word) - shared
		last = word
	}
	return n
}

// Of each needle, only the first and the last hits are kept: in a log that repeats itself, the
// middle adds nothing.
const (
	firstHits = 12
	lastHits  = 12
)

// hits are the positions at which a needle ends.
type hits struct {
	first [firstHits]int32
	last  [lastHits]int32 // a ring
	count int
}

func (h *hits) add(at int) {
	if h.count < firstHits {
		h.first[h.count] = int32(at)
	} else {
		h.last[(h.count-firstHits)%lastHits] = int32(at)
	}
	h.count++
}

// each calls f with the positions in order until it returns false.
func (h *hits) each(f func(at int) bool) {
	for i := range min(h.count, firstHits) {
		if !f(int(h.first[i])) {
			return
		}
	}
	later := h.count - firstHits
	for i := max(0, later-lastHits); i < later; i++ {
		if !f(int(h.last[i%lastHits])) {
			return
		}
	}
}

// find returns the hits of each needle, nil for a needle that is not in text.
func (f *finder) find(text string) []*hits {
	found := make([]*hits, len(f.words))
	state := uint16(0)
	for i := range len(text) {
		state = f.next[int(state)*f.classes+int(f.class[text[i]])]
		for at := state; at != 0; at = f.shorter[at] {
			if n := f.ends[at]; n >= 0 {
				if found[n] == nil {
					found[n] = &hits{}
				}
				found[n].add(i + 1)
			}
		}
	}
	return found
}

// lowerASCII returns s with ASCII letters in lower case, in the same length.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
