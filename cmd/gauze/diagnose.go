package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/llm"
)

// diagnoseFlags are the flags of gauze diagnose.
type diagnoseFlags struct {
	command, batch string
	json, explain  bool
	model          adviserFlag
}

// diagnoseCommand returns gauze diagnose, which finds the cause of a failure in a log.
func diagnoseCommand() *cobra.Command {
	f := &diagnoseFlags{}
	cmd := &cobra.Command{
		Use:   "diagnose [FILE] [-- COMMAND...]",
		Short: "Find out from a log why an MCP server failed",
		Long: "Read a client's log, or a server's stderr, and report the cause of the failure, the\n" +
			"evidence for it, and what to do. The log is read from FILE or stdin. COMMAND, the\n" +
			"server's command or URL, makes the diagnosis more reliable. gauze does not start the\n" +
			"server, and uses the network only to ask the model set with --model.\n\n" +
			"Exit status: 0 if a cause was found, 1 if not, 2 for invalid usage.",
		Example: "gauze diagnose mcp-server-fetch.log -- uvx mcp-server-fetch\n" +
			"some-client 2>&1 | gauze diagnose",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			before, after := args, []string(nil)
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				before, after = args[:dash], args[dash:]
			}
			return f.run(cmd, before, after)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.command, "command", "", "`command` line of the server, as one string, or its URL")
	flags.StringVar(&f.batch, "batch", "", "`file` of reports, one JSON object per line (id, command or entry, evidence); - for stdin")
	flags.BoolVar(&f.json, "json", false, "print the diagnosis as JSON")
	flags.BoolVar(&f.explain, "explain", false, "show the deciding clue and the second most likely cause")
	f.model.add(cmd, ranksCauses)
	forHarness(flags, "batch")
	return cmd
}

func (f *diagnoseFlags) run(cmd *cobra.Command, files, command []string) error {
	if f.batch != "" {
		return f.runBatch(cmd, files, command)
	}
	if len(files) > 1 {
		return errors.New("only one FILE can be diagnosed at a time; the server's command must follow --")
	}
	if f.command != "" && len(command) > 0 {
		return errors.New("--command cannot be combined with a command after --")
	}
	log, err := readLog(cmd.InOrStdin(), files)
	if err != nil {
		return err
	}
	c := doctor.FromLog(f.command, log)
	if len(command) > 0 {
		c.Command = command
	}
	c.Secrets = redact.EnvironSecrets(os.Environ())
	model, err := f.openModel(cmd)
	if err != nil {
		return err
	}
	done := func() {}
	if model != nil {
		done = waiting(cmd, f.json, "the model to rank the causes")
	}
	d := grounded{Diagnosis: doctor.Rank(cmd.Context(), model, c, doctor.Diagnose(c))}
	done()
	if f.explain {
		d.Grounds = doctor.Explain(c)
	}
	err = present(cmd, f.json, d, func(p terminal.Paint) string {
		text := showDiagnosis(d.Diagnosis, p)
		if f.explain {
			text += showGrounds(d.Grounds, p)
		}
		return text
	})
	if err == nil && d.Category == doctor.Unknown {
		return exitStatus(1)
	}
	return err
}

// grounded is a diagnosis with what it rests on, if that was asked for.
type grounded struct {
	doctor.Diagnosis
	Grounds []doctor.Ground `json:"grounds,omitempty"`
}

// showGrounds formats the clue that decided and that of the cause that came second.
func showGrounds(grounds []doctor.Ground, p terminal.Paint) string {
	if len(grounds) == 0 {
		return "\nNo known cause matches.\n"
	}
	var b strings.Builder
	for i, header := range []string{"Decided by:", "Second:"} {
		if i == len(grounds) {
			b.WriteString("\nNo other cause matches.\n")
			break
		}
		g := grounds[i]
		name := g.Cause + " (" + doctor.Likelihood(g.Confidence) + ")"
		if g.HiddenBy != "" {
			name += ", only a consequence of " + g.HiddenBy
		}
		if g.Fact != "" {
			name += ", fact " + g.Fact
		}
		fmt.Fprintf(&b, "\n%s %s\n\n    %s\n%s    %s\n", header, name, g.Clue, showReasons([]string{g.Line}, p), p.Faint(g.File))
	}
	return b.String()
}

