package clientconfig

import "slices"

// Mend makes the fixes that need no more than a consent, one after the other,
// and looks again after each, until there is none left to make. It changes
// nothing on disk. To mend what is mended changes nothing.
func (c *Config) Mend(allow Consent, only ...Code) (now *Config, made []Problem) {
	now, made, _ = c.MendIf(func(p Problem) bool { return p.Consent <= allow && (len(only) == 0 || slices.Contains(only, p.Code)) })
	return now, made
}

// Refused is a problem whose fix cannot be made in this file, and why.
type Refused struct {
	Problem
	Because error
}

// MendIf is Mend for those of the problems that somebody wants mended. What
// was wanted and could not be done is told.
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
	skip := map[Code]int{} // those that were refused come first in every look
	for _, r := range *refused {
		skip[r.Code]++
	}
	problems := c.Lint()
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Fix.turn() - b.Fix.turn() })
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

// mended is the file with one fix made, if nothing changes beside it.
func (c *Config) mended(p Problem) (*Config, error) {
	file, err := p.Fix.Apply(c.Format(), c.Text)
	if err != nil {
		return nil, err
	}
	now := c.Home.ReadText(c.File, file)
	switch {
	case p.entry != nil && !c.sameBeside(now, p.entry):
		return nil, Skipped(sharing)
	case p.entry == nil && p.Fix.onlyCuts() && !c.sameAll(now):
		return nil, Skipped("the client would read the file differently")
	}
	return now, nil
}

// onlyCuts tells whether nothing but bytes without a meaning are taken out.
func (e Edit) onlyCuts() bool {
	return !slices.ContainsFunc(e, func(c Change) bool { return c.Do != Put || c.Text != "" })
}

// turn says what is mended first: the text, then names, then the rest. Nothing
// is added beside a member that only has a wrong name.
func (e Edit) turn() int {
	switch {
	case len(e) > 0 && e[0].Do == Put:
		return 0
	case len(e) > 0 && e[0].Do == Rename:
		return 1
	}
	return 2
}
