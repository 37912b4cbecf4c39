package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// fuzzTime is a smoke test's worth per target: enough to run the seeds and a few hundred thousand mutations.
const fuzzTime = 3 * time.Second

type fuzzTarget struct{ pkg, name string }

// fuzzAll finds every fuzz target and runs each for a moment.
func fuzzAll(ctx context.Context, out io.Writer) (tally, error) {
	listed, err := quietly(ctx, nil, "go", "test", "-json", "-list", "^Fuzz", "./...")
	if err != nil {
		return tally{}, err
	}
	targets := fuzzTargets(listed)
	if len(targets) == 0 {
		return tally{}, errAbsent
	}
	var t tally
	var failures []string
	for _, target := range targets {
		_, err := quietly(ctx, nil, "go", "test", "-run", "^$", "-fuzz", "^"+target.name+"$", "-fuzztime", fuzzTime.String(), target.pkg)
		if err != nil {
			t.failed++
			failures = append(failures, fmt.Sprintf("%s %s:\n%v", target.pkg, target.name, err))
			continue
		}
		t.passed++
		fmt.Fprintf(out, "ok  \t%s\t%s\n", target.pkg, target.name)
	}
	if failures != nil {
		return t, fmt.Errorf("%s\nnext: the failing input is under testdata/fuzz of that package; commit it with the fix", strings.Join(failures, "\n"))
	}
	return t, nil
}

// fuzzTargets reads the answer of go test -json -list.
func fuzzTargets(listed []byte) []fuzzTarget {
	var targets []fuzzTarget
	for line := range bytes.Lines(listed) {
		var e testEvent
		if json.Unmarshal(line, &e) != nil || e.Action != "output" {
			continue
		}
		if name := strings.TrimSpace(e.Output); strings.HasPrefix(name, "Fuzz") {
			targets = append(targets, fuzzTarget{e.Package, name})
		}
	}
	return targets
}
