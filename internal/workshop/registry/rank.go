package registry

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/gauze-mcp/gauze/internal/text/sorting"
)

// split returns the words of a text in lower case.
func split(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// plainWords returns the words to search for, without duplicates and limited in number and length.
func plainWords(texts []string) (words []string) {
	const maxWords, maxLen = 8, 64
	for _, word := range split(strings.Join(texts, " ")) {
		if len(words) < maxWords && len(word) <= maxLen && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// searchQueries returns the queries for a search: the words joined like a name, then each word.
func searchQueries(words []string) (queries []string) {
	if len(words) > 1 {
		queries = append(queries, strings.Join(words, "-"))
	}
	for _, word := range words {
		if strings.Contains(commonSpace, word) {
			queries = append(queries, "/"+word, "-"+word) // the word alone would match half of all names
			continue
		}
		queries = append(queries, word)
	}
	return queries[:min(maxQueries, len(queries))]
}

// commonSpace is the prefix of publishers without a domain. It says nothing about a server.
const commonSpace = "io.github."

// newest keeps the newest version of each server, in the given order.
func newest(servers []Server) (kept []Server) {
	at := map[string]int{}
	for _, server := range servers {
		i, known := at[server.Name]
		switch {
		case !known:
			at[server.Name] = len(kept)
			kept = append(kept, server)
		case server.Updated.After(kept[i].Updated):
			kept[i] = server
		}
	}
	return kept
}

// rank returns the servers that match at least one word, best first.
func rank(servers []Server, words []string) []Server {
	type ranked struct {
		server      Server
		hits, score int
	}
	var all []ranked
	for _, server := range servers {
		r := ranked{server: server}
		for _, word := range words {
			if score := server.score(word); score > 0 {
				r.hits++
				r.score += score
			}
		}
		if r.hits > 0 {
			all = append(all, r)
		}
	}
	sorting.Stable(all, func(a, b ranked) int {
		return cmp.Or(
			cmp.Compare(b.hits, a.hits),
			last(a.server.Deprecated, b.server.Deprecated),
			cmp.Compare(b.score, a.score),
			prefer(a.server, b.server))
	})
	best := make([]Server, len(all))
	for i, r := range all {
		best[i] = r.server
	}
	return best
}

// score rates how well a word matches a server: 8 for its name, 1 for a part of a word in its
// description.
func (s Server) score(word string) int {
	name := strings.TrimPrefix(strings.ToLower(s.Name), commonSpace)
	_, own, _ := strings.Cut(name, "/")
	packages := ""
	for _, way := range s.Ways {
		packages += " " + way.Name
	}
	switch {
	case slices.Equal(distinctive(own), []string{word}):
		return 8
	case slices.Contains(split(own), word):
		return 6
	case slices.Contains(split(s.Title), word):
		return 5
	case slices.Contains(split(name), word), slices.Contains(split(packages), word):
		return 4
	case slices.Contains(split(s.About), word):
		return 3
	case strings.Contains(name+strings.ToLower(packages), word):
		return 2
	case strings.Contains(strings.ToLower(s.Title+" "+s.About), word):
		return 1
	}
	return 0
}

// prefer orders equally good matches: not deprecated, startable, newest first.
func prefer(a, b Server) int {
	return cmp.Or(
		last(a.Deprecated, b.Deprecated),
		last(len(a.Ways) == 0, len(b.Ways) == 0),
		b.Updated.Compare(a.Updated),
		strings.Compare(a.Name, b.Name))
}

// last orders true after false.
func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
