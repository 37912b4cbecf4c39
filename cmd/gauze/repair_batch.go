package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// maxBatchLine limits the bytes of a line of a batch.
const maxBatchLine = 64 << 20

// repairCall is one call to check: a line of a batch.
type repairCall struct {
	ID     json.RawMessage `json:"id"`
	Tool   string          `json:"tool"`
	Called string          `json:"called"` // the name that the model used; default Tool
	Tools  []repairTool    `json:"tools"`
	Schema json.RawMessage `json:"schema"` // default: the schema of the called tool
	Args   json.RawMessage `json:"args"`   // a JSON string is the text that a model wrote
}

// repairTool is a tool as in tools/list. A batch may contain only its name.
type repairTool struct {
	Name        string
	Description string
	InputSchema json.RawMessage
}

func (t *repairTool) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, &t.Name)
	}
	var tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	err := json.Unmarshal(raw, &tool)
	*t = repairTool(tool)
	return err
}

// repairAnswer is the result of checking a call: a line of the output.
type repairAnswer struct {
	ID      json.RawMessage `json:"id"`
	Outcome string          `json:"outcome"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args,omitempty"` // the arguments to send; absent if the call was refused
	Changes []repair.Change `json:"changes"`
	Notes   []string        `json:"notes,omitempty"`
	Message string          `json:"message,omitempty"`
	Details json.RawMessage `json:"details,omitempty"` // Message for programs
}

// judge passes a call through the repair gate. The arguments of an unknown tool are still checked
// if the call has a schema.
func (c repairCall) judge(tier repair.Tier) repairAnswer {
	gate := repair.Gate{Authoritative: true}
	call := repair.Call{Tool: cmp.Or(c.Called, c.Tool), Arguments: c.arguments()}
	d := gate.Admit(call, c.catalog(tier))
	a := repairAnswer{ID: c.ID, Tool: d.Tool}
	if d.Verdict == repair.Refused {
		refusal := d.Refusal()
		a.Message, a.Details = refusal.Message, refusal.Report
		if refusal.Code == fault.ToolUnknown {
			a.Tool = ""
			if compiled := compile(c.Schema); compiled != nil {
				d = gate.Admit(call, repair.Only{Schema: compiled, Safe: tier == repair.Told})
				if d.Verdict == repair.Refused {
					a.Message = joined(a.Message, d.Refusal().Message)
				}
			}
		}
	}
	if d.Verdict == repair.Valid && !d.Checked() {
		d.Verdict, d.Reason = repair.Unverified, "no schema to check the arguments against"
	}
	a.Outcome, a.Notes, a.Changes = d.Verdict.String(), d.Receipt.Notes, d.Receipt.Changes
	if a.Changes == nil {
		a.Changes = []repair.Change{}
	}
	switch d.Verdict {
	case repair.Unverified:
		a.Args, a.Message = c.Args, joined(a.Message, d.Reason)
		if json.Valid(d.Arguments) {
			a.Args = d.Arguments
		}
	case repair.Valid, repair.Repaired:
		a.Args = d.Arguments
	}
	return a
}

// joined puts two messages into two paragraphs.
func joined(a, b string) string { return strings.TrimSpace(a + "\n\n" + b) }

// arguments returns the arguments as the model wrote them.
func (c repairCall) arguments() []byte {
	var text string
	if len(c.Args) == 0 || c.Args[0] != '"' || json.Unmarshal(c.Args, &text) != nil {
		return c.Args
	}
	return []byte(text)
}

// catalog returns the tools of a call as the repair gate reads them. If none are known, any name is
// accepted.
func (c repairCall) catalog(tier repair.Tier) repair.Catalog {
	only := repair.Tool{Schema: compile(c.Schema), Safe: tier == repair.Told}
	if len(c.Tools) == 0 {
		return repair.Only(only)
	}
	return repairTools{c.Tools, only}
}

// repairTools is a list of tools. The schema of the call, if any, applies to all of them.
type repairTools struct {
	tools []repairTool
	all   repair.Tool
}

func (l repairTools) Tool(name string) (repair.Tool, bool) {
	i := slices.IndexFunc(l.tools, func(t repairTool) bool { return t.Name == name })
	tool := l.all
	if i < 0 {
		return tool, false
	}
	tool.About = l.tools[i].Description
	if tool.Schema == nil {
		tool.Schema = compile(l.tools[i].InputSchema)
	}
	return tool, true
}

