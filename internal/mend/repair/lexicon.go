package repair

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

//go:embed words.txt
var wordsText string

// lexicon returns sets of words by name, with the value of each word.
var lexicon = sync.OnceValue(func() map[string]map[string]string {
	sets := map[string]map[string]string{}
	for _, section := range regex.NewTable(wordsText).Sections() {
		set := map[string]string{}
		for _, word := range strings.Fields(strings.Join(section.Lines, " ")) {
			word, value, _ := strings.Cut(word, "=")
			set[word] = value
		}
		sets[section.Name] = set
	}
	return sets
})

// isIn reports whether a word is in a set of the lexicon.
func isIn(set, word string) bool {
	_, is := lexicon()[set][word]
	return is
}
