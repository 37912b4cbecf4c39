package registry

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// split is a text in words, folded: what stands between letters and digits.
func split(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// plainWords are words as they are looked for: split, each once, few, none so long that it is no word.
func plainWords(texts []string) (words []string) {
	const most, longest = 8, 64
	for _, word := range split(strings.Join(texts, " ")) {
		if len(words) < most && len(word) <= longest && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// searchQueries are what the registry is asked for: the words as names join them, then each alone.
func searchQueries(words []string) (queries []string) {
	if len(words) > 1 {
		queries = append(queries, strings.Join(words, "-"))
	}
	for _, word := range words {
		if strings.Contains(commonSpace, word) {
			queries = append(queries, "/"+word, "-"+word) // else it is found in half of all names
			continue
		}
		queries = append(queries, word)
	}
	return queries[:min(maxQueries, len(queries))]
}

// commonSpace begins the names of all who have no domain of their own, and says nothing about them.
const commonSpace = "io.github."

// newest keeps one version of each server, the newest, in the order they came.
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

// rank keeps the servers that have something to do with the words, best first.
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
	slices.SortFunc(all, func(a, b ranked) int {
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

// score is how much a word says about a server: most as its name, least as a part of a word of its description.
func (s Server) score(word string) int {
	name := strings.TrimPrefix(strings.ToLower(s.Name), commonSpace)
	_, own, _ := strings.Cut(name, "/")
	packages := ""
	for _, way := range s.Ways {
		packages += " " + way.Name
	}
	switch {
	case slices.Equal(telling(own), []string{word}):
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

// prefer orders servers that say the same: those in use, those we can start, the newest.
func prefer(a, b Server) int {
	return cmp.Or(
		last(a.Deprecated, b.Deprecated),
		last(len(a.Ways) == 0, len(b.Ways) == 0),
		b.Updated.Compare(a.Updated),
		strings.Compare(a.Name, b.Name))
}

// last puts what is so behind what is not.
func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
