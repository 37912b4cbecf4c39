// Command sharing finds out which real servers bear several clients in one process.
//
//	go -C lab run ./sharing             all servers that are installed; writes the table in sharing/EVIDENCE.md
//	go -C lab run ./sharing -only time  only those with this in their names; writes their rows
//
// Two clients call every tool of a server, each with arguments of its own, at the same time and in turn, through gauze up:
// twice with a process for each client (share: session) and once with one for both (share: principal). What both have
// answered the same way with processes of their own must be answered the same way by the shared one. An answer that differs
// between runs with processes of their own is random, and not compared.
//
// A server is proven if it started, enough answers were compared, enough and most of them were results, none differed, it asked no
// questions, and nothing it does depends on who asked before (stateful.go). Servers that are proven belong into
// internal/hub/shared/proven.txt, which main_test.go compares with the table.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	only := flag.String("only", "", "compare only the servers with this in their names")
	flag.StringVar(&gauze, "gauze", "", "use this binary instead of building one")
	flag.Parse()
	if err := run(ctx, *only); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// gauze is the binary that is used.
var gauze string

func run(ctx context.Context, only string) error {
	root, err := programs.Root(ctx)
	if err != nil {
		return err
	}
	if gauze == "" {
		dir, err := os.MkdirTemp("", "gauze-sharing-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		gauze = filepath.Join(dir, "gauze")
		build := exec.CommandContext(ctx, "go", "build", "-o", gauze, "./cmd/gauze")
		build.Dir, build.Stderr = root, os.Stderr
		if err := build.Run(); err != nil {
			return err
		}
	}
	done := 0
	found := realparts.Installed()
	slices.SortStableFunc(found, func(a, b realparts.Found) int { // those that may be proven first
		return cmp.Compare(min(len(stateful[a.Package]), 1), min(len(stateful[b.Package]), 1))
	})
	for _, s := range found {
		if !strings.Contains(s.Package, only) || ctx.Err() != nil {
			continue
		}
		r := compareServer(ctx, s)
		if ctx.Err() != nil {
			break
		}
		fmt.Println(r)
		for _, d := range r.differences {
			fmt.Println("    " + d)
		}
		done++
		if err := record(filepath.Join(root, "lab", "sharing", "EVIDENCE.md"), r); err != nil {
			return err
		}
	}
	if done == 0 {
		return errors.New("no such server is installed\nnext: go -C lab run ./check -only realparts")
	}
	return ctx.Err()
}

// row is what is known of one server.
type row struct {
	realparts.Found
	compared, results, random int
	asked                     string // method of a question that ended the sharing
	differences               []string
	failed                    string // why it was not compared
}

// minimal evidence.
const (
	minCompared = 20
	minResults  = 10
)

// verdict returns proven, or why a server is not.
func (r row) verdict() string {
	switch {
	case r.failed != "":
		return "not compared: " + r.failed
	case len(r.differences) > 0:
		return "answers differ"
	case r.asked != "":
		return "asks its client (" + r.asked + ")"
	case stateful[r.Package] != "":
		return "state: " + stateful[r.Package]
	case r.compared < minCompared || r.results < minResults || 2*r.results < r.compared:
		return "too few results here"
	}
	return "proven"
}

func (r row) String() string {
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %s |", r.Package, r.Version, r.compared, r.results, r.random, len(r.differences), r.verdict())
}

const heading = `# Which servers bear several clients in one process

Measured with ` + "`go -C lab run ./sharing`" + `: two clients at the same time, with a process each and with one for both. Compared are answers
that did not change between two runs with a process each; results are those among them that are not errors. Most servers have neither an
account nor a network here, so many calls fail and prove little.

| package | version | compared | results | random | different | verdict |
| --- | --- | --- | --- | --- | --- | --- |
`

// record puts a row into the table of a page, in place of an earlier one of the same version.
func record(path string, r row) error {
	page, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	rows := []string{r.String()}
	for line := range strings.Lines(string(page)) {
		if of := fmt.Sprintf("| %s | %s |", r.Package, r.Version); isRow.MatchString(line) && !strings.HasPrefix(line, of) {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	slices.Sort(rows)
	return os.WriteFile(path, []byte(heading+strings.Join(rows, "\n")+"\n"), 0o644)
}

var isRow = regexp.MustCompile(`^\| (npm|pypi):`)
