package clientconfig

import (
	"slices"

	"github.com/gauze-mcp/gauze/internal/text/sorting"
)

// Refused is a problem whose fix cannot be applied to this file, and why.
type Refused struct {
	Problem
	Because error
}

// MendIf applies the wanted fixes, one at a time, and checks the file again after each until none is
// left. It changes nothing on disk and is idempotent. It also returns the wanted fixes that could not be
// applied.
func (c *Config) MendIf(wanted func(Problem) bool) (now *Config, made []Problem, refused []Refused) {
	const maxFixes = 200
	now = c
	for range maxFixes {
		next, p, ok := now.mendOnce(wanted, &refused)
		if !ok {
			break
		}
		now, made = next, append(made, p)
	}
	return now, made, refused
}

func (c *Config) mendOnce(wanted func(Problem) bool, refused *[]Refused) (*Config, Problem, bool) {
	skip := map[Code]int{} // refused fixes come first at every check
	for _, r := range *refused {
		skip[r.Code]++
	}
	problems := c.Lint()
	sorting.Stable(problems, func(a, b Problem) int { return a.Fix.order() - b.Fix.order() })
	for _, p := range problems {
		if p.Fix == nil || !wanted(p) {
			continue
		}
		if skip[p.Code] > 0 {
			skip[p.Code]--
			continue
		}
		next, err := c.mended(p)
		if err == nil {
			return next, p, true
		}
		*refused = append(*refused, Refused{p, err})
	}
	return c, Problem{}, false
}

// mended returns the file with one fix applied, if nothing else changes.
func (c *Config) mended(p Problem) (*Config, error) {
	file, err := p.Fix.Apply(c.Format(), c.Text)
	if err != nil {
		return nil, err
	}
	now := c.Home.ReadText(c.File, file)
	switch {
	case p.entry != nil && !c.sameBeside(now, p.entry):
		return nil, Skipped(sharesAlias)
	case p.entry == nil && p.Fix.onlyCuts() && !c.sameAll(now):
		return nil, Skipped("the client would interpret the file differently")
	}
	return now, nil
}

// onlyCuts reports whether the edit only removes bytes.
func (e Edit) onlyCuts() bool {
	return !slices.ContainsFunc(e, func(c Change) bool { return c.Do != Put || c.Text != "" })
}

// order ranks fixes: text first, then names, then the rest, so that no field is added beside one
// that only has a wrong name.
func (e Edit) order() int {
	switch {
	case len(e) > 0 && e[0].Do == Put:
		return 0
	case len(e) > 0 && e[0].Do == Rename:
		return 1
	}
	return 2
}
