package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
)

// runSpecs checks command lines and URLs.
func (f *doctorFlags) runSpecs(cmd *cobra.Command, specs []launch.Spec) error {
	model, err := f.model.open(cmd)
	if err != nil {
		return err
	}
	source, err := registryFor(f.online)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	show, agree := aroundQuestions(terminal.Progress(cmd.ErrOrStderr(), f.json), confirmFix(cmd, nil))
	all := make([]examined, len(specs))
	var names []string
	for _, spec := range specs {
		names = append(names, string(shownServer(spec)))
	}
	list := newChecklist(show, names)
	machine := doctor.ThisMachine().Until(ctx)
	machine.Required = source.Required
	places := make(chan struct{}, maxParallel)
	var running sync.WaitGroup
	for i, spec := range specs {
		running.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			asks := &fixQuestions{heal: f.heal, agree: agree}
			last, report := doctor.Examine(ctx, machine, spec, doctor.ExamineOptions{Heal: f.heal, Timeout: f.timeout, Version: versionText(), Model: model, Agree: asks.about(spec),
				Tell: func(line string) { list.say(i, line) }})
			all[i] = examined{spec, last.Hidden(fleet.Hiding(spec)), report}
			list.finish(i)
		})
	}
	running.Wait()
	show("")
	if ctx.Err() != nil {
		return interrupted
	}
	out, sick := cmd.OutOrStdout(), 0
	for _, e := range all {
		if !e.report.Healthy {
			sick++
		}
		text := showExamined(e, terminal.PaintFor(out))
		if f.json {
			text = string(jsonLine(testedOf(e.spec, fleet.Final(e.spec, e.report.Spec), e.last, e.report)))
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	if !f.json {
		sum := fmt.Sprintf("%d of %d work", len(all)-sick, len(all))
		if sick > 0 {
			sum += fmt.Sprintf(", %d broken", sick)
		}
		fmt.Fprintf(out, "\n%s.\n", sum)
	}
	if sick > 0 {
		return exitStatus(1)
	}
	return nil
}

// examined is a server and the result of its test.
type examined struct {
	spec   launch.Spec
	last   probe.Result
	report doctor.Report
}

// maxParallel limits how many servers are tested at the same time.
const maxParallel = 5

// showExamined formats one server in a few lines.
func showExamined(e examined, p terminal.Paint) string {
	name := shownServer(e.spec).String()
	if e.report.Healthy {
		line := fmt.Sprintf("%s %s  %s\n", p.Green("[✓]"), name, p.Faint(fmt.Sprintf("%d tools, %s", len(e.last.Found.Tools), e.last.Took.Round(time.Millisecond))))
		for _, step := range e.report.Steps {
			if step.Result != doctor.Undone {
				line += "    healed: " + step.About + "\n    To make it permanent:\n" + showFix(step.Next, p)
			}
		}
		return line
	}
	text := p.Red("[✗]") + " " + name + "\n"
	if d := e.report.Diagnosis; d != nil {
		text += terminal.Indent(terminal.Fold(d.Explanation)) + "\n"
		todo := doctor.WithCommand(e.report.Todo, e.report.Command)
		if e.report.Todo == "" {
			todo = doctor.WithCommand(d.Fix, d.Command)
		}
		text += showFix(todo, p)
		if possible := d.Suggested(); possible != "" {
			text += terminal.Indent(terminal.Fold(possible+" "+d.Others[0].Fix)) + "\n"
		}
	}
	return text
}
