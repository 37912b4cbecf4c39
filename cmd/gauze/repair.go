package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/repair"
)

// repairFlags are the settings of gauze repair.
type repairFlags struct {
	schema, tool, batch, tier string
	json                      bool
}

// repairCommand shows what Gauze makes of a call's arguments.
func repairCommand() *cobra.Command {
	f := &repairFlags{}
	cmd := &cobra.Command{
		Use:   "repair --schema FILE [--tool NAME] [ARGS]",
		Short: "Validate and repair the arguments of a tool call",
		Long: "Hold ARGS, the arguments of a tool call as a model wrote them, against the tool's own schema. What can be repaired\n" +
			"without changing its meaning is repaired, and each change is shown; the rest is explained as the model would read it.\n" +
			"FILE holds a JSON Schema, a tool, or what tools/list answered; - is stdin. Without ARGS they are read from stdin.",
		Example: "gauze repair --schema tools.json --tool get_weather '{\"days\": \"5\"}'\n" +
			"gauze repair --batch calls.jsonl > answers.jsonl",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.schema, "schema", "", "file with the schema, the tool or the list of tools; - for stdin")
	flags.StringVar(&f.tool, "tool", "", "name of the tool, as the model called it")
	flags.StringVar(&f.batch, "batch", "", "file of calls, one JSON object a line (id, tool, called, tools, schema, args); - for stdin")
	flags.StringVar(&f.tier, "tier", "told", "how far repair may go: silent (what has one reading) or told (what the caller should hear of, too);\n"+
		"in gauze run, tools that are neither read-only nor idempotent get silent only. Default:")
	flags.BoolVar(&f.json, "json", false, "one line of JSON, as --batch gives")
	return cmd
}

func (f *repairFlags) run(cmd *cobra.Command, args []string) error {
	tier, err := parseTier(f.tier)
	if err != nil {
		return err
	}
	if f.batch != "" {
		return f.runBatch(cmd, args, tier)
	}
	call, sent, err := f.call(cmd.InOrStdin(), args)
	if err != nil {
		return err
	}
	answer, out := call.judge(tier), cmd.OutOrStdout()
	if f.json {
		_, err = out.Write(answer.line())
	} else {
		_, err = io.WriteString(out, answer.show(call.Called, sent, paint(colourful(out))))
	}
	if err == nil && answer.Outcome == repair.Refused.String() {
		return exitStatus(1)
	}
	return err
}

func (f *repairFlags) runBatch(cmd *cobra.Command, args []string, tier repair.Tier) error {
	if f.schema != "" || f.tool != "" || len(args) > 0 {
		return errors.New("with --batch each line has its own tool, schema and arguments: leave --schema, --tool and ARGS out")
	}
	if f.batch == "-" {
		return repairBatch(cmd.InOrStdin(), cmd.OutOrStdout(), tier)
	}
	in, err := os.Open(f.batch)
	if err != nil {
		return cannotRead(err, "--batch wants a file with one call a line, or - for stdin")
	}
	defer in.Close()
	return repairBatch(in, cmd.OutOrStdout(), tier)
}

// call puts together what is to be judged; sent is the text of the arguments.
func (f *repairFlags) call(stdin io.Reader, args []string) (call repairCall, sent string, err error) {
	if f.schema == "" {
		return call, "", errors.New("no schema: name a file with --schema. It " + wantSchema)
	}
	fromStdin := len(args) == 0 || args[0] == "-"
	if fromStdin && f.schema == "-" {
		return call, "", errors.New("stdin cannot hold both the schema and the arguments: write the arguments, in quotes, as the last word")
	}
	if call, err = f.readSchema(stdin); err != nil {
		return call, "", err
	}
	if sent = ""; !fromStdin {
		sent = args[0]
	} else if sent, err = readArguments(stdin); err != nil {
		return call, "", err
	}
	call.Args, err = json.Marshal(sent)
	return call, sent, err
}

const wantSchema = "may hold a JSON Schema, a tool with its inputSchema, or what tools/list answered"

