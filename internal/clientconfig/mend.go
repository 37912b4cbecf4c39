package clientconfig

import "slices"

// Mend makes the fixes that need no more than a consent, one after the other,
// and looks again after each, until there is none left to make. It changes
// nothing on disk. To mend what is mended changes nothing.
func (c *Config) Mend(allow Consent, only ...Code) (now *Config, made []Problem) {
	const most = 1000
	now = c
	refused := map[Code]int{}
	for range most {
		next, p, ok := now.mendOnce(allow, only, refused)
		if !ok {
			break
		}
		now, made = next, append(made, p)
	}
	return now, made
}

func (c *Config) mendOnce(allow Consent, only []Code, refused map[Code]int) (*Config, Problem, bool) {
	skipped := map[Code]int{}
	for _, p := range c.Lint() {
		if p.Fix == nil || p.Consent > allow || len(only) > 0 && !slices.Contains(only, p.Code) {
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
