package doctor

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/gauze-mcp/gauze/internal/text/sorting"
)

// exam is a case while it is examined.
type exam struct {
	Case
	page
	cmd     command
	table   *table
	reports map[*fact][][]*match // of each fact, by its clues
}

func newExam(c Case) *exam { return knowledge().exam(c) }

func (t *table) exam(c Case) *exam {
	x := &exam{Case: c, cmd: newCommand(c.Command, c.URL), table: t}
	x.text = c.words()
	x.hits = x.table.finder.find(x.text)
	return x
}

// finding is a cause with its best clue.
type finding struct {
	cause      *cause
	confidence float64
	match      *match
	clue       *clue
	report     *clue // of the fact that clue is about, if it is
	hidden     bool
}

// Diagnose returns the cause of a failure. For a log, it depends only on the case. For a server that
// gauze watched on this machine, it also checks whether a file or program that the server misses exists.
func Diagnose(c Case) Diagnosis {
	x := newExam(c)
	return x.decide(x.findings())
}

// decide returns the diagnosis for the causes with a clue, best first.
func (x *exam) decide(found []finding) Diagnosis {
	if len(found) == 0 || found[0].confidence < doubt {
		return x.unknown()
	}
	// A response that gauze saw itself outweighs words that only suggest a cause.
	if d := x.unknown(); found[0].confidence <= faint && x.URL != "" && d.Cause == serverError {
		return d
	}
	d := x.tell(found[0])
	if !x.Live && d.Tentative() {
		d.Probe = d.probe(x)
	}
	for _, other := range found[1:] {
		if other.confidence <= faint && !d.Tentative() {
			continue // words that only suggest a cause add nothing to one that is likely
		}
		if !other.hidden && len(d.Others) < 3 {
			d.Others = append(d.Others, x.tell(other))
		}
	}
	return d
}

// words returns all text of the case, the most direct first.
func (c *Case) words() string {
	var parts []string
	for _, part := range []string{c.Log, c.Stderr, c.Stdout} {
		if part != "" {
			parts = append(parts, legible(part))
		}
	}
	for _, answer := range c.HTTP {
		if c.Live && c.URL != "" && answer.Status >= 500 {
			continue // an internal error concerns the server's operator
		}
		if answer.Body != "" {
			parts = append(parts, legible(answer.Body))
		}
	}
	for _, e := range c.RPC {
		if e.Said == "" && e.Message != "" {
			parts = append(parts, legible(e.Message))
		}
	}
	return strings.Join(parts, "\n")
}

// findings returns all causes with a clue, best first, consequences last.
func (x *exam) findings() []finding {
	var found []finding
	for i := range x.table.causes {
		c := &x.table.causes[i]
		if !x.possible(c) {
			continue
		}
		if f, ok := x.consider(c); ok {
			found = append(found, f)
		}
	}
	return ranked(found)
}

// possible reports whether the case can have a cause at all.
func (x *exam) possible(c *cause) bool {
	return (x.URL == "" || c.possibleAtURL(x.Live)) && (c.unless == nil || !c.unless(&match{x: x}))
}

// ranked sorts findings, which are in the order of their causes: best first, consequences last.
func ranked(found []finding) []finding {
	for _, f := range found {
		for i := range found {
			if f.hides(found[i].cause) && found[i].confidence < observed {
				found[i].hidden = true
			}
		}
	}
	sorting.Stable(found, func(a, b finding) int {
		if a.hidden != b.hidden {
			if a.hidden {
				return 1
			}
			return -1
		}
		return cmp.Compare(b.confidence, a.confidence)
	})
	return found
}

// hides reports whether another cause is only a consequence of the one that was found.
func (f finding) hides(other *cause) bool {
	return f.confidence >= guess && (slices.Contains(f.cause.hides, other.name) ||
		slices.Contains(f.cause.hides, string(other.category)) && other.category != f.cause.category)
}

