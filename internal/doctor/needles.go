package doctor

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A few hundred patterns against a page of log take too long one by one. But
// each of them holds words that are in every text it can match, its needles;
// one walk through the text finds all needles of all patterns (Aho and
// Corasick's automaton). A pattern is tried only if all it needs is there, and
// only around the rarest.

// pattern is an expression that is compiled when it is first of use.
type pattern struct {
	source  string
	compile func() *regexp.Regexp
	needles []int   // one of them is in every match: where to look
	needs   [][]int // and one of each of these
	lines   bool    // it can match more than one line
}

func newPattern(source string, finder *finder) *pattern {
	p := &pattern{source: source}
	p.compile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		panic("doctor: " + err.Error())
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
	return p
}

// matchesLines tells whether a line end can be in a match.
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

// needlesOf are sets of words; one word of each set is in every match.
func needlesOf(tree *syntax.Regexp) (sets [][]string) {
	switch tree.Op {
	case syntax.OpLiteral:
		word := lowerASCII(string(tree.Rune))
		if tree.Flags&syntax.FoldCase != 0 { // the walk knows only ASCII in both cases
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

// worth is how rare a set of needles is likely to be: the shortest decides.
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

// finder is the automaton. Letters count in any case.
type finder struct {
	words  []string
	number map[string]int

	class   [256]uint8 // bytes that are in no needle are all 0
	classes int
	next    []int32 // state*classes + class -> state
	ends    []int32 // the needle that ends in a state, or -1
	shorter []int32 // the next state in which a shorter needle ends, or 0
}

func (f *finder) add(word string) int {
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

// build makes the automaton of the words added.
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
	state := func() int32 {
		f.next = append(f.next, make([]int32, f.classes)...)
		f.ends = append(f.ends, -1)
		return int32(len(f.ends) - 1)
	}
	state()
	for n, word := range f.words {
		at := int32(0)
		for _, c := range []byte(word) {
			to := &f.next[int(at)*f.classes+int(f.class[c])]
			if *to == 0 {
				fresh := state() // moves f.next
				to = &f.next[int(at)*f.classes+int(f.class[c])]
				*to = fresh
			}
			at = *to
		}
		f.ends[at] = int32(n)
	}
	f.shorter = make([]int32, len(f.ends))
	fail := make([]int32, len(f.ends))
	var queue []int32
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

// Of each needle the first and the last places are kept: in a log that repeats
// itself, the middle says nothing new.
const (
	firstHits = 12
	lastHits  = 12
)

// hits are where a needle ends.
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

// each calls f with the places in order until it returns false.
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

// find returns the hits of each needle, nil for one that is not there.
func (f *finder) find(text string) []*hits {
	found := make([]*hits, len(f.words))
	state := int32(0)
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

// lowerASCII leaves the length as it is.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
