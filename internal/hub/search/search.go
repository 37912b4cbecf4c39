// Package search finds tools by words: in their names, descriptions and arguments. The ranking is Okapi BM25
// (Robertson and Zaragoza, 2009), in which a word of a name counts as much as several of a description.
package search

import (
	"math"
	"strings"
	"unicode"

	"github.com/gauze-mcp/gauze/internal/text/sorting"
)

// Tool is what is known of a tool.
type Tool struct {
	Name        string
	Description string
	Arguments   []string // names and descriptions
}

// How much a word counts by where it is.
const (
	inName        = 4
	inArguments   = 1
	inDescription = 1
)

// Index finds tools.
type Index struct {
	tools   []map[string]float64 // how often each word occurs
	lengths []float64
	mean    float64
	having  map[string]int // in how many tools a word occurs
}

// New returns an index of tools.
func New(tools []Tool) *Index {
	x := &Index{having: map[string]int{}}
	for _, t := range tools {
		count := map[string]float64{}
		length := 0.0
		add := func(text string, weight float64) {
			for _, word := range Words(text) {
				count[word] += weight
				length += weight
			}
		}
		add(t.Name, inName)
		add(t.Description, inDescription)
		for _, argument := range t.Arguments {
			add(argument, inArguments)
		}
		for word := range count {
			x.having[word]++
		}
		x.tools, x.lengths = append(x.tools, count), append(x.lengths, length)
		x.mean += length / float64(len(tools))
	}
	return x
}

// Parameters of BM25, at their usual values.
const (
	saturation = 1.2
	byLength   = 0.75
)

// Find returns the numbers of the tools that fit a query best, at most n of them, the best first. Tools without any of
// its words are not returned.
func (x *Index) Find(query string, n int) (found []int) {
	scores := map[int]float64{}
	for _, word := range Words(query) {
		having := float64(x.having[word])
		if having == 0 {
			continue
		}
		rarity := math.Log(1 + (float64(len(x.tools))-having+0.5)/(having+0.5))
		for i, count := range x.tools {
			if often := count[word]; often > 0 {
				scores[i] += rarity * often * (saturation + 1) / (often + saturation*(1-byLength+byLength*x.lengths[i]/x.mean))
			}
		}
	}
	for i := range x.tools { // in order, so that equal ones are in the order of the list
		if scores[i] > 0 {
			found = append(found, i)
		}
	}
	sorting.Stable(found, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	return found[:min(n, len(found))]
}

// Words returns the words of a text in lower case, without their endings: parts of names such as createIssue and
// create_issue are words.
func Words(text string) (words []string) {
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, stem(string(word)))
		}
		word = word[:0]
	}
	lower := false
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
		case unicode.IsUpper(r) && lower:
			end()
			fallthrough
		default:
			word = append(word, unicode.ToLower(r))
		}
		lower = unicode.IsLower(r)
	}
	end()
	return words
}

// stem removes the commonest endings of English words.
func stem(word string) string {
	for _, ending := range []string{"ing", "ies", "es", "ed", "s"} {
		if short, found := strings.CutSuffix(word, ending); found && len(short) >= 3 {
			if ending == "ies" {
				short += "y"
			}
			return strings.TrimSuffix(short, "e")
		}
	}
	if len(word) > 3 {
		return strings.TrimSuffix(word, "e")
	}
	return word
}
