package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// modelRuns are the commands that are run with a real model. The timeouts are those of a busy machine
// without a GPU.
var modelRuns = [][]string{
	{"go", "run", "./bench", "model", "-model", "-n", "10"},
	{"go", "run", "./bench", "verdicts", "-model"},
}

// realModel starts a real language model and runs everything that asks one. It prints what the
// commands print, because the numbers are of interest.
func realModel(ctx context.Context, out io.Writer) (tally, error) {
	url, stop, err := realparts.ServeModel(ctx, out, max(1, runtime.NumCPU()/2))
	if err != nil {
		return tally{}, fmt.Errorf("%w\nnext: check that pip can reach its index, then try again", err)
	}
	defer stop()
	env := []string{"GAUZE_MODEL=openai:local", "GAUZE_MODEL_URL=" + url, "GAUZE_MODEL_TIMEOUT=5m", "CI=true"}
	for _, name := range []string{"GAUZE_MODEL_KEY", "OPENAI_API_KEY"} {
		os.Unsetenv(name) // a local model needs no key
	}
	tests := goTest{dir: "lab", env: env, flags: []string{"-tags", "realmodel", "-count=1", "-run", "^TestRealModel"}, pkgs: []string{"./realtest"}}
	total, err := tests.run(ctx, out)
	if err != nil {
		return total, err
	}
	for _, argv := range modelRuns {
		output, err := quietly(ctx, "lab", env, argv...)
		fmt.Fprintf(out, "%s\n", output)
		if err != nil {
			total.failed++
			return total, err
		}
		total.passed++
	}
	return total, nil
}
