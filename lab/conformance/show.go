package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// show prints the table and all differences, and returns the exit status.
func show(out io.Writer, reports []report, verbose bool) int {
	fmt.Fprintf(out, "%-18s %5s %7s %12s %6s %9s\n", "leg", "runs", "checks", "differences", "logins", "unstable")
	status := 0
	for _, r := range reports {
		fmt.Fprintf(out, "%-18s %5d %7d %12d %6d %9d\n", r.leg, len(r.through), r.checks, len(r.differences), r.logins, len(r.unstable))
		if len(r.differences) > 0 {
			status = max(status, 1)
		}
		if len(r.problems) > 0 {
			status = 2
		}
	}
	for _, r := range reports {
		r.details(out)
	}
	if verbose {
		for _, scenario := range slices.Sorted(maps.Keys(leftOut)) {
			fmt.Fprintf(out, "\nnot run: %s %s\n", scenario, leftOut[scenario])
		}
	}
	return status
}

// details prints what the table only counts.
func (r *report) details(out io.Writer) {
	for _, d := range r.differences {
		fmt.Fprintf(out, "\n%s: %s\n  direct:       %s\n  behind gauze: %s (in %d of %d runs)\n", r.leg, d.key, d.direct, d.through, d.runs, len(r.through))
		if d.message != "" {
			fmt.Fprintf(out, "  %s\n", indent(d.message))
		}
	}
	for _, u := range r.unstable {
		fmt.Fprintf(out, "\n%s: %s is unstable without gauze\n  direct:       %s\n  behind gauze: %s\n", r.leg, u.key, times(u.direct), times(u.through))
	}
	for _, p := range r.problems {
		fmt.Fprintf(out, "\n%s: %s\n", r.leg, indent(p))
	}
}

func (k key) String() string {
	if k.name == "" {
		return k.scenario + " / " + k.id
	}
	return k.scenario + " / " + k.id + " (" + k.name + ")"
}

// times formats results and how often they occurred.
func times(counts map[string]int) string {
	var words []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, fmt.Sprintf("%s (%d)", what, counts[what]))
	}
	return strings.Join(words, ", or ")
}

const maxMessageLen = 1500

func indent(s string) string {
	if len(s) > maxMessageLen {
		s = s[:maxMessageLen] + " ..."
	}
	return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ")
}
