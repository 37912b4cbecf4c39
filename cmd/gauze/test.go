package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/fleet"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/probe"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// testFlags are the settings of gauze test.
type testFlags struct {
	server  serverFlags // for --url, --header and the rest of a server
	timeout time.Duration
	heal    bool
	json    bool
}

// testCommand tries one server and says how far it gets.
func testCommand() *cobra.Command {
	f := &testFlags{}
	cmd := &cobra.Command{
		Use:   "test [flags] -- COMMAND [ARGS...]",
		Short: "Test an MCP server, and explain why it fails",
		Long: "Start COMMAND, or reach the server at a URL, open a session and list its tools, and say how far that went. If it fails, say\n" +
			"what is wrong, why we think so, and what to do next. With --heal fixes are tried that only change how the same program is\n" +
			"started or reached; nothing is installed and nothing is written.\n" +
			"Exit status: 0 if it works, 1 if it does not, 2 for a mistake in the command line.",
		Example: "gauze test -- npx -y @modelcontextprotocol/server-everything\n" +
			"gauze test --heal -- uvx mcp-server-time\n" +
			"gauze test --url https://example.com/mcp",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	f.server.addServer(flags)
	flags.DurationVar(&f.timeout, "timeout", 0, "how long one attempt may take (default 10s for an answer, 60s with npx, uvx, docker, and longer while it is at work)")
	flags.BoolVar(&f.heal, "heal", false, "try fixes that only change how the same program is started or reached")
	flags.BoolVar(&f.json, "json", false, "the whole report as JSON")
	return cmd
}

// interrupted is the exit status after Ctrl-C.
const interrupted = exitStatus(130)

// tested is the report for programs.
type tested struct {
	Works  bool           `json:"works"`
	Server string         `json:"server"`
	Stage  string         `json:"stage"`
	Took   string         `json:"took"`
	Stop   string         `json:"stopped,omitempty"` // why it went no further
	Exit   string         `json:"exit,omitempty"`
	Stderr []string       `json:"stderr,omitempty"` // its last lines
	Found  *found         `json:"found,omitempty"`
	Report *doctor.Report `json:"report"`
}

// found is what a server says of itself.
type found struct {
	Name      string   `json:"name"`
	Version   string   `json:"version"`
	Protocol  string   `json:"protocol"`
	Transport string   `json:"transport"`
	Tools     []string `json:"tools"`
}

func (f *testFlags) run(cmd *cobra.Command, args []string) error {
	if f.timeout < 0 {
		return fmt.Errorf("invalid --timeout %v: must be a duration above zero, such as 30s", f.timeout)
	}
	spec, err := f.server.spec("test", args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	out := cmd.OutOrStdout()
	show := progressOn(cmd.ErrOrStderr(), f.json)
	last, report := doctor.Examine(ctx, doctor.ThisMachine().Until(ctx), spec, doctor.ExamineOptions{Heal: f.heal, Timeout: f.timeout, Version: versionText(), Tell: show})
	last = last.Hidden(fleet.Hiding(spec))
	show("")
	if ctx.Err() != nil {
		return interrupted
	}
	if f.json {
		_, err = out.Write(jsonLine(testedOf(spec, last, report)))
	} else {
		_, err = io.WriteString(out, showTest(spec, last, report, f.heal, paint(colourful(out))))
	}
	if err == nil && !report.Healthy {
		return exitStatus(1)
	}
	return err
}

func testedOf(spec launch.Spec, a probe.Result, report doctor.Report) tested {
	t := tested{Works: report.Healthy, Server: shownServer(spec), Stage: a.Stage.String(), Took: a.Took.Round(time.Millisecond).String(), Report: &report}
	if !report.Healthy {
		t.Stop, t.Exit, t.Stderr = redact.Quote(a.Stopped), a.Exit, lastWords(a)
	}
	if a.Found.Protocol != "" {
		t.Found = &found{Name: a.Found.Name, Version: a.Found.Version, Protocol: a.Found.Protocol, Transport: a.Found.Transport, Tools: toolsOf(a)}
	}
	return t
}

// shownServer is the server's command line or address, without the keys that
// people put into arguments.
func shownServer(spec launch.Spec) string {
	return fleet.Hiding(spec)(spec.Shown())
}

// lastWords are the last lines on stderr of a server whose secrets are hidden
// already, fit to be shown.
func lastWords(a probe.Result) (lines []string) {
	const few = 6
	for _, line := range a.Evidence.Stderr[max(0, len(a.Evidence.Stderr)-few):] {
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

// climbed are the steps of an attempt as people read them.
var climbed = []struct {
	stage upstream.Stage
	yes   string
	no    string
}{
	{upstream.Located, "found", "not found"},
	{upstream.Started, "reached", "could not be started or reached"},
	{upstream.Spoke, "speaks MCP", "said nothing in MCP"},
	{upstream.Initialized, "session opened", "did not open a session"},
	{upstream.Listed, "tools listed", "did not list its tools"},
}

// showTest is for people: how far it went, what was tried, what is left to do.
func showTest(spec launch.Spec, a probe.Result, report doctor.Report, healing bool, p paint) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", p.in("1", redact.Quote(shownServer(spec))))
	for _, step := range climbed {
		if a.Stage < step.stage {
			fmt.Fprintf(&b, "  %s %s\n", p.red("✗"), step.no)
			break
		}
		line := step.yes
		if fact := factOf(step.stage, a); fact != "" {
			line = fmt.Sprintf("%-16s%s", step.yes, p.in("2", fact))
		}
		fmt.Fprintf(&b, "  %s %s\n", p.green("✓"), line)
	}
	for _, step := range report.Steps {
		mark := map[string]string{doctor.Healed: p.green("✚"), doctor.Helped: p.green("+"), doctor.Undone: p.in("2", "–")}[step.Result]
		fmt.Fprintf(&b, "\n  %s %s: %s\n", mark, step.Result, step.About)
	}
	switch {
	case report.Healthy && len(report.Steps) == 0:
		fmt.Fprintf(&b, "\nIt works (%s).\n", a.Took.Round(time.Millisecond))
	case report.Healthy:
		b.WriteString("\nIt works with this fix. To make it permanent:\n\n")
		for _, step := range report.Steps {
			if step.Result != doctor.Undone && step.Next != "" {
				b.WriteString(showFix(step.Next, p))
			}
		}
	case report.Diagnosis != nil:
		d := *report.Diagnosis
		if report.Todo != "" {
			d.Fix, d.Command = report.Todo, report.Command
		}
		if d.Category == doctor.Unknown {
			d.Explanation = "It stopped here without giving a reason: " + redact.Quote(a.Stopped) + "."
			d.Fix = "Start it in a terminal, without gauze, to see its output: `" + redact.Quote(shownServer(spec)) + "`"
			if words := lastWords(a); len(words) > 0 {
				d.Reasons = words
			}
		}
		b.WriteString("\n" + showDiagnosis(d, p))
		if !healing && report.Fixable {
			how := "-- "
			if spec.URL != "" {
				how = "--url "
			}
			b.WriteString("\nA fix can be tried without changing anything for good:\n\n    gauze test --heal " + how + redact.Quote(shownServer(spec)) + "\n")
		}
	}
	return b.String()
}

// factOf is what is worth knowing of a step.
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

// progressOn shows one line that changes, on a terminal only.
func progressOn(w io.Writer, quiet bool) func(string) {
	file, ok := w.(*os.File)
	if quiet || !ok || !term.IsTerminal(file.Fd()) {
		return func(string) {}
	}
	return func(line string) {
		text := []rune(redact.Quote(line))
		fmt.Fprintf(file, "\r\x1b[K%s", string(text[:min(len(text), 78)]))
	}
}