func (f *repairFlags) readSchema(stdin io.Reader) (call repairCall, err error) {
	name, text := "what came on stdin", []byte(nil)
	if f.schema == "-" {
		text, err = io.ReadAll(stdin)
	} else {
		name = "the file " + f.schema
		text, err = os.ReadFile(f.schema)
	}
	if err != nil {
		return call, cannotRead(err, "the file of --schema "+wantSchema)
	}
	text = bytes.TrimPrefix(bytes.TrimSpace(text), []byte("\ufeff")) // Windows shells begin files with it
	if len(text) == 0 {
		return call, fmt.Errorf("%s is empty: it %s", name, wantSchema)
	}
	if call, err = parseSchema(text); err != nil {
		return call, fmt.Errorf("%s %s: it %s", name, notJSON(text, err), wantSchema)
	}
	call.Called = f.tool
	return call, f.pick(name, &call)
}

// parseSchema tells the forms of the file apart.
func parseSchema(text []byte) (call repairCall, err error) {
	if text[0] == '[' {
		return call, json.Unmarshal(text, &call.Tools)
	}
	var form struct {
		Tools       []repairTool    `json:"tools"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Result      struct {
			Tools []repairTool `json:"tools"`
		} `json:"result"` // of a whole answer, as it is copied from a log
	}
	if text[0] == '{' {
		if err := json.Unmarshal(text, &form); err != nil {
			return call, err
		}
	}
	switch {
	case form.Tools != nil:
		call.Tools = form.Tools
	case form.Result.Tools != nil:
		call.Tools = form.Result.Tools
	case form.InputSchema != nil:
		call.Tools = make([]repairTool, 1)
		return call, json.Unmarshal(text, &call.Tools[0])
	case text[0] != '{' && string(text) != "true" && string(text) != "false":
		err = json.Unmarshal(text, &form) // which it cannot be, and this says why
	default:
		call.Schema = text
	}
	return call, err
}

// pick makes sure that it is clear which tool of a list is meant.
func (f *repairFlags) pick(source string, call *repairCall) error {
	switch {
	case call.Schema != nil || f.tool != "" && len(call.Tools) > 0:
		return nil
	case len(call.Tools) == 0:
		return fmt.Errorf("%s holds an empty list of tools: it needs the one that was called", source)
	case len(call.Tools) == 1:
		call.Called = call.Tools[0].Name
		return nil
	}
	names := toolNames(call.Tools)
	list := strings.Join(names[:min(len(names), 20)], ", ")
	if len(names) > 20 {
		list += fmt.Sprintf(" and %d more", len(names)-20)
	}
	return fmt.Errorf("%s holds %d tools: name the one that was called with --tool. There are %s", source, len(names), fault.Clean(list))
}

func readArguments(stdin io.Reader) (string, error) {
	if f, ok := stdin.(*os.File); ok && term.IsTerminal(f.Fd()) {
		return "", errors.New("no arguments: write them, in quotes, as the last word, or send them on stdin")
	}
	text, err := io.ReadAll(stdin)
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		err = errors.New("there is nothing on stdin: send the arguments there, or write them, in quotes, as the last word ('' for none)")
	}
	return string(text), err
}

// cannotRead says which file, why, and what was wanted.
func cannotRead(err error, want string) error {
	var where *fs.PathError
	if errors.As(err, &where) && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s: %s", where.Path, want)
	}
	return fmt.Errorf("%w: %s", err, want)
}

// notJSON says what is wrong with a text, and where.
func notJSON(text []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return "is JSON of another form"
	}
	before := text[:min(max(syntax.Offset-1, 0), int64(len(text)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Sprintf("is not JSON (line %d, column %d: %v)", line, column, err)
}

func parseTier(text string) (repair.Tier, error) {
	switch text {
	case "silent":
		return repair.Silent, nil
	case "told":
		return repair.Told, nil
	}
	return repair.Off, fmt.Errorf("invalid --tier %q: must be silent or told", text)
}
