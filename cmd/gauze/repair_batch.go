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
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/repair"
)

// maxBatchLine is how long a line of a batch may be.
const maxBatchLine = 64 << 20

// repairCall is one call to judge: a line of a batch.
type repairCall struct {
	ID     json.RawMessage `json:"id"`
	Tool   string          `json:"tool"`
	Called string          `json:"called"` // the name the model used; Tool if absent
	Tools  []repairTool    `json:"tools"`
	Schema json.RawMessage `json:"schema"`
	Args   json.RawMessage `json:"args"` // a JSON string is the text a model wrote
}

// repairTool is a tool as tools/list has it. A batch may give its name alone.
type repairTool struct {
	Name        string
	InputSchema json.RawMessage
}

func (t *repairTool) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, &t.Name)
	}
	var tool struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	err := json.Unmarshal(raw, &tool)
	*t = repairTool(tool)
	return err
}

// repairAnswer is what became of a call: a line of the output.
type repairAnswer struct {
	ID      json.RawMessage `json:"id"`
	Outcome string          `json:"outcome"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args,omitempty"` // what to send; absent if nothing is to be sent
	Changes []repair.Change `json:"changes"`
	Notes   []string        `json:"notes,omitempty"`
	Message string          `json:"message,omitempty"`
}

// judge is the one judgement behind all forms of the command.
func (c repairCall) judge(tier repair.Tier) repairAnswer {
	a := repairAnswer{ID: c.ID, Changes: []repair.Change{}}
	called := cmp.Or(c.Called, c.Tool)
	var known bool
	if a.Tool, known = resolveTool(called, c.Tools); !known {
		a.Message = repair.UnknownTool(called, toolNames(c.Tools), 1).Text
	}
	raw := c.Schema
	if isNothing(raw) {
		raw = schemaOf(a.Tool, c.Tools)
	}
	switch {
	case isNothing(raw) && !known:
		a.Outcome = repair.Refused.String()
	case isNothing(raw):
		a.Outcome, a.Args, a.Message = repair.Unverified.String(), c.Args, "there is no schema to hold the arguments against"
	default:
		c.hold(repair.Compile(raw), repair.Options{Tool: called, Tier: tier}, &a)
	}
	return a
}

// hold holds the arguments against the schema.
func (c repairCall) hold(schema *repair.Schema, o repair.Options, a *repairAnswer) {
	out := judgeText(schema, c.Args, o)
	a.Outcome, a.Notes = out.Verdict.String(), out.Notes
	if len(out.Changes) > 0 {
		a.Changes = out.Changes
	}
	more := ""
	switch out.Verdict {
	case repair.Refused:
		more = schema.Explain(cmp.Or(a.Tool, o.Tool), out, 1).Text
	case repair.Unverified:
		a.Args, more = asSent(out.Arguments, c.Args), out.Reason
	default:
		a.Args = out.Arguments
	}
	if a.Message != "" && more != "" {
		a.Message += "\n\n"
	}
	a.Message += more
}

// judgeText takes a JSON string for the text a model wrote, anything else for
// the arguments themselves.
func judgeText(schema *repair.Schema, args json.RawMessage, o repair.Options) repair.Outcome {
	var text string
	if len(args) == 0 || args[0] != '"' || json.Unmarshal(args, &text) != nil {
		return schema.Arguments(args, o)
	}
	if text == "" {
		return schema.Arguments(nil, o)
	}
	return schema.Text(text, o)
}

// asSent is what could not be checked, as JSON: text that is none stays text.
func asSent(arguments []byte, sent json.RawMessage) json.RawMessage {
	if json.Valid(arguments) {
		return arguments
	}
	return sent
}

// resolveTool finds the tool that was called. Where no tools are known, any
// name is right.
func resolveTool(called string, tools []repairTool) (name string, known bool) {
	names := toolNames(tools)
	if len(names) == 0 || slices.Contains(names, called) {
		return called, true
	}
	if name, ok := repair.ToolName(called, names); ok {
		return name, true
	}
	return "", false
}

func toolNames(tools []repairTool) (names []string) {
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

func schemaOf(name string, tools []repairTool) json.RawMessage {
	for _, t := range tools {
		if t.Name == name {
			return t.InputSchema
		}
	}
	return nil
}

func isNothing(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// line is the answer as one line of JSON.
func (a repairAnswer) line() []byte { return jsonLine(a) }

// jsonLine encodes what every command prints with --json: one line, in which < and & stay readable and no character is
// unseen.
func jsonLine(value any) []byte {
	text, err := fault.EncodeJSON(value, "")
	if err != nil {
		return brokenLine(nil, "the answer cannot be written: "+err.Error())
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

// batchResult is one line of output.
type batchResult struct {
	line   []byte
	broken bool
}

// repairBatch answers every line of in with one line on out, in the same
// order. Lines are judged side by side, as many as there are processors.
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
			return fmt.Errorf("writing the answers: %w", err)
		}
		if len(pending) == 0 { // whoever sends line by line gets answers line by line
			if err := w.Flush(); err != nil {
				return fmt.Errorf("writing the answers: %w", err)
			}
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the answers: %w", err)
	}
	if reading != nil {
		return fmt.Errorf("reading the batch: %w", reading)
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
		problem = fmt.Sprintf("is longer than %d MB", maxBatchLine>>20)
	} else if !utf8.Valid(line) {
		problem = "is not UTF-8"
	} else if err := json.Unmarshal(line, &call); err != nil {
		problem = explainLine(err)
	}
	if problem != "" {
		return batchResult{brokenLine(call.ID, fmt.Sprintf("line %d: %s", number, problem)), true}
	}
	return batchResult{call.judge(tier).line(), false}
}

// explainLine says what is wrong with a line.
func explainLine(err error) string {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) && kind.Field != "" {
		return fmt.Sprintf("%s is a %s: want {\"id\", \"tool\", \"called\", \"tools\", \"schema\", \"args\"}, with names as text", kind.Field, kind.Value)
	}
	if errors.As(err, &kind) {
		return fmt.Sprintf("is a JSON %s: want an object {\"id\", \"tool\", \"called\", \"tools\", \"schema\", \"args\"}", kind.Value)
	}
	return "is not JSON: " + err.Error()
}

// eachLine calls f with every line that is not blank, until it returns false.
// Of a line that is too long only the number is given.
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

// readLine reads one line; one that is too long is skipped to its end.
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
