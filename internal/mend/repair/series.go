package repair

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// renumbered reports whether keys are a series that the schema names differently, as pointC and
// pointD for pointA and pointB, and this is one of them. Nothing else can be meant: the series that
// was sent is the whole of what the schema does not declare, the declared one is the whole of what is
// missing, they are equally long, and the order of the names is the order of the values.
func (o sentObject) renumbered(old, name string) bool {
	sent, missing := o.unknown(len(o.members)), o.missingFrom()
	declared := o.schema.properties(o.path)
	areSeries := len(sent) > 1 && len(sent) == len(missing) && isSeries(sent, old) && isSeries(missing, name)
	if !areSeries {
		return false
	}
	stem, _ := numbered(name)
	for key := range declared { // a series of which a part was sent is continued, not renamed
		if other, _ := numbered(key); other == stem && !slices.Contains(missing, key) {
			return false
		}
	}
	at := slices.Index(sent, old)
	for i := range sent {
		if !fitsNode(declared[missing[i]], o.members[sent[i]]) {
			return false
		}
	}
	return at >= 0 && missing[at] == name
}

// isSeries sorts names and reports whether they are a series without gaps to which a name belongs.
func isSeries(all []string, name string) bool {
	stem, _ := numbered(name)
	position := func(key string) int {
		other, n := numbered(key)
		if other != stem {
			return -1
		}
		return n
	}
	slices.SortFunc(all, func(a, b string) int { return position(a) - position(b) })
	for i, key := range all {
		if n := position(key); n < 0 || i > 0 && n != position(all[i-1])+1 {
			return false
		}
	}
	return stem != ""
}

// numbered splits a name such as pointA or item_2 into its stem and its position. The stem is empty
// if there is none.
func numbered(name string) (stem string, position int) {
	parts := seriesForm.FindStringSubmatch(name)
	if parts == nil {
		return "", 0
	}
	mark := parts[2] + parts[3]
	if n, err := strconv.Atoi(mark); err == nil {
		return foldKey(parts[1]) + " number", n
	}
	return foldKey(parts[1]) + " letter", int(strings.ToLower(mark)[0])
}

// seriesForm is a name with a capital letter, a letter after a separator, or a number at the end.
var seriesForm = regex.New(`^([a-z][A-Za-z_-]*[a-z])(?:([A-Z]|[1-9][0-9]?)|[_-]([A-Za-z]|[1-9][0-9]?))$`)
