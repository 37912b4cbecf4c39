package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// wants are the scenarios, by how their names begin, that need something gauze mcp does not have, most of them a tool of
// the suite's own. All others apply to it, also those that are new.
var wants = map[string]string{
	"tools-call-":                          "a tool of the suite's own",
	"elicitation-sep":                      "a tool of the suite's own",
	"json-schema-2020-12":                  "a tool of the suite's own",
	"http-custom-header-server-validation": "a tool with headers of its own",
	"input-required-result-":               "a tool of the suite's own",
	"prompts-":                             "prompts",
	"resources-":                           "resources",
	"sep-2164-resource-not-found":          "resources",
	"completion-":                          "completions",
	"server-sse-polling":                   "streams to resume, which gauze serve has with --resumable",
	"tasks-":                               "the tasks extension",
}

// fewestOwn scenarios apply, or the suite has changed so that this says nothing.
const fewestOwn = 5

func appliesToOwn(scenario string) bool {
	for prefix := range wants {
		if strings.HasPrefix(scenario, prefix) {
			return false
		}
	}
	return true
}

// beside tells whether a check of a scenario that applies is about something else: the suite says that it could not be
// made, or it is about prompts or resources.
func (c check) beside() bool {
	return c.Status == info || c.Status == "SKIPPED" || strings.HasPrefix(c.Message, "Not testable:") ||
		strings.Contains(c.ID, "-prompts-") || strings.Contains(c.ID, "-resources-")
}

// own runs the suite against our own server. There is nothing to compare with: what applies has to pass.
func (l *lab) own(ctx context.Context, leg leg, runs int) report {
	r := report{leg: leg}
	for range runs {
		s, err := l.once(ctx, leg, l.front)
		if err != nil {
			r.problem("%v", err)
			return r
		}
		r.through = append(r.through, s)
		fmt.Fprintf(l.log, "%s applies: %s\n", leg, strings.Join(r.judge(s), ", "))
	}
	return r
}

// judge holds one run against what has to pass, and returns the scenarios that apply.
func (r *report) judge(s sheet) []string {
	scenarios := map[string]bool{}
	r.checks = 0
	for _, k := range slices.SortedFunc(maps.Keys(s), key.compare) {
		if !appliesToOwn(k.scenario) {
			continue
		}
		scenarios[k.scenario] = true
		for _, c := range s[k] {
			switch {
			case c.beside():
			case c.Status == "SUCCESS":
				r.checks++
			default:
				r.checks++
				r.differs(k, []check{{Status: "SUCCESS"}}, []check{c})
			}
		}
	}
	if len(scenarios) < fewestOwn {
		r.problem("only %d scenarios apply to gauze mcp", len(scenarios))
	}
	return slices.Sorted(maps.Keys(scenarios))
}
