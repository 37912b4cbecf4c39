package fault

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// machineLines limits the lines of evidence: enough to diagnose from, too few to flood a client.
const machineLines = 8

// machine is the format of the JSON. Fields are only ever added. "source" distinguishes gauze's
// faults from a server's own errors.
type machine struct {
	Source   string `json:"source"`
	Code     Code   `json:"code"`
	Title    string `json:"title"`
	Delivery string `json:"delivery"`
	Retry    Advice `json:"retry"`
	Safe     bool   `json:"safe"`

	Server string `json:"server,omitempty"`
	Method string `json:"method,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Detail string `json:"detail,omitempty"`
	Status int    `json:"status,omitempty"`

	Cause *machineCause `json:"cause,omitempty"`

	State      string `json:"state,omitempty"`
	Closures   uint64 `json:"closures,omitempty"`
	Recoveries uint64 `json:"recoveries,omitempty"`

	At       string `json:"at,omitempty"`
	Since    string `json:"since,omitempty"`
	NextTry  string `json:"nextTry,omitempty"`
	Attempts int    `json:"attempts,omitempty"`
	WaitedMS int64  `json:"waitedMs,omitempty"`
	LimitMS  int64  `json:"limitMs,omitempty"`

	Evidence *machineEvidence `json:"evidence,omitempty"`

	Report json.RawMessage `json:"report,omitempty"` // only in JSON-RPC errors: a result has it under ReportKey
}

type machineCause struct {
	Code        string   `json:"code,omitempty"`
	Explanation string   `json:"explanation,omitempty"`
	Remedy      string   `json:"remedy,omitempty"`
	Changes     []string `json:"changes,omitempty"`
}

type machineEvidence struct {
	Exit   string   `json:"exit,omitempty"`
	RanMS  int64    `json:"ranMs,omitempty"`
	Stderr []string `json:"stderr,omitempty"`
	Stdout []string `json:"stdout,omitempty"`
}

// JSON returns the fault in a stable format for programs. It goes into _meta, which some clients
// show to the model: what the model must not read is not in it either, and a server is shown by its
// name, never by its command line.
func (f *Fault) JSON() []byte { return encode(f.machine()) }

func (f *Fault) machine() machine {
	e := f.entry()
	m := machine{
		Source: Source, Code: f.Code, Title: f.Title(), Delivery: f.Delivery.String(), Retry: f.Advice(), Safe: !f.mayHaveActed(),
		Server: f.foreign(f.Name), Method: f.foreign(f.Method), Tool: f.foreign(f.Tool), Status: f.Status,
		State: f.State, Closures: f.Closures, Recoveries: f.Recoveries,
		At: stamp(f.At), Since: stamp(f.Since), NextTry: stamp(f.NextTry),
		Attempts: f.Attempts, WaitedMS: f.Waited.Milliseconds(), LimitMS: f.Limit.Milliseconds(),
	}
	if v := f.Evidence; v != nil {
		m.Evidence = &machineEvidence{Exit: f.foreign(v.Exit), RanMS: v.Ran.Milliseconds()}
		if e.shows {
			m.Evidence.Stderr = f.foreignLines(v.Stderr, machineLines)
			m.Evidence.Stdout = f.foreignLines(v.Stdout, machineLines)
		}
	}
	if !e.mute || f.responded() {
		m.Detail = f.detail()
	}
	if !e.mute {
		if c := f.cause(); c.Known() || len(c.Changes) > 0 {
			m.Cause = (*machineCause)(&c)
		}
	}
	return m
}

// Parse returns the fault in the JSON of a fault, or nil if it is not one.
func Parse(data []byte) *Fault {
	var m machine
	if json.Unmarshal(data, &m) != nil || m.Source != Source || m.Code == "" {
		return nil
	}
	f := &Fault{
		Code: m.Code, Delivery: parseDelivery(m.Delivery), Safe: m.Safe,
		Server: m.Server, Name: m.Server, Method: m.Method, Tool: m.Tool, Detail: m.Detail, Status: m.Status,
		State: m.State, Closures: m.Closures, Recoveries: m.Recoveries,
		At: unstamp(m.At), Since: unstamp(m.Since), NextTry: unstamp(m.NextTry), Attempts: m.Attempts,
		Waited: time.Duration(m.WaitedMS) * time.Millisecond, Limit: time.Duration(m.LimitMS) * time.Millisecond,
		Report: m.Report, title: m.Title, advice: m.Retry,
	}
	if m.Cause != nil {
		f.Cause = Cause(*m.Cause)
	}
	if e := m.Evidence; e != nil {
		f.Evidence = &Evidence{Exit: e.Exit, Ran: time.Duration(e.RanMS) * time.Millisecond, Stderr: e.Stderr, Stdout: e.Stdout}
	}
	return f
}

// Shown returns the fault as programs read it: without secrets, and without what the JSON leaves out.
func (f *Fault) Shown() *Fault {
	if f.title != "" { // it was parsed
		return f
	}
	shown := Parse(f.JSON())
	if shown == nil { // it has no code
		return &Fault{}
	}
	shown.Report = f.Report
	return shown
}

// ToolResult returns the fault as the result of a tools/call: models read results, while few
// clients show them protocol errors. A modern result says that it is complete (2026-07-28: every
// result has a resultType).
func (f *Fault) ToolResult(modern bool) []byte {
	type text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	result := struct {
		ResultType string                     `json:"resultType,omitempty"`
		Content    []text                     `json:"content"`
		IsError    bool                       `json:"isError"`
		Meta       map[string]json.RawMessage `json:"_meta"`
	}{
		Content: []text{{"text", f.Model()}},
		IsError: true,
		Meta:    map[string]json.RawMessage{MetaKey: f.JSON()},
	}
	if f.Report != nil {
		result.Meta[ReportKey] = f.Report
	}
	if modern {
		result.ResultType = "complete"
	}
	return encode(result)
}

// RPCError returns the fault as a JSON-RPC error object, for everything that is not a tools/call.
// The message is the text for the model on one line: most clients show nothing else of an error.
func (f *Fault) RPCError() []byte {
	data := f.machine()
	data.Report = f.Report
	return encode(struct {
		Code    int     `json:"code"`
		Message string  `json:"message"`
		Data    machine `json:"data"`
	}{f.RPCCode(), strings.ReplaceAll(strings.Join(f.modelParts(), " "), "\n", " "), data})
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// unstamp is the reverse of stamp.
func unstamp(s string) time.Time {
	t, _ := time.Parse(time.RFC3339, s) // zero if it is not a time
	return t
}

// encode cannot fail: the values are strings, numbers and gauze's own JSON.
func encode(v any) []byte {
	text, err := plaintext.EncodeJSON(v, "")
	if err != nil {
		panic("fault: " + err.Error())
	}
	return text
}
