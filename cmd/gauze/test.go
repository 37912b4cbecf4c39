package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/workshop/registry"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/llm"
)

// testFlags are the flags of gauze test.
type testFlags struct {
	server  serverFlags // --url, --header and the like
	model   adviserFlag
	timeout time.Duration
	heal    bool
	online  bool
	json    bool
	consent string
}

// testCommand returns gauze test, which tests one server.
func testCommand() *cobra.Command {
	f := &testFlags{}
	cmd := &cobra.Command{
		Use:   "test [flags] SERVER | URL | -- COMMAND [ARGS...]",
		Short: "Test an MCP server, and explain why it fails",
		Long: "Start a server or connect to it, open a session, list its tools, and show each step. If\n" +
			"a step fails, report the cause, the evidence for it, and what to do. SERVER is a name\n" +
			"shown by gauze list.\n\n" +
			"With --heal, gauze tries fixes that only change how the same server is started or\n" +
			"reached. It does not install anything or write any files.\n\n" +
			"Exit status: 0 if the server works, 1 if not, 2 for invalid usage.",
		Example: "gauze test -- npx -y @modelcontextprotocol/server-everything\n" +
			"gauze test --heal -- uvx mcp-server-time\n" +
			"gauze test cursor/notes\n" +
			"gauze test https://example.com/mcp",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	f.server.addServer(flags)
	flags.DurationVar(&f.timeout, "timeout", 0, timeoutUsage)
	flags.BoolVar(&f.heal, "heal", false, "try fixes that only change how the same server is started or reached")
	flags.BoolVar(&f.online, "online", false, onlineUsage)
	flags.BoolVar(&f.json, "json", false, "print the report as JSON")
	flags.StringVar(&f.consent, "consent", "", "start the project's server whose entry was shown with this `hash`")
	f.model.add(cmd, ranksCauses)
	return cmd
}

// interrupted is the exit status after Ctrl-C.
const interrupted = exitStatus(130)

// tested is the output of --json.
type tested struct {
	Works  bool           `json:"works"`
	Server string         `json:"server"`
	Stage  string         `json:"stage"`
	Took   string         `json:"took"`
	Stop   string         `json:"stopped,omitempty"` // why the test ended
	Exit   string         `json:"exit,omitempty"`
	Stderr []string       `json:"stderr,omitempty"` // its last lines of output
	Found  *found         `json:"found,omitempty"`
	Report *doctor.Report `json:"report"`
	Note   string         `json:"note,omitempty"` // what needs attention although the server works

	Attempts      int    `json:"attempts"`                // how often it was started or reached
	Configuration string `json:"configuration,omitempty"` // how it works, if that is not how it was given
}

// found describes a server that opened a session.
type found struct {
	Name      string   `json:"name"`
	Version   string   `json:"version"`
	Protocol  string   `json:"protocol"`
	Transport string   `json:"transport"`
	Tools     []string `json:"tools"`
}

func (f *testFlags) run(cmd *cobra.Command, args []string) error {
	if f.timeout < 0 {
		return fmt.Errorf("invalid --timeout %v: must be a positive duration, such as 30s", f.timeout)
	}
	model, err := f.model.open(cmd)
	if err != nil {
		return err
	}
	source, err := registryFor(f.online)
	if err != nil {
		return err
	}
	if len(args) == 1 && cmd.ArgsLenAtDash() < 0 && f.server.wrap.Spec.URL == "" {
		if strings.Contains(args[0], "://") {
			f.server.wrap.Spec.URL, args = args[0], nil
		} else if done, err := f.runConfigured(cmd, args[0], model, source); done || err != nil {
			return err
		}
	}
	spec, err := f.server.spec("test", args)
	if err != nil {
		return usage(cmd, err)
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	asks := &fixQuestions{heal: f.heal}
	show, agree := aroundQuestions(terminal.Progress(cmd.ErrOrStderr(), f.json), confirmFix(cmd, nil))
	asks.agree = agree
	list := newChecklist(show, []string{redact.Quote(spec.Shown())})
	machine := doctor.ThisMachine().Until(ctx)
	machine.Required = source.Required
	last, report := doctor.Examine(ctx, machine, spec, doctor.ExamineOptions{Heal: f.heal, Timeout: f.timeout, Version: versionText(), Model: model, Tell: func(is string) { list.say(0, is) }, Agree: asks.about(spec)})
	report.Fixable = report.Fixable || !f.heal && asks.wanted.Load()
	last = last.Hidden(fleet.Hiding(spec))
	show("")
	if ctx.Err() != nil {
		return interrupted
	}
	err = present(cmd, f.json, testedOf(spec, fleet.Final(spec, report.Spec), last, report), func(p terminal.Paint) string {
		return showTest(spec, last, report, f.heal, "", p)
	})
	if err == nil && !report.Healthy {
		return exitStatus(1)
	}
	return err
}

// runConfigured tests the servers of clients that have this name. It reports false if there is none
// but there is a program of that name.
func (f *testFlags) runConfigured(cmd *cobra.Command, name string, model llm.Model, source registry.Source) (done bool, err error) {
	fl, err := fleetHere()
	if err != nil {
		return false, err
	}
	fl.Registry = source
	_, servers, err := chosen(fl, fleet.Choice{Names: []string{name}})
	if err != nil {
		if _, notFound := exec.LookPath(name); notFound == nil {
			return false, nil
		}
		return false, fmt.Errorf("%w\nTo test a program, run: gauze test -- %s", err, shell.Here().Quote(name))
	}
	all, err := checked(cmd, fl, servers, fleet.CheckOptions{Heal: f.heal, Timeout: f.timeout, Ask: confirmProject(cmd, []string{name}, f.consent), Agree: confirmFix(cmd, fl.Seen), Model: model}, f.json)
	if err != nil {
		return false, err
	}
	out, status := cmd.OutOrStdout(), exitStatus(0)
	for _, c := range all {
		if !c.Tried || !c.Report.Healthy {
			status = 1
		}
		switch {
		case !c.Tried:
			fmt.Fprintf(cmd.ErrOrStderr(), "gauze test: %s was not tested: %s\n", plaintext.Clean(c.ID()), c.WhyNot())
		case f.json:
			t := testedOf(c.Real(), c.Final(), c.Attempt, c.Report)
			t.Server = c.Shown()
			err = plaintext.WriteJSON(out, t)
		default:
			fix := "gauze doctor --fix " + plaintext.Clean(shell.Here().Quote(c.ID()))
			text := showTest(c.Real(), c.Attempt, c.Report, f.heal, fix, terminal.PaintFor(out))
			_, err = fmt.Fprintf(out, "%s: %s", plaintext.Clean(c.ID()), c.Hide(text))
		}
		if err != nil {
			return true, err
		}
	}
	if status != 0 {
		return true, status
	}
	return true, nil
}

// testedOf returns the result of a test. final is how the server works, as it would be written.
func testedOf(spec, final launch.Spec, a probe.Result, report doctor.Report) tested {
	t := tested{Works: report.Healthy, Server: string(shownServer(spec)), Stage: a.Stage.String(), Took: a.Took.Round(time.Millisecond).String(), Report: &report, Attempts: 1 + len(report.Steps)}
	if report.Healthy && len(report.Steps) > 0 {
		t.Configuration = fleet.Hiding(spec)(fleet.Describe(final))
	}
	if !report.Healthy {
		t.Stop, t.Exit, t.Stderr = redact.Quote(a.Stopped), a.Exit, lastOutput(a)
	}
	if a.Found.Protocol != "" {
		if a.Found.Toolless {
			if t.Note = "the server does not list any tools"; fleet.Connects(spec) {
				t.Note = fleet.ToollessUp
			}
		} else if odd := fleet.OddityOf(a); odd != nil {
			t.Note = odd.What
		}
		t.Found = &found{Name: a.Found.Name, Version: a.Found.Version, Protocol: a.Found.Protocol, Transport: a.Found.Transport, Tools: toolsOf(a)}
	}
	return t
}

// shownServer returns the server's command line or URL, without the secrets in it.
func shownServer(spec launch.Spec) redact.Foreign {
	return redact.Foreign(fleet.Hiding(spec)(spec.Shown()))
}

// lastOutput returns the last lines that a server wrote. Its secrets are already hidden.
func lastOutput(a probe.Result) (lines []string) {
	const few = 6
	for _, line := range a.LastLines(few) {
		lines = append(lines, redact.Quote(line))
	}
	return lines
}

func toolsOf(a probe.Result) []string {
	names := []string{}
	for _, tool := range a.Found.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// testSteps are the steps of a test, with their messages.
var testSteps = []struct {
	stage upstream.Stage
	yes   string
	no    string
}{
	{upstream.Located, "found", "not found"},
	{upstream.Started, "started", "could not be started or reached"},
	{upstream.Spoke, "speaks MCP", "did not send an MCP message"},
	{upstream.Initialized, "session opened", "did not open a session"},
	{upstream.Listed, "tools listed", "did not list its tools"},
}

// showTest formats a test for a terminal: its steps, the fixes that were tried, what to do. fix is
// the command that fixes a configured server, or "".
func showTest(spec launch.Spec, a probe.Result, report doctor.Report, healing bool, fix string, p terminal.Paint) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", p.Bold(shownServer(spec).String()))
	for _, step := range testSteps {
		if a.Stage < step.stage {
			fmt.Fprintf(&b, "  %s %s\n", p.Red("✗"), step.no)
			break
		}
		line := step.yes
		if step.stage == upstream.Started && spec.URL != "" {
			line = "connected"
		}
		if fact := factOf(step.stage, a); fact != "" {
			line = fmt.Sprintf("%-16s%s", step.yes, p.Faint(fact))
		}
		fmt.Fprintf(&b, "  %s %s\n", p.Green("✓"), line)
	}
	for _, step := range report.Steps {
		mark := map[string]string{doctor.Healed: p.Green("✚"), doctor.Helped: p.Green("+"), doctor.Undone: p.Faint("–")}[step.Result]
		fmt.Fprintf(&b, "\n  %s %s\n", mark, terminal.FoldAfter(step.Result+": "+step.About, "\n    "))
	}
	switch {
	case report.Healthy && len(report.Steps) == 0 && fleet.Connects(spec):
		text := "It " + fleet.ForUp + "."
		if a.Found.Toolless {
			text = plaintext.UpperFirst(fleet.ToollessUp) + "."
		}
		fmt.Fprintf(&b, "\n%s To test them:\n\n    gauze doctor --client gauze\n", text)
	case report.Healthy && len(report.Steps) == 0 && a.Found.Toolless:
		b.WriteString("\nThe server responds, but does not list any tools. Many servers list them only after\nthe keys and settings that they require are set.\n")
		if words := lastOutput(a); len(words) > 0 {
			b.WriteString("\nIts last output:\n\n")
			for _, line := range words {
				fmt.Fprintf(&b, "    %s %s\n", p.Faint("│"), line)
			}
		}
	case report.Healthy && len(report.Steps) == 0:
		fmt.Fprintf(&b, "\nIt works (%s).\n", a.Took.Round(time.Millisecond))
		if odd := fleet.OddityOf(a); odd != nil {
			next := odd.Next + "."
			if odd.Removed {
				next = odd.Next + ": start it with gauze run."
			}
			fmt.Fprintf(&b, "\n%s %s\n\n%s\n", p.Yellow("!"), terminal.Fold(plaintext.UpperFirst(odd.What)), terminal.Fold(next))
		}
	case report.Healthy:
		b.WriteString("\nIt works with this fix.")
		if fix != "" {
			b.WriteString(" To make it permanent:\n\n" + terminal.Indent(fix) + "\n")
			break
		}
		steps := ""
		for _, step := range report.Steps {
			if step.Result != doctor.Undone && step.Next != "" {
				steps += showFix(step.Next, p)
			}
		}
		if steps != "" {
			steps = " To make it permanent:\n\n" + strings.TrimSuffix(steps, "\n")
		}
		b.WriteString(steps + "\n")
	case report.Diagnosis != nil:
		d := *report.Diagnosis
		if report.Todo != "" {
			d.Fix, d.Command = report.Todo, report.Command
		}
		if d.Category == doctor.Unknown {
			d.Explanation = "It stopped here without giving a reason: " + redact.Quote(a.Stopped) + "."
			d.Fix = "Start it in a terminal, without gauze, to see its output: `" + shownServer(spec).String() + "`"
			if words := lastOutput(a); len(words) > 0 {
				d.Reasons = words
			}
		} else if d.Unexplained() {
			d.Reasons = append(d.Reasons, lastOutput(a)...)
		}
		b.WriteString("\n" + showDiagnosis(d, p))
		if !healing && report.Fixable && fix != "" {
			b.WriteString("\nTo fix this server's entry:\n\n" + terminal.Indent(fix) + "\n")
		} else if !healing && report.Fixable {
			how := "-- "
			if spec.URL != "" {
				how = "--url "
			}
			b.WriteString("\nTo try a fix without changing any files:\n\n    gauze test --heal " + how + shownServer(spec).String() + "\n")
		}
	}
	return b.String()
}

// factOf returns the details of a step.
func factOf(stage upstream.Stage, a probe.Result) string {
	switch stage {
	case upstream.Initialized:
		return redact.Quote(strings.TrimSpace(a.Found.Name+" "+a.Found.Version) + ", protocol " + a.Found.Protocol + " over " + a.Found.Transport)
	case upstream.Listed:
		names := toolsOf(a)
		const few = 6
		text := fmt.Sprintf("%d: %s", len(names), strings.Join(names[:min(len(names), few)], ", "))
		if len(names) > few {
			text += ", …"
		}
		return redact.Quote(text)
	}
	return ""
}
