package clientconfig

import "slices"

// Mend makes the fixes that need no more than a consent, one after the other,
// and looks again after each, until there is none left to make. It changes
// nothing on disk. To mend what is mended changes nothing.
func (c *Config) Mend(allow Consent, only ...Code) (now *Config, made []Problem) {
	return c.MendIf(func(p Problem) bool { return p.Consent <= allow && (len(only) == 0 || slices.Contains(only, p.Code)) })
}

// MendIf is Mend for those of the problems that somebody wants mended.
func (c *Config) MendIf(wanted func(Problem) bool) (now *Config, made []Problem) {
	const most = 200
	now = c
	refused := map[Code]int{}
	for range most {
		next, p, ok := now.mendOnce(wanted, refused)
		if !ok {
			break
		}
		now, made = next, append(made, p)
	}
	return now, made
}

func (c *Config) mendOnce(wanted func(Problem) bool, refused map[Code]int) (*Config, Problem, bool) {
	skipped := map[Code]int{}
	problems := c.Lint()
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Fix.turn() - b.Fix.turn() })
	for _, p := range problems {
		if p.Fix == nil || !wanted(p) {
			continue
		}
		if skipped[p.Code] < refused[p.Code] { // those come first in every look
			skipped[p.Code]++
			continue
		}
		file, err := p.Fix.Apply(c.Format(), c.Text)
		if err != nil {
			refused[p.Code]++
			skipped[p.Code]++
			continue
		}
		return c.Home.ReadText(c.File, file), p, true
	}
	return c, Problem{}, false
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
