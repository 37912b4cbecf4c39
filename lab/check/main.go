// Command check is the only test command of this repository. It has two levels.
//
//	go -C lab run ./check              the default: what CI runs
//	go -C lab run ./check -all         everything: larger samples, more real servers and clients, Windows, a model, Temporal, soak
//	go -C lab run ./check -only test   one step of either; "test" selects all steps whose name starts with it
//	go -C lab run ./check -seed N      the samples of an earlier run, in which a failed test printed N
//
// It requires Go and access to the usual registries; on a Debian-like machine, as root, it installs
// everything else itself. Results of unchanged packages come from Go's test cache and are marked
// "(cached)". A test that fails is run again by itself; see unsteady.go. The last line is "N passed,
// N failed": each Go test counts as one, and each other step as one.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/testonly/sample"
	"github.com/gauze-mcp/gauze/lab/programs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(check(ctx, os.Args[1:], os.Stdout))
}

// check runs the chosen steps and returns the exit code.
func check(ctx context.Context, args []string, out io.Writer) int {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(out)
	everything := flags.Bool("all", false, "everything, with the whole samples")
	only := flags.String("only", "", "run only this step, or the steps whose names start with it: "+names(steps))
	seed := flags.String("seed", "", "the seed of all samples (default: a hash of what is tested)")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	chosen, err := choose(steps, *everything, *only)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err != nil {
		fmt.Fprintf(out, "check: %v\nnext: go -C lab run ./check -help\n", err)
		return 2
	}
	root, err := programs.Root(ctx)
	if err == nil {
		err = os.Chdir(root)
	}
	if err != nil {
		fmt.Fprintf(out, "check: %v\nnext: run this inside a checkout of gauze\n", err)
		return 2
	}
	if *everything {
		atOnce[tested] = 4 // some of its steps wait more than they compute: Windows, a model, Temporal, all real servers
	}
	prepare(*everything, *seed, out)
	return report(ctx, chosen, out, *everything)
}

// prepare sets the variables that tests read.
func prepare(everything bool, seed string, out io.Writer) {
	os.Setenv("CI", "true") // a real part that is missing is a failure
	// Everything is compiled once, as a release is: without cgo, and without the names of directories,
	// so that the same tree gives the same bytes everywhere. Only the race detector needs cgo.
	os.Setenv("GOFLAGS", "-trimpath -buildvcs=false")
	os.Setenv("CGO_ENABLED", "0")
	os.Unsetenv("PYTHONDONTWRITEBYTECODE") // with it, each start of a server in Python compiles all of its modules
	os.Unsetenv(sample.EnvAll)
	if everything {
		os.Setenv(sample.EnvAll, "1")
	}
	if seed != "" {
		os.Setenv(sample.EnvSeed, seed)
	}
	pace := measurePace()
	os.Setenv(patience.EnvPace, strconv.Itoa(pace))
	if pace > 1 {
		fmt.Fprintf(out, "this machine is slow or busy: every test gets %d times as long\n", pace)
	}
}
