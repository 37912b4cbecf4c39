package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// report is the comparison of one leg.
type report struct {
	leg         leg
	through     []sheet
	checks      int // number of verdicts in one direct run
	logins      int // number of scenarios with a login
	differences []difference
	unstable    []unstable
	problems    []string
}

func (r *report) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// difference is a check with a result behind gauze that no direct run had.
type difference struct {
	key
	direct, through string
	message         string
	runs            int
}

// unstable is a check whose result varies between direct runs. Behind gauze it may have any of
// those results.
type unstable struct {
	key
	direct, through map[string]int // results and how often they occurred
}

func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.scenario, other.scenario), cmp.Compare(k.id, other.id), cmp.Compare(k.name, other.name))
}

// compare fills the report.
func (r *report) compare(direct []sheet) {
	r.checks, r.differences, r.unstable = direct[0].verdicts(), nil, nil
	keys := map[key]bool{}
	for _, s := range slices.Concat(direct, r.through) {
		for k := range s {
			keys[k] = true
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(keys), key.compare) {
		if k.login() {
			continue
		}
		known := map[string]int{}
		for _, s := range direct {
			known[verdict(s[k])]++
		}
		got := map[string]int{}
		for _, s := range r.through {
			v := verdict(s[k])
			got[v]++
			if known[v] == 0 {
				r.differs(k, direct[0][k], s[k])
			}
		}
		if len(known) > 1 {
			r.unstable = append(r.unstable, unstable{k, known, got})
		}
	}
	for _, s := range r.through {
		r.judgeLogins(s)
	}
}

// differs records a difference, or one more run with the same one.
func (r *report) differs(k key, direct, through []check) {
	d := difference{k, statuses(direct), statuses(through), message(through, direct), 1}
	for i, old := range r.differences {
		if old.key == k && old.through == d.through {
			r.differences[i].runs++
			return
		}
	}
	r.differences = append(r.differences, d)
}

// verdict summarizes a group of checks without log lines.
func verdict(group []check) string {
	return statuses(slices.DeleteFunc(slices.Clone(group), func(c check) bool { return c.Status == info }))
}

// statuses formats the statuses of a group: "SUCCESS", or "2 x SUCCESS, WARNING".
func statuses(group []check) string {
	count := map[string]int{}
	for _, c := range group {
		count[c.Status]++
	}
	if len(count) == 0 {
		return "absent"
	}
	var words []string
	for _, status := range slices.Sorted(maps.Keys(count)) {
		if n := count[status]; n > 1 {
			status = fmt.Sprintf("%d x %s", n, status)
		}
		words = append(words, status)
	}
	return strings.Join(words, ", ")
}

// message returns the first message in the groups.
func message(groups ...[]check) string {
	for _, group := range groups {
		for _, c := range group {
			if c.Message != "" {
				return c.Message
			}
		}
	}
	return ""
}
