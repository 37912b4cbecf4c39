package doctor

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// variableList matches names of variables that are listed together: "A_B, C_D and E_F", or one per
// line with a bullet.
var variableList = sync.OnceValue(func() *regexp.Regexp {
	const (
		name  = `[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+`
		quote = "['\"`)\\]}]*"
		open  = "['\"`(\\[]*\\$?\\{?"
		join  = `(?:\s*(?:,|;|/|&|\+|\band\b|\bor\b)|\s*\n\s*(?:[-*•]|\d+[.)]))`
	)
	return regexp.MustCompile(`\b` + name + `(?:` + quote + join + `+\s*` + open + name + `\b)*`)
})

var oneVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+`) })

// maxVariables bounds how many variables one message may name.
const maxVariables = 12

// listedWith returns the variables that a text lists together with name, which may be alone.
func listedWith(text, name string) []string {
	for _, list := range variableList().FindAllString(text, -1) {
		names := oneVariable().FindAllString(list, maxVariables)
		if !slices.Contains(names, name) {
			continue
		}
		names = slices.DeleteFunc(names, func(name string) bool { return isCode(name) || loads(name) })
		if len(names) > 1 {
			return unique(names)
		}
	}
	return []string{name}
}

func unique(names []string) (all []string) {
	for _, name := range names {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// inWords returns a list as it is written in a sentence: "A, B and C".
func inWords(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// listed returns the variables that the evidence of a cause names.
func (x *exam) listed(m *match) []string { return listedIn(x.text, m.names) }

// listedIn is listed for what a clue captured in a text.
func listedIn(text string, names map[string]string) []string {
	name := names["variable"]
	if !shapes["variable"].MatchString(name) || loads(name) {
		return nil
	}
	all := strings.Split(names["variables"], ", ") // see nameDemanded
	if all[0] == name && !slices.ContainsFunc(all, func(name string) bool { return !isVariable(name) || loads(name) }) {
		return all
	}
	return listedWith(text, name)
}

// several reports whether the evidence names more than one missing variable.
func several(x *exam, m *match) bool { return len(x.listed(m)) > 1 }
