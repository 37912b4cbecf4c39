package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const (
	maxUnsteady = 3 // tests of one step: if more fail, it is not by chance
	repetitions = 5 // of a test that failed
)

// repeatFailures runs each test that failed again, alone and several times. A test that fails again has
// failed. One that passes each time is unsteady: it depends on chance, on the load of the machine, or
// on a fault that rarely shows. The run does not fail for it, because then one such test of ten thousand
// would decide about all other work; it is named with what it printed, and counted apart.
//
// Nothing is excused if the failure proves a fault, or if many tests fail.
func (g goTest) repeatFailures(ctx context.Context, f *follower, cause error) error {
	wholePackage := func(id testID) bool { return id.test == "" } // does not compile, or left something behind
	if f.proof || len(f.failures) == 0 || len(f.failures) > maxUnsteady || slices.ContainsFunc(f.failures, wholePackage) {
		return cause
	}
	for _, id := range f.failures {
		fmt.Fprintf(f.out, "%s of %s failed: running it %d times alone\n", id.test, id.pkg, repetitions)
		alone := goTest{g.dir, g.env, append(slices.Clone(g.flags), "-run", exactly(id.test), fmt.Sprint("-count=", repetitions)), []string{id.pkg}}
		again := newFollower(f.out)
		cmd := alone.command(ctx)
		err := again.run(cmd)
		if measure(ctx, cmd); err != nil || again.total().passed < repetitions {
			return cause
		}
	}
	for _, id := range f.failures {
		f.count(id.pkg, tally{failed: -1, unsteady: 1})
		fmt.Fprintf(f.out, "unsteady: %s of %s failed once and then passed %d times alone\n", id.test, id.pkg, repetitions)
	}
	return nil
}

// provesFault reports whether a test printed what is never by chance: a data race, or a panic.
func provesFault(output string) bool {
	return slices.ContainsFunc([]string{"WARNING: DATA RACE", "panic: ", "fatal error: "}, func(sign string) bool { return strings.Contains(output, sign) })
}

// exactly returns the pattern for -run that selects one test or subtest.
func exactly(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}
