// Command conformance runs the official MCP conformance suite directly and through gauze, and
// compares the results check by check. gauze is gauze serve, or gauze up with three servers: one of
// them as it is, and all of them, with the names of their tools mapped in between (names.go).
//
//	go -C lab run ./conformance               every leg, one run through gauze
//	go -C lab run ./conformance -runs 20      the acceptance test: twenty runs
//	go -C lab run ./conformance -only stdio   legs of that name, version or kind
//
// Failed checks are not the point: go-sdk's server lacks the tasks extension and fails its checks
// with or without gauze. The point is that gauze makes no difference. A check whose result varies
// between direct runs is listed as unstable, with its results on both sides. For our own server,
// gauze mcp, the checks that apply must pass, and so must those of logins, which gauze run does for a
// client without OAuth.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, orphaned := context.WithCancel(ctx)
	defer orphaned()
	go watchParent(ctx, orphaned)
	if os.Getenv(envBrowser) != "" {
		if err := browse(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintf(os.Stderr, "conformance: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if client := os.Getenv(envClient); client != "" {
		if scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO"); strings.HasPrefix(scenario, authPrefix) {
			os.Exit(runLogin(ctx, os.Getenv(envGauze), scenario, os.Args[len(os.Args)-1]))
		}
		os.Exit(runClientThrough(ctx, gauzeServe{os.Getenv(envGauze), false}, client, os.Args[1:]))
	}
	os.Exit(run(ctx, os.Args[1:], os.Stdout))
}

// watchParent calls gone when the parent process exits: a killed go run does not stop this program
// and its servers.
func watchParent(ctx context.Context, gone func()) {
	parent := os.Getppid()
	for ctx.Err() == nil && os.Getppid() == parent {
		time.Sleep(time.Second)
	}
	gone()
}

// run executes the command line and returns the exit status: 1 for a difference, 2 if the
// comparison was not possible.
func run(ctx context.Context, args []string, out io.Writer) int {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	flags.SetOutput(out)
	runs := flags.Int("runs", 1, "runs through gauze for each leg")
	only := flags.String("only", "", "only the legs with one of these names, versions or kinds, separated by commas: "+legNames(allLegs))
	gauze := flags.String("gauze", "", "path of the gauze binary to test (default: build ./cmd/gauze)")
	verbose := flags.Bool("v", false, "print progress, and which scenarios do not apply")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	legs := chooseLegs(*only)
	if len(legs) == 0 || *runs < 1 || flags.NArg() > 0 {
		fmt.Fprintf(out, "conformance: unknown leg %q, fewer than 1 run, or an unexpected argument\nlegs: %s\nnext: go -C lab run ./conformance -help\n", *only, legNames(allLegs))
		return 2
	}
	dir, err := os.MkdirTemp("", "gauze-conformance-")
	if err != nil {
		fmt.Fprintf(out, "conformance: %v\n", err)
		return 2
	}
	defer os.RemoveAll(dir)
	os.Setenv("GAUZE_STATE_DIR", filepath.Join(dir, "state")) // not the user's journal
	if *gauze == "" {
		if *gauze, err = programs.Gauze.Path(ctx); err != nil {
			fmt.Fprintf(out, "conformance: %v\nnext: run this inside a checkout, or set -gauze to the path of a binary\n", err)
			return 2
		}
	}
	path, err := exec.LookPath(*gauze)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		fmt.Fprintf(out, "conformance: %v\nnext: set -gauze to the path of an executable\n", err)
		return 2
	}
	l := &lab{front: gauzeServe{path, true}, gauze: path, dir: dir, log: io.Discard}
	if *verbose {
		l.log = out
	}
	if l.parts, err = realparts.InstallConformance(ctx, os.Stderr); err != nil {
		fmt.Fprintf(out, "conformance: %v\n", err)
		return 2
	}
	began := time.Now()
	reports := l.all(ctx, legs, *runs)
	status := show(out, reports, *verbose)
	fmt.Fprintf(out, "%.0fs in total\n", time.Since(began).Seconds())
	if ctx.Err() != nil {
		fmt.Fprintln(out, "interrupted before the comparison was complete")
		return 2
	}
	return status
}
