package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// diagnoseFlags are the settings of gauze diagnose.
type diagnoseFlags struct {
	command, batch string
	json           bool
}

// diagnoseCommand names the cause of a failure by what was logged of it.
func diagnoseCommand() *cobra.Command {
	f := &diagnoseFlags{}
	cmd := &cobra.Command{
		Use:   "diagnose [FILE] [-- COMMAND...]",
		Short: "Find out from a log why an MCP server failed",
		Long: "Read a log (a client's, or what the server wrote to stderr) and say what is wrong, why we think so, and what to do next.\n" +
			"The log comes from FILE or from stdin; COMMAND is how the server is started, or its URL, and makes the answer surer.\n" +
			"Nothing is run and nobody is asked. Exit status: 0 if a cause was found, 1 if not, 2 for a mistake in the command line.",
		Example: "gauze diagnose mcp-server-fetch.log -- uvx mcp-server-fetch\n" +
			"some-client 2>&1 | gauze diagnose\n" +
			"gauze diagnose --batch reports.jsonl > answers.jsonl",
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
	flags.StringVar(&f.command, "command", "", "how the server is started, as one text, or its URL")
	flags.StringVar(&f.batch, "batch", "", "file of reports, one JSON object a line (id, command, evidence); - for stdin")
	flags.BoolVar(&f.json, "json", false, "the whole diagnosis as one line of JSON")
	return cmd
}

func (f *diagnoseFlags) run(cmd *cobra.Command, files, command []string) error {
	if f.batch != "" {
		return f.runBatch(cmd, files, command)
	}
	if len(files) > 1 {
		return errors.New("one log at a time: name one FILE, and the server's command after --")
	}
	if f.command != "" && len(command) > 0 {
		return errors.New("the command is given twice: with --command and after --")
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
	d, out := doctor.Diagnose(c), cmd.OutOrStdout()
	if f.json {
		_, err = out.Write(jsonLine(d))
	} else {
		_, err = io.WriteString(out, showDiagnosis(d, paint(colourful(out))))
	}
	if err == nil && d.Category == doctor.Unknown {
		return exitStatus(1)
	}
	return err
}

// readLog reads the log whole: the doctor looks at its beginning and its end.
func readLog(stdin io.Reader, files []string) (string, error) {
	if len(files) == 1 && files[0] != "-" {
		text, err := os.ReadFile(files[0])
		if err != nil {
			return "", cannotRead(err, "name a log, or send it on stdin")
		}
		return string(text), nil
	}
	if f, ok := stdin.(*os.File); ok && term.IsTerminal(f.Fd()) {
		return "", errors.New("no log: name a file, or send it on stdin")
	}
	text, err := io.ReadAll(stdin)
	return string(text), err
}

// showDiagnosis is for people: what is wrong, why we think so, what to do.
func showDiagnosis(d doctor.Diagnosis, p paint) string {
	var b strings.Builder
	title := strings.ReplaceAll(string(d.Category), "_", " ")
	fmt.Fprintf(&b, "%s %s %s\n\n", p.in("2", "──"), p.red(title), p.in("2", strings.Repeat("─", max(3, 74-len(title)))))
	b.WriteString(fold(d.Explanation) + "\n")
	if len(d.Reasons) > 0 {
		b.WriteString("\nThe evidence says:\n\n")
		for _, line := range d.Reasons {
			b.WriteString("    " + p.in("2", "│") + " " + line + "\n")
		}
	}
	b.WriteString("\nWhat to do:\n\n" + showFix(doctor.WithCommand(d.Fix, d.Command), p))
	if d.Category != doctor.Unknown {
		fmt.Fprintf(&b, "\n%s\n", p.in("2", fmt.Sprintf("cause: %s (%s)", d.Cause, doctor.Likelihood(d.Confidence))))
	}
	if len(d.Others) > 0 {
		b.WriteString("\nIf that does not help, it may be:\n\n")
		for _, other := range d.Others {
			b.WriteString(indent(fold("- "+other.Explanation)) + "\n")
		}
	}
	return b.String()
}

// showFix puts the command at the end of a fix on a line of its own, to be copied whole.
func showFix(fix string, p paint) string {
	step := fault.Steps(fix)[0]
	if step.Command == "" {
		return indent(fold(step.Text)) + "\n"
	}
	return indent(fold(step.Text)) + "\n\n        " + p.in("36", step.Command) + "\n"
}

// fold breaks a sentence at spaces so that it fits a terminal. A long word
// stays whole: a broken path cannot be copied.
func fold(text string) string {
	const width = 78
	var b strings.Builder
	at := 0
	for word := range strings.FieldsSeq(text) {
		n := len([]rune(word))
		switch {
		case at == 0:
		case at+1+n > width:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

func (f *diagnoseFlags) runBatch(cmd *cobra.Command, files, command []string) error {
	if len(files) > 0 || len(command) > 0 || f.command != "" {
		return errors.New("with --batch each line has its own command and evidence: leave FILE and COMMAND out")
	}
	in := cmd.InOrStdin()
	if f.batch != "-" {
		file, err := os.Open(f.batch)
		if err != nil {
			return cannotRead(err, "--batch wants a file with one report a line, or - for stdin")
		}
		defer file.Close()
		in = file
	}
	return diagnoseBatch(in, cmd.OutOrStdout())
}

// report is a line of a batch. A line may hold more; it is not looked at.
type report struct {
	ID       json.RawMessage `json:"id"`
	Command  string          `json:"command"`
	Evidence string          `json:"evidence"`
}

// verdict is the line that answers it.
type verdict struct {
	ID          json.RawMessage `json:"id"`
	Category    doctor.Category `json:"category"`
	Cause       string          `json:"cause"`
	Confidence  float64         `json:"confidence"`
	Explanation string          `json:"explanation"`
	Fix         string          `json:"fix"`
}

// diagnoseBatch answers every line of in with one line on out, in order.
func diagnoseBatch(in io.Reader, out io.Writer) error {
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
			d := doctor.Diagnose(doctor.FromLog(r.Command, r.Evidence))
			answer = jsonLine(verdict{r.ID, d.Category, d.Cause, d.Confidence, d.Explanation, d.Fix})
		}
		broken = broken || problem != ""
		_, writing = out.Write(answer)
		return writing == nil
	})
	switch {
	case writing != nil:
		return fmt.Errorf("writing the answers: %w", writing)
	case reading != nil:
		return fmt.Errorf("reading the batch: %w", reading)
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
		return fmt.Sprintf("has a %s as %s: want {\"id\", \"command\", \"evidence\"}, the last two as text", kind.Value, kind.Field)
	case errors.As(err, &kind):
		return fmt.Sprintf("is a JSON %s: want an object {\"id\", \"command\", \"evidence\"}", kind.Value)
	}
	return "is not JSON: " + err.Error()
}