// openModel returns the model that --model names, or nil: a command that needs no network uses none
// unless it is told to.
func (f *diagnoseFlags) openModel(cmd *cobra.Command) (llm.Model, error) {
	if f.model.name == "" {
		return nil, nil
	}
	return f.model.open(cmd)
}

// readLog reads the whole log: the doctor inspects its beginning and its end.
func readLog(stdin io.Reader, files []string) (string, error) {
	if len(files) == 1 && files[0] != "-" {
		text, err := os.ReadFile(files[0])
		if err != nil {
			return "", cannotRead(err, "pass a log file, or the log on stdin")
		}
		return string(text), nil
	}
	if terminal.Is(stdin) {
		return "", errors.New("missing FILE: pass a log file, or the log on stdin")
	}
	text, err := io.ReadAll(stdin)
	return string(text), err
}

// showDiagnosis formats a diagnosis for a terminal: the cause, the evidence, what to do.
func showDiagnosis(d doctor.Diagnosis, p terminal.Paint) string {
	var b strings.Builder
	title := strings.ReplaceAll(string(d.Category), "_", " ")
	fmt.Fprintf(&b, "%s %s %s\n\n", p.Faint("──"), p.Red(title), p.Faint(strings.Repeat("─", max(3, 74-len(title)))))
	if d.Tentative() {
		b.WriteString(terminal.Fold("Possible cause: "+d.Explanation) + "\n")
	} else {
		b.WriteString(terminal.Fold(d.Explanation) + "\n")
	}
	if len(d.Reasons) > 0 {
		b.WriteString("\nEvidence:\n\n" + showReasons(d.Reasons, p))
	}
	b.WriteString("\nWhat to do:\n\n" + showFix(doctor.WithCommand(d.Fix, d.Command), p))
	if d.Probe != "" {
		b.WriteString("\n" + showFix(d.Probe, p))
	}
	if d.Category != doctor.Unknown {
		fmt.Fprintf(&b, "\n%s\n", p.Faint(fmt.Sprintf("cause: %s (%s)", d.Cause, doctor.Likelihood(d.Confidence))))
	}
	if len(d.Others) > 0 {
		header := "Other possible causes:"
		if d.RankedBy != "" {
			header = "Possible causes (ranked by " + d.RankedBy + "):"
		}
		b.WriteString("\n" + header + "\n\n")
		for i, other := range d.Others {
			text := "- " + other.Explanation
			if i == 0 && (d.Tentative() || d.RankedBy != "") {
				text += " " + other.Fix
			}
			b.WriteString(terminal.Indent(terminal.Fold(text)) + "\n")
			if d.RankedBy != "" {
				b.WriteString(showReasons(other.Reasons, p))
			}
		}
	}
	return b.String()
}

// showReasons formats lines of evidence.
func showReasons(lines []string, p terminal.Paint) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("    " + p.Faint("│") + " " + line + "\n")
	}
	return b.String()
}

// showFix puts the command at the end of a fix on a line of its own, to be copied whole.
func showFix(fix string, p terminal.Paint) string {
	step := fault.Steps(fix)[0]
	if step.Command == "" {
		return terminal.Indent(terminal.Fold(step.Text)) + "\n"
	}
	return terminal.Indent(terminal.Fold(step.Text)) + "\n\n        " + p.Cyan(step.Command) + "\n"
}

func (f *diagnoseFlags) runBatch(cmd *cobra.Command, files, command []string) error {
	if len(files) > 0 || len(command) > 0 || f.command != "" {
		return errors.New("--batch cannot be combined with FILE or COMMAND: each line has its own command and evidence")
	}
	model, err := f.openModel(cmd)
	if err != nil {
		return err
	}
	in := cmd.InOrStdin()
	if f.batch != "-" {
		file, err := os.Open(f.batch)
		if err != nil {
			return cannotRead(err, "--batch requires a file with one report per line, or - for stdin")
		}
		defer file.Close()
		in = file
	}
	return diagnoseBatch(in, cmd.OutOrStdout(), func(c doctor.Case) doctor.Diagnosis { return doctor.Rank(cmd.Context(), model, c, doctor.Diagnose(c)) })
}

