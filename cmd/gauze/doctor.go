package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// doctorFlags are the settings of gauze doctor.
type doctorFlags struct {
	timeout time.Duration
	heal    bool
	json    bool
}

// doctorCommand looks at several servers side by side.
func doctorCommand() *cobra.Command {
	f := &doctorFlags{}
	cmd := &cobra.Command{
		Use:   "doctor [flags] SERVER...",
		Short: "Examine several MCP servers: one line each, the cause and what to do next",
		Long: "Try each SERVER, a command line in quotes or a URL, side by side, and say of each whether it works, or why not and what to\n" +
			"do next. `gauze test` says more about one. With --heal fixes are tried that only change how the same program is started or\n" +
			"reached; nothing is installed and nothing is written.\n" +
			"Exit status: 0 if all work, 1 if one does not, 2 for a mistake in the command line.",
		Example: "gauze doctor 'npx -y @modelcontextprotocol/server-everything' https://example.com/mcp\n" +
			"gauze doctor --heal --json 'uvx mcp-server-time'",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return mistaken(cmd, f.run(cmd, args)) },
	}
	cmd.SetFlagErrorFunc(mistaken)
	flags := cmd.Flags()
	flags.DurationVar(&f.timeout, "timeout", 0, "how long one attempt may take (default 10s for an answer, 60s with npx, uvx, docker, and longer while it is at work)")
	flags.BoolVar(&f.heal, "heal", false, "try fixes that only change how the same program is started or reached")
	flags.BoolVar(&f.json, "json", false, "the reports as JSON, one line a server")
	return cmd
}

// examined is one server and what came out.
type examined struct {
	spec   upstream.Spec
	last   upstream.Attempted
	report doctor.Report
}

// atOnce bounds how many servers are tried side by side.
const atOnce = 5

func (f *doctorFlags) run(cmd *cobra.Command, args []string) error {
	specs, err := specsOf(args)
	if err != nil {
		return err
	}
	if f.timeout < 0 {
		return fmt.Errorf("the flag --timeout is %v: want a duration above zero, such as 30s", f.timeout)
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	show := progressOn(cmd.ErrOrStderr(), f.json)
	all := f.examineAll(ctx, specs, show)
	show("")
	if ctx.Err() != nil {
		return interrupted
	}
	out, sick := cmd.OutOrStdout(), 0
	for _, e := range all {
		if !e.report.Healthy {
			sick++
		}
		text := showExamined(e, paint(colourful(out)))
		if f.json {
			text = string(jsonLine(testedOf(e.spec, e.last, e.report)))
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	if !f.json {
		fmt.Fprintf(out, "\n%d of %d work.\n", len(all)-sick, len(all))
	}
	if sick > 0 {
		return exitStatus(1)
	}
	return nil
}

// specsOf reads what was named on the command line.
func specsOf(args []string) (specs []upstream.Spec, err error) {
	if len(args) == 0 {
		return nil, errors.New("no server: name command lines in quotes, or URLs, as in\n\n  gauze doctor 'npx -y @modelcontextprotocol/server-everything' https://example.com/mcp")
	}
	for i, arg := range args {
		if strings.Contains(arg, "://") && !strings.ContainsAny(arg, " \t") {
			if err := upstream.CheckURL(arg); err != nil {
				return nil, fmt.Errorf("server %d: %w", i+1, err)
			}
			specs = append(specs, upstream.Spec{URL: arg})
			continue
		}
		words := doctor.SplitCommand(arg)
		if len(words) == 0 {
			return nil, fmt.Errorf("server %d is empty", i+1)
		}
		specs = append(specs, upstream.Spec{Command: words[0], Args: words[1:]})
	}
	return specs, nil
}

// examineAll tries the servers side by side, a few at once, in order.
func (f *doctorFlags) examineAll(ctx context.Context, specs []upstream.Spec, show func(string)) []examined {
	all := make([]examined, len(specs))
	var mu sync.Mutex // of the line that is shown
	var running sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i, spec := range specs {
		running.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			last, report := examine(ctx, spec, f.heal, f.timeout, func(line string) {
				mu.Lock()
				defer mu.Unlock()
				show(fmt.Sprintf("%d/%d %s: %s", i+1, len(specs), spec.String(), line))
			})
			all[i] = examined{spec, last, report}
		})
	}
	running.Wait()
	return all
}

// showExamined is one server in a few lines.
func showExamined(e examined, p paint) string {
	name := fault.Quote(e.spec.String())
	if e.report.Healthy {
		line := fmt.Sprintf("%s %s  %s\n", p.green("[✓]"), name, p.in("2", fmt.Sprintf("%d tools, %s", len(e.last.Found.Tools), e.last.Took.Round(time.Millisecond))))
		for _, step := range e.report.Steps {
			if step.Result != doctor.Undone {
				line += "      healed: " + step.About + "\n      for good: " + step.Next + "\n"
			}
		}
		return line
	}
	text := p.red("[✗]") + " " + name + "\n"
	if d := e.report.Diagnosis; d != nil {
		text += indent(fold(d.Explanation)) + "\n"
		todo := e.report.Todo
		if todo == "" {
			todo = d.Fix
		}
		text += indent(fold("next: "+todo)) + "\n"
	}
	return text
}
