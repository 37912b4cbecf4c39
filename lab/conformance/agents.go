package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// unsupported maps prefixes of scenarios that do not apply to gauze mcp to what they require. All
// other scenarios apply, including new ones.
var unsupported = map[string]string{
	"tools-call-":                          "a test tool from the suite",
	"elicitation-sep":                      "a test tool from the suite",
	"json-schema-2020-12":                  "a test tool from the suite",
	"http-custom-header-server-validation": "a tool with custom headers",
	"input-required-result-":               "a test tool from the suite",
	"prompts-":                             "prompts",
	"resources-":                           "resources",
	"sep-2164-resource-not-found":          "resources",
	"completion-":                          "completions",
	"server-sse-polling":                   "resumable streams, which gauze serve supports with --resumable",
	"tasks-":                               "the tasks extension",
}

// minOwnScenarios is how many scenarios must apply. With fewer, the suite has changed too much for
// this leg.
const minOwnScenarios = 5

func appliesToOwn(scenario string) bool {
	for prefix := range unsupported {
		if strings.HasPrefix(scenario, prefix) {
			return false
		}
	}
	return true
}

// irrelevant reports whether a check does not apply although its scenario does: the suite could not
// run it, or it is about prompts or resources.
func (c check) irrelevant() bool {
	return c.Status == info || c.Status == "SKIPPED" || strings.HasPrefix(c.Message, "Not testable:") ||
		strings.Contains(c.ID, "-prompts-") || strings.Contains(c.ID, "-resources-")
}

// own runs the suite against gauze mcp. All checks that apply must pass.
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

// judge records the checks of one run that failed and returns the scenarios that apply.
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
			case c.irrelevant():
			case c.Status == "SUCCESS":
				r.checks++
			default:
				r.checks++
				r.differs(k, []check{{Status: "SUCCESS"}}, []check{c})
			}
		}
	}
	if len(scenarios) < minOwnScenarios {
		r.problem("only %d scenarios apply to gauze mcp", len(scenarios))
	}
	return slices.Sorted(maps.Keys(scenarios))
}