// report is one line of a batch. Other members are ignored.
type report struct {
	ID       json.RawMessage `json:"id"`
	Command  string          `json:"command"`
	Evidence string          `json:"evidence"`
	Entry    *reportEntry    `json:"entry"`
}

// reportEntry is the server's entry in a client's configuration. Values of variables are ignored.
type reportEntry struct {
	Client  string                     `json:"client"` // as in gauze clients
	Command string                     `json:"command"`
	Args    []string                   `json:"args"`
	URL     string                     `json:"url"`
	Env     map[string]json.RawMessage `json:"env"`
}

// caseOf returns what the report shows, with its entry if it has one.
func (r report) caseOf() doctor.Case {
	if r.Entry == nil {
		return doctor.FromLog(r.Command, r.Evidence)
	}
	e := doctor.Entry{URL: r.Entry.URL, Env: slices.AppendSeq([]string{}, maps.Keys(r.Entry.Env))}
	if r.Entry.Command != "" {
		e.Command = append([]string{r.Entry.Command}, r.Entry.Args...)
	}
	if client, ok := clientconfig.ByID(r.Entry.Client); ok {
		e.NoURL, e.NoSSE = client.Fields.NoRemote, client.Fields.NoSSE
	}
	return doctor.FromEntry(e, r.Evidence)
}

// verdict is the line of output for a report.
type verdict struct {
	ID          json.RawMessage `json:"id"`
	Category    doctor.Category `json:"category"`
	Cause       string          `json:"cause"`
	Confidence  float64         `json:"confidence"`
	Explanation string          `json:"explanation"`
	Fix         string          `json:"fix"`
	Possible    []possibility   `json:"possible,omitempty"` // the causes that a model ranked
	RankedBy    string          `json:"ranked_by,omitempty"`
}

// possibility is a cause that a model ranked, and the line that points to it.
type possibility struct {
	Category doctor.Category `json:"category"`
	Cause    string          `json:"cause"`
	Evidence []string        `json:"evidence"`
}

func verdictOf(id json.RawMessage, d doctor.Diagnosis) verdict {
	v := verdict{ID: id, Category: d.Category, Cause: d.Cause, Confidence: d.Confidence, Explanation: d.Explanation, Fix: d.Fix, RankedBy: d.RankedBy}
	if d.RankedBy != "" {
		for _, other := range d.Others {
			v.Possible = append(v.Possible, possibility{other.Category, other.Cause, other.Reasons})
		}
	}
	return v
}

// diagnoseBatch writes one line to out for every line of in, in the same order.
func diagnoseBatch(in io.Reader, out io.Writer, diagnose func(doctor.Case) doctor.Diagnosis) error {
	broken := false
	var writing error
	reading := eachLine(in, func(number int, line []byte, tooLong bool) bool {
		var r report
		problem := ""
		if tooLong {
			problem = fmt.Sprintf("is longer than %d MB", maxBatchLine>>20)
		} else if err := json.Unmarshal(line, &r); err != nil {
			problem = explainReport(err)
		}
		answer := brokenReport(r.ID, fmt.Sprintf("line %d %s", number, problem))
		if problem == "" {
			answer = jsonLine(verdictOf(r.ID, diagnose(r.caseOf())))
		}
		broken = broken || problem != ""
		_, writing = out.Write(answer)
		return writing == nil
	})
	switch {
	case writing != nil:
		return fmt.Errorf("cannot write the results: %w", writing)
	case reading != nil:
		return fmt.Errorf("cannot read the batch: %w", reading)
	case broken:
		return exitStatus(1)
	}
	return nil
}

func brokenReport(id json.RawMessage, message string) []byte {
	return jsonLine(struct {
		ID    json.RawMessage `json:"id"`
		Error string          `json:"error"`
	}{id, message})
}

func explainReport(err error) string {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("has a JSON %s as %s: each line must be an object {\"id\", \"command\", \"evidence\"}, and command and evidence must be strings", kind.Value, kind.Field)
	case errors.As(err, &kind):
		return fmt.Sprintf("is a JSON %s: each line must be an object {\"id\", \"command\", \"evidence\"}", kind.Value)
	}
	return "is not JSON: " + err.Error()
}