func (l repairTools) Names() []string { return toolNames(l.tools) }

func toolNames(tools []repairTool) (names []string) {
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

// compile returns the schema, or nil if there is none.
func compile(schema json.RawMessage) *repair.Schema {
	if len(schema) == 0 || string(schema) == "null" {
		return nil
	}
	return repair.Compile(schema)
}

// jsonLine encodes what every command prints with --json: one line, in which < and & are not escaped
// and every character is visible.
func jsonLine(value any) []byte {
	text, err := plaintext.EncodeJSON(value, "")
	if err != nil {
		return brokenLine(nil, "cannot encode the answer: "+err.Error())
	}
	return append(text, '\n')
}

func brokenLine(id json.RawMessage, message string) []byte {
	return jsonLine(struct {
		ID      json.RawMessage `json:"id"`
		Outcome string          `json:"outcome"`
		Message string          `json:"message"`
	}{id, "error", message})
}

// batchResult is one line of the output.
type batchResult struct {
	line   []byte
	broken bool
}

// repairBatch answers every line of in with one line on out, in the same order. It checks as many
// lines at the same time as there are processors.
func repairBatch(in io.Reader, out io.Writer, tier repair.Tier) error {
	pending := make(chan chan batchResult, runtime.GOMAXPROCS(0))
	stop := make(chan struct{})
	defer close(stop)
	var reading error // valid once pending is closed
	go func() {
		defer close(pending)
		reading = eachLine(in, func(number int, line []byte, tooLong bool) bool {
			result := make(chan batchResult, 1)
			select {
			case pending <- result:
			case <-stop:
				return false
			}
			go func() { result <- answerLine(number, line, tooLong, tier) }()
			return true
		})
	}()
	broken, w := 0, bufio.NewWriter(out)
	for result := range pending {
		r := <-result
		if r.broken {
			broken++
		}
		if _, err := w.Write(r.line); err != nil {
			return fmt.Errorf("cannot write the results: %w", err)
		}
		if len(pending) == 0 { // answer a client that sends line by line immediately
			if err := w.Flush(); err != nil {
				return fmt.Errorf("cannot write the results: %w", err)
			}
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("cannot write the results: %w", err)
	}
	if reading != nil {
		return fmt.Errorf("cannot read the batch: %w", reading)
	}
	if broken > 0 {
		return exitStatus(1)
	}
	return nil
}

func answerLine(number int, line []byte, tooLong bool, tier repair.Tier) batchResult {
	var call repairCall
	problem := ""
	if tooLong {
		problem = fmt.Sprintf("longer than %d MB", maxBatchLine>>20)
	} else if !utf8.Valid(line) {
		problem = "not valid UTF-8"
	} else if err := json.Unmarshal(line, &call); err != nil {
		problem = explainLine(err)
	}
	if problem != "" {
		return batchResult{brokenLine(call.ID, fmt.Sprintf("line %d: %s", number, problem)), true}
	}
	return batchResult{jsonLine(call.judge(tier)), false}
}

// explainLine describes what is wrong with a line.
func explainLine(err error) string {
	const form = `{"id", "tool", "called", "tools", "schema", "args"}`
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("%s is a JSON %s: each line must be an object %s, and names must be strings", kind.Field, kind.Value, form)
	case errors.As(err, &kind):
		return fmt.Sprintf("a JSON %s: each line must be an object %s", kind.Value, form)
	}
	return "not JSON: " + err.Error()
}

// eachLine calls f with every line that is not blank, until f returns false. A line that is too long
// is passed without its text.
func eachLine(in io.Reader, f func(number int, line []byte, tooLong bool) bool) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for number := 1; ; number++ {
		line, tooLong, err := readLine(r)
		if line = bytes.TrimSpace(line); (len(line) > 0 || tooLong) && !f(number, line, tooLong) {
			return nil
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readLine reads one line. It skips a line that is too long.
func readLine(r *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > maxBatchLine+1; tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		if err != bufio.ErrBufferFull {
			return line, tooLong, err
		}
	}
}