// consider returns the best clue of one cause.
func (x *exam) consider(c *cause) (best finding, ok bool) {
	best.cause = c
	wording := c.allowedIn(x)
	for i := range c.clues {
		clue := &c.clues[i]
		if clue.fact != nil {
			x.weigh(clue, &best, wording)
		} else if clue.confidence > best.confidence && (wording || clue.pattern == nil) {
			if m := x.first(c, clue); m != nil {
				best = finding{cause: c, confidence: clue.confidence, match: m, clue: clue}
			}
		}
	}
	if s := x.sightings.of(c.name); s != nil && s.confidence > best.confidence {
		best = finding{cause: c, confidence: s.confidence, match: s.match()}
	}
	return best, best.match != nil
}

// first returns the first match of a cause's clue.
func (x *exam) first(of *cause, c *clue) *match {
	if c.pattern == nil {
		if trial := (&match{x: x, names: map[string]string{}}); c.when(trial) {
			return trial
		}
		return nil
	}
	return x.find(c.pattern, func(m *match) bool {
		m.x = x
		return (c.when == nil || c.when(m)) && !allIsWell(m) && !of.refuted(m)
	})
}

// weigh replaces best by a report of the clue's fact that is better evidence. Without wording, only what
// gauze saw itself counts.
func (x *exam) weigh(c *clue, best *finding, wording bool) {
	for i, reports := range x.read(c.fact) {
		confidence := c.confidence
		if c.asSaid {
			confidence += c.fact.clues[i].confidence
		}
		if confidence <= best.confidence || !wording && c.fact.clues[i].pattern != nil {
			continue
		}
		for _, report := range reports {
			m := *report
			m.names = maps.Clone(report.names)
			if (c.when == nil || c.when(&m)) && !best.cause.refuted(&m) {
				*best = finding{cause: best.cause, confidence: confidence, match: &m, clue: c, report: &c.fact.clues[i]}
				break
			}
		}
	}
}

// read returns the reports of a fact, by its clues. A text is read for a fact once.
func (x *exam) read(f *fact) [][]*match {
	if reports, ok := x.reports[f]; ok {
		return reports
	}
	reports := make([][]*match, len(f.clues))
	for i := range f.clues {
		c := &f.clues[i]
		add := func(m *match) bool {
			m.x = x
			if (c.when == nil || c.when(m)) && (f.when == nil || f.when(m)) && (c.pattern == nil || !allIsWell(m)) {
				reports[i] = append(reports[i], m)
			}
			return false // collect all of them
		}
		if c.pattern == nil {
			add(&match{x: x, names: map[string]string{}})
		} else {
			x.find(c.pattern, add)
		}
	}
	if x.reports == nil {
		x.reports = map[*fact][][]*match{}
	}
	x.reports[f] = reports
	return reports
}

// tell returns a finding as a diagnosis.
func (x *exam) tell(f finding) Diagnosis {
	f.match.x = x // a model's ranking has none
	explain, fix, command := f.cause.explain, f.cause.fix, f.cause.command
	for _, other := range f.cause.instead {
		if other.when(f.match) {
			explain, fix, command = cmp.Or(other.explain, explain), other.fix, other.command
			break
		}
	}
	if s := f.match.own; s != nil {
		explain, fix, command = cmp.Or(s.explain, explain), cmp.Or(s.fix, fix), ""
	}
	d := Diagnosis{
		Category: f.cause.category, Cause: f.cause.name, Confidence: f.confidence, Reasons: []string{},
		Explanation: fill(explain, func(key string) string { return x.name(key, f.match) }),
		Fix:         fill(fix, func(key string) string { return x.advised(key, f.match) }),
		Command:     fill(command, func(key string) string { return x.advised(key, f.match) }),
	}
	d.precise = f.match.own != nil && f.match.own.fix != ""
	if d.Category == MissingEnvVar {
		d.variables = x.listed(f.match)
	}
	if text := x.reason(f.match); text != "" {
		d.Reasons = append(d.Reasons, text)
	}
	if s := f.match.own; s != nil && s.beside {
		d.Reasons = append(d.Reasons, x.lastWords()...)
	}
	return d
}

// lastWords returns the last line that the server wrote to stderr, without the stack and the version that
// runtimes add.
func (x *exam) lastWords() (lines []string) {
	for line := range strings.Lines(legible(x.Stderr)) {
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		if strings.ContainsFunc(line, unicode.IsLetter) && !indented && !strings.HasPrefix(line, "Node.js v") {
			lines = []string{x.reason(&match{said: strings.TrimSpace(line)})}
		}
	}
	return lines
}
