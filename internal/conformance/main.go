// Command conformance runs the official MCP conformance suite directly and with gauze in between, and compares the two
// check by check.
//
//	go run ./internal/conformance               every leg, one run behind gauze
//	go run ./internal/conformance -runs 20      the yardstick: twenty in a row
//	go run ./internal/conformance -only stdio   the legs with that word in their name
//
// The suite's own verdict is not the point: go-sdk's server lacks the tasks extension and fails its checks with or
// without us. The point is that nobody can tell whether gauze is there. A check that is not the same in all direct runs
// is listed as unstable, with what it said on both sides. Our own server, gauze mcp, is compared with nothing: what of the
// suite applies to it has to pass.
package main

import (
	"context"
	"errors"
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

	"github.com/gauze-mcp/gauze/internal/realparts"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, orphaned := context.WithCancel(ctx)
	defer orphaned()
	go watchParent(ctx, orphaned)
	if client := os.Getenv(envClient); client != "" {
		os.Exit(standBetween(ctx, gauzeServe{os.Getenv(envGauze), false}, client, os.Args[1:]))
	}
	os.Exit(run(ctx, os.Args[1:], os.Stdout))
}

// watchParent notices that whoever started us is gone: go run, killed, leaves us alone with a machine full of servers.
func watchParent(ctx context.Context, gone func()) {
	parent := os.Getppid()
	for ctx.Err() == nil && os.Getppid() == parent {
		time.Sleep(time.Second)
	}
	gone()
}

// run does what the command line says and returns the exit status: 1 for a difference, 2 if there is nothing to compare.
func run(ctx context.Context, args []string, out io.Writer) int {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	flags.SetOutput(out)
	runs := flags.Int("runs", 1, "runs behind gauze for each leg")
	only := flags.String("only", "", "only the legs with this word in their name: "+legNames(allLegs))
	gauze := flags.String("gauze", "", "the gauze to test, instead of building ./cmd/gauze")
	verbose := flags.Bool("v", false, "say what is being done, and show the auth differences in full")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	legs := chooseLegs(*only)
	if len(legs) == 0 || *runs < 1 || flags.NArg() > 0 {
		fmt.Fprintf(out, "conformance: there is no such leg, a number of runs below 1, or an argument too many\nlegs: %s\nnext: go run ./internal/conformance -help\n", legNames(allLegs))
		return 2
	}
	dir, err := os.MkdirTemp("", "gauze-conformance-")
	if err != nil {
		fmt.Fprintf(out, "conformance: %v\n", err)
		return 2
	}
	defer os.RemoveAll(dir)
	if *gauze == "" {
		*gauze = filepath.Join(dir, "gauze")
		if err := build(ctx, *gauze); err != nil {
			fmt.Fprintf(out, "conformance: %v\n", err)
			return 2
		}
	}
	path, err := exec.LookPath(*gauze)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		fmt.Fprintf(out, "conformance: %v\nnext: give -gauze the path of an executable\n", err)
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
	fmt.Fprintf(out, "%.0fs altogether\n", time.Since(began).Seconds())
	if ctx.Err() != nil {
		fmt.Fprintln(out, "interrupted before the end")
		return 2
	}
	return status
}

// build builds gauze as it is in this tree.
func build(ctx context.Context, path string) error {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	root := filepath.Dir(strings.TrimSpace(string(mod)))
	if err != nil || root == "." || root == filepath.Dir(os.DevNull) {
		return errors.New("this is not inside a checkout of gauze\nnext: run it there, or give -gauze the path of one")
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/gauze")
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/gauze: %w\n%s", err, said)
	}
	return nil
}
