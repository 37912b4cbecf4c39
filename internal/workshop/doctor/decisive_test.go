//go:build !race

package doctor

import (
	"maps"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// proof is one clue that fits a case, with the fact's own clue if it is about a fact.
type proof struct {
	finding
	index int // of the cause
}

// proofs returns all clues that fit the case, in the order of their causes.
func (x *exam) proofs() (all []proof) {
	for i := range x.table.causes {
		c := &x.table.causes[i]
		if !x.possible(c) {
			continue
		}
		for j := range c.clues {
			one := &c.clues[j]
			if one.fact == nil {
				if m := x.first(c, one); m != nil {
					all = append(all, proof{finding{cause: c, confidence: one.confidence, match: m, clue: one}, i})
				}
				continue
			}
			for k, reports := range x.read(one.fact) {
				confidence := one.confidence
				if one.asSaid {
					confidence += one.fact.clues[k].confidence
				}
				for _, report := range reports {
					m := *report
					m.names = maps.Clone(report.names)
					if one.when == nil || one.when(&m) {
						all = append(all, proof{finding{cause: c, confidence: confidence, match: &m, clue: one, report: &one.fact.clues[k]}, i})
						break
					}
				}
			}
		}
	}
	return all
}

// without returns the diagnosis that all clues but one lead to.
func (x *exam) without(all []proof, gone *clue) Diagnosis {
	var found []finding
	last := -1
	for _, p := range all {
		switch {
		case gone != nil && (p.clue == gone || p.report == gone):
		case p.index != last:
			found, last = append(found, p.finding), p.index
		case p.confidence > found[len(found)-1].confidence:
			found[len(found)-1] = p.finding
		}
	}
	return x.decide(ranked(found))
}

// decisive returns the clues without which the case has a different diagnosis.
func decisive(c Case) (needed []*clue, d Diagnosis) {
	x := newExam(c)
	all := x.proofs()
	d = x.without(all, nil)
	tried := map[*clue]bool{}
	for _, p := range all {
		for _, one := range []*clue{p.clue, p.report} {
			if one == nil || tried[one] {
				continue
			}
			tried[one] = true
			if !alike(x.without(all, one), d) {
				needed = append(needed, one)
			}
		}
	}
	return needed, d
}

// alike reports whether two diagnoses tell people the same.
func alike(a, b Diagnosis) bool {
	return a.Cause == b.Cause && a.Explanation == b.Explanation && a.Fix == b.Fix && Likelihood(a.Confidence) == Likelihood(b.Confidence)
}

// Every example has its cause, and every clue is needed: without it, some example would have a
// different diagnosis. A clue that no example needs is removed, or gets an example that needs it.
func TestEveryClueIsNeeded(t *testing.T) {
	needed := map[*clue]int{}
	var mu sync.Mutex
	todo := make(chan example)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for e := range todo {
				clues, d := decisive(e.Case)
				if got := Diagnose(e.Case); !alike(got, d) {
					t.Errorf("%s: this test finds %s, Diagnose %s", e.where, d.Cause, got.Cause)
				}
				if (d.Cause == e.cause) == e.not {
					t.Errorf("%s: %s %.2f (%q), want %s, not %t\n%s", e.where, d.Cause, d.Confidence, d.Reasons, e.cause, e.not, e.evidence)
				}
				mu.Lock()
				for _, c := range clues {
					needed[c]++
				}
				mu.Unlock()
			}
		})
	}
	for _, e := range examples(t) {
		todo <- e
	}
	close(todo)
	workers.Wait()
	var idle []string
	eachClue(func(c *clue) {
		if needed[c] == 0 {
			idle = append(idle, c.where()+": "+c.text)
		}
	})
	if len(idle) > 0 {
		t.Errorf("no example needs these %d clues: remove each, or add an example that needs it to the .examples file of its family\n%s",
			len(idle), strings.Join(idle, "\n"))
	}
}

// eachClue calls f with all clues of facts and causes.
func eachClue(f func(*clue)) {
	table := knowledge()
	for _, fact := range table.facts {
		for i := range fact.clues {
			f(&fact.clues[i])
		}
	}
	for _, c := range table.causes {
		for i := range c.clues {
			f(&c.clues[i])
		}
	}
}
