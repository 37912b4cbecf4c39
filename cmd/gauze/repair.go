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

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
)

// repairFlags are the flags of gauze repair.
type repairFlags struct {
	schema, tool, batch, tier string
	json                      bool
}

// repairCommand shows how Gauze repairs the arguments of a call.
func repairCommand() *cobra.Command {
	f := &repairFlags{}
	cmd := &cobra.Command{
		Use:   "repair --schema FILE [--tool NAME] [ARGS]",
		Short: "Validate and repair the arguments of a tool call",
		Long: "Check ARGS, the arguments of a tool call as a model wrote them, against the\n" +
			"tool's input schema. Repair what can be repaired without changing its meaning,\n" +
			"and show each change. Explain the rest as the model would see it.\n\n" +
			"FILE is a JSON Schema, a tool with its inputSchema, or the response to\n" +
			"tools/list; - is stdin. Without ARGS, the arguments are read from stdin.",
		Example: "gauze repair --schema tools.json --tool get_weather '{\"days\": \"5\"}'\n" +
			"gauze repair --schema tools.json --tool get_weather < arguments.json",
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.schema, "schema", "", "`file` with a schema, a tool or a list of tools; - for stdin")
	flags.StringVar(&f.tool, "tool", "", "`name` of the tool that the model called")
	flags.StringVar(&f.batch, "batch", "", "file of calls, one JSON object per line: id, tool, called,\ntools, schema, args; - for stdin")
	flags.StringVar(&f.tier, "tier", "report", "`tier` of repairs: silent (only unambiguous repairs) or report (also\n"+
		"repairs that are reported to the model). gauze run uses\nsilent for tools that are neither read-only nor idempotent")
	flags.BoolVar(&f.json, "json", false, "print the result as JSON")
	forHarness(flags, "batch")
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
	answer := call.judge(tier)
	err = present(cmd, f.json, answer, func(p terminal.Paint) string { return answer.show(call.Called, sent, p) })
	if err == nil && answer.Outcome == repair.Refused.String() {
		return exitStatus(1)
	}
	return err
}

func (f *repairFlags) runBatch(cmd *cobra.Command, args []string, tier repair.Tier) error {
	if f.schema != "" || f.tool != "" || len(args) > 0 {
		return errors.New("--batch cannot be combined with --schema, --tool or ARGS: each line has its own tool, schema and arguments")
	}
	if f.batch == "-" {
		return repairBatch(cmd.InOrStdin(), cmd.OutOrStdout(), tier)
	}
	in, err := os.Open(f.batch)
	if err != nil {
		return cannotRead(err, "--batch requires a file with one call per line, or - for stdin")
	}
	defer in.Close()
	return repairBatch(in, cmd.OutOrStdout(), tier)
}

// call returns the call to check, and its arguments as they were written.
func (f *repairFlags) call(stdin io.Reader, args []string) (call repairCall, sent string, err error) {
	if f.schema == "" {
		return call, "", errors.New("missing --schema: " + schemaForms)
	}
	fromStdin := len(args) == 0 || args[0] == "-"
	if fromStdin && f.schema == "-" {
		return call, "", errors.New("stdin cannot contain both the schema and the arguments: pass the arguments on the command line, in quotes")
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

const schemaForms = "the schema file must be a JSON Schema, a tool with its inputSchema, or the response to tools/list"

func (f *repairFlags) readSchema(stdin io.Reader) (call repairCall, err error) {
	name, text := "stdin", []byte(nil)
	if f.schema == "-" {
		text, err = io.ReadAll(stdin)
	} else {
		name = "file " + f.schema
		text, err = os.ReadFile(f.schema)
	}
	if err != nil {
		return call, cannotRead(err, schemaForms)
	}
	text = bytes.TrimPrefix(bytes.TrimSpace(text), []byte("\ufeff")) // PowerShell writes a byte order mark
	if len(text) == 0 {
		return call, fmt.Errorf("%s is empty: %s", name, schemaForms)
	}
	if call, err = parseSchema(text); err != nil {
		return call, fmt.Errorf("%s %s: %s", name, notJSON(text, err), schemaForms)
	}
	call.Called = f.tool
	return call, f.pick(name, &call)
}

// parseSchema reads a schema file in any of its forms.
func parseSchema(text []byte) (call repairCall, err error) {
	if text[0] == '[' {
		return call, json.Unmarshal(text, &call.Tools)
	}
	var form struct {
		Tools       []repairTool    `json:"tools"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Result      struct {
			Tools []repairTool `json:"tools"`
		} `json:"result"` // a whole response, as copied from a log
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
		err = json.Unmarshal(text, &form) // fails, and says why
	default:
		call.Schema = text
	}
	return call, err
}

// pick returns an error if it is not clear which tool was called.
func (f *repairFlags) pick(source string, call *repairCall) error {
	switch {
	case call.Schema != nil || f.tool != "" && len(call.Tools) > 0:
		return nil
	case len(call.Tools) == 0:
		return fmt.Errorf("%s contains no tools: it must contain the tool that was called", source)
	case len(call.Tools) == 1:
		call.Called = call.Tools[0].Name
		return nil
	}
	names := toolNames(call.Tools)
	list := strings.Join(names[:min(len(names), 20)], ", ")
	if len(names) > 20 {
		list += fmt.Sprintf(" and %d more", len(names)-20)
	}
	return fmt.Errorf("%s contains %d tools: set --tool to one of %s", source, len(names), plaintext.Clean(list))
}

func readArguments(stdin io.Reader) (string, error) {
	if terminal.Is(stdin) {
		return "", errors.New("missing ARGS: pass the arguments on the command line, in quotes, or on stdin")
	}
	text, err := io.ReadAll(stdin)
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		err = errors.New("stdin is empty: pass the arguments there, or on the command line, in quotes ('' for none)")
	}
	return string(text), err
}

// cannotRead reports which file cannot be read, why, and what is expected.
func cannotRead(err error, expected string) error {
	var where *fs.PathError
	if errors.As(err, &where) && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("file %s does not exist: %s", where.Path, expected)
	}
	return fmt.Errorf("%w: %s", err, expected)
}

// notJSON describes what is wrong with a JSON text, and where.
func notJSON(text []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return "is JSON, but not in the expected form"
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
	case "report", "told": // told is the old name
		return repair.Told, nil
	}
	return repair.Off, fmt.Errorf("invalid --tier %q: must be silent or report", text)
}
