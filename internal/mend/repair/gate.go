package repair

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/gauze-mcp/gauze/fault"
)

// Mode says what a Gate does with calls that do not fit their tool's schema.
type Mode string

const (
	ModeDefault Mode = ""       // repair, and report anything beyond spelling to the model
	ModeOff     Mode = "off"    // never change a call
	ModeSilent  Mode = "silent" // repair without telling the model; receipts are in _meta
	ModeReport  Mode = "report" // repair, and report every change to the model
	ModeStrict  Mode = "strict" // as the default, and refuse calls that do not fit and cannot be repaired, or cannot be checked
)

// ParseMode returns the mode with the given name. The default mode has no name.
func ParseMode(name string) (Mode, error) {
	switch m := Mode(name); m {
	case ModeOff, ModeSilent, ModeReport, ModeStrict:
		return m, nil
	}
	return "", fmt.Errorf("invalid repair mode %q: must be off, silent, report or strict", name)
}

// A Gate decides about every call to a server: send it as it came, send it repaired, or refuse it.
// It writes the receipts and the explanations that are added to responses, counts repeated mistakes,
// and remembers what the server enforces. It does not know how calls are transported. The zero value
// is ready for use, and a Gate is safe for concurrent use.
type Gate struct {
	// Authoritative means that the server enforces its schemas, so a call that does not fit and
	// cannot be repaired is refused. Without it a schema is a hint: the server may accept more
	// than its schema allows, so such a call is sent as it came and explained if the server
	// rejects it. ModeStrict makes the schema of a tool authoritative.
	Authoritative bool
	// Explain returns the message to use instead of one that the Gate words, or "" to keep it. May be nil.
	Explain func(Explanation) string

	mu       sync.Mutex
	mistakes map[mistakeKey]mistake
	enforced map[toolSchema]Aspect // what the server was seen to enforce
	rejected map[string]bool       // tool names that the server rejected
}

// maxRemembered limits each table of a Gate: callers can invent tools.
const maxRemembered = 1000

// Tool is what a Gate has to know about a tool.
type Tool struct {
	Schema *Schema // of its arguments; nil if unknown
	About  string  // its description, for explanations
	Mode   Mode
	Safe   bool // the tool is read-only or idempotent, so a wrong repair does no harm
}

// Catalog is the list of a server's tools.
type Catalog interface {
	// Tool returns a tool and whether it is listed. The mode also applies to a tool that is not.
	Tool(name string) (t Tool, listed bool)
	// Names returns the names of all tools, or nil if they are not all known.
	Names() []string
}

// Call is a tool call as it came.
type Call struct {
	Caller    any // identifies the caller if several share the Gate; must be comparable
	Tool      string
	Arguments []byte // JSON, or text that a model wrote as JSON; nil if there are none
	IsJSON    bool   // Arguments are known to be JSON in valid UTF-8
}

// Decision is what a Gate decided about one call.
type Decision struct {
	Verdict   Verdict // on the arguments; Refused: the call must not be sent
	Tool      string  // the tool to call
	Arguments []byte  // the arguments to send
	Reason    string  // why the arguments are Unverified: not checked, or sent although they do not fit
	Receipt   Receipt

	gate    *Gate
	caller  any
	called  string
	mode    Mode
	schema  *Schema  // nil if the arguments were not checked
	about   string   // the tool's description
	outcome *Outcome // of arguments that do not fit
	names   []string // the listed tools, if the called tool is not one of them

	unchecked obstacle // why ModeStrict refuses arguments that may fit
}

// toolSchema identifies a tool until its schema changes.
type toolSchema struct {
	name   string
	schema *Schema
}

// Admit decides about a call. Only Decision.Refusal and Decision.Answered change the Gate, so a call
// can be decided about again with a newer catalog.
func (g *Gate) Admit(c Call, tools Catalog) Decision {
	d := Decision{Tool: c.Tool, Arguments: c.Arguments, gate: g, caller: c.Caller, called: c.Tool}
	tool, listed := tools.Tool(c.Tool)
	if g.ignores(tool) {
		return d
	}
	if !listed {
		meant, found := d.resolve(tool, tools.Names())
		if !found {
			return d
		}
		if tool, _ = tools.Tool(meant); g.ignores(tool) {
			return d
		}
		d.Tool, d.Receipt.Called, d.Receipt.Tool = meant, c.Tool, meant
	}
	if tool.Schema != nil {
		d.check(tool, c.IsJSON)
	}
	return d
}

// ignores reports whether calls of a tool are neither checked nor explained.
func (g *Gate) ignores(t Tool) bool { return t.Mode == ModeOff && !g.Authoritative }

func (g *Gate) enforces(t Tool) bool { return g.Authoritative || t.Mode == ModeStrict }

// resolve returns the tool that was meant by a name that is not listed, if that is certain and the
// call may be changed.
func (d *Decision) resolve(tool Tool, names []string) (meant string, found bool) {
	if len(names) == 0 {
		return "", false
	}
	meant, found = ToolName(d.called, names)
	if d.gate.enforces(tool) {
		found = found && tool.Mode != ModeOff
		if !found {
			d.Verdict, d.names = Refused, names
		}
		return meant, found
	}
	if !found || !d.gate.rejectedName(d.called) {
		d.names = names // the server may have tools it does not list
		return "", false
	}
	return meant, true
}

// check validates the arguments against the tool's schema and repairs them.
func (d *Decision) check(tool Tool, isJSON bool) {
	d.schema, d.about, d.mode = tool.Schema, tool.About, tool.Mode
	if tool.Schema.Ready().plain.fits(d.Arguments, isJSON) {
		return
	}
	out := tool.Schema.checked(d.Arguments, d.gate.options(d.Tool, tool))
	if tool.Mode == ModeStrict && out.unchecked.why != "" {
		d.refuse(out.unchecked)
		return
	}
	d.Verdict, d.Arguments, d.Reason = out.Verdict, out.Arguments, out.Reason
	d.Receipt.Changes, d.Receipt.Notes = tool.Schema.shown(out.Changes), out.Notes
	switch {
	case out.Verdict == Repaired && len(out.Changes) == 1 && out.Changes[0].Rule == RuleNoArguments:
		d.Verdict, d.Receipt.Changes = Valid, nil // no arguments and {} mean the same
	case out.Verdict == Refused:
		d.outcome = &out
		if d.gate.enforces(tool) {
			return
		}
		d.Verdict, d.Reason = Unverified, "the arguments do not match the tool's schema; it is up to the server to accept or reject them"
		if out.onlyFormats() { // many servers do not check formats, so the caller would not notice
			d.Reason = "a string is not in the format that the schema specifies; it is up to the server to accept or reject it"
		}
		d.Receipt.Notes = tool.Schema.misfitNotes(&out)
	}
}

// options returns how far the arguments of a call may be repaired. A schema that is a hint counts as
// far as the server was seen to enforce it.
func (g *Gate) options(name string, tool Tool) Options {
	const everything = Keys | Values | Formats
	o := Options{Tool: name, Tier: Silent}
	if !g.enforces(tool) {
		g.mu.Lock()
		o.Lenient = everything &^ g.enforced[toolSchema{name, tool.Schema}]
		g.mu.Unlock()
	}
	switch {
	case tool.Mode == ModeOff:
		o.Tier = Off
	case tool.Safe && o.Lenient != everything:
		o.Tier = Told
	}
	return o
}

func (g *Gate) rejectedName(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rejected[name]
}

// Refusal returns the response to a call that must not be sent: one whose Verdict is Refused. It
// counts the mistake: the second explanation is shorter, and the third says to stop.
func (d *Decision) Refusal() *fault.Fault {
	code, message := d.explain(nil, Response{}, unrelated)
	f := &fault.Fault{Code: code, Delivery: fault.Unsent, Tool: d.Tool, Message: message.Text, Report: message.Data}
	if d.unchecked.why != "" {
		f.Detail = "they cannot be checked: " + remark(d.unchecked.why, 200)
	}
	return f
}

// Response is the part of a server's response that a Gate reads.
type Response struct {
	Text string // of a failed response that has nothing else; empty if the call did not fail
	Code int    // of a JSON-RPC error; 0 for a result
}

// The JSON-RPC error codes of servers that reject a call.
const (
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternalError  = -32603
)

// Addition is what a Gate adds to a response. Everything else in the response stays as it is.
type Addition struct {
	Receipt     json.RawMessage // for the _meta of a result, under fault.ReceiptKey
	Report      json.RawMessage // for the _meta of a result or the data of an error, under fault.ReportKey
	Note        string          // for the model, about a result: how the call was adjusted
	Explanation string          // for the model: why the server rejected the call
	Code        fault.Code      // of the explanation
}

// Checked reports whether the call was checked at all. If it was not, Answered adds nothing to its
// response.
func (d *Decision) Checked() bool { return d.schema != nil || d.names != nil }

// Misfit reports whether the arguments do not match the tool's schema and could not be repaired.
func (d *Decision) Misfit() bool { return d.outcome != nil }

// Answered returns what to add to the response to a call that was sent with these arguments. A
// rejection is remembered, and any other response ends a series of repeated mistakes.
func (d *Decision) Answered(sent []byte, r Response) (a Addition) {
	if !d.Checked() {
		return a
	}
	if found := d.judge(sent, r); found != unrelated {
		if found == rejectedCall {
			d.remember(r.Text)
		}
		if code, message := d.explain(sent, r, found); message.Text != "" {
			a = Addition{Report: message.Data, Explanation: fault.ModelMark + "] " + message.Text, Code: code}
		}
	}
	if a.Explanation == "" {
		d.gate.forget(d.mistakeKey())
	} else if d.outcome != nil {
		d.Receipt.Notes = nil // the explanation says the same
	}
	if !d.Receipt.empty() {
		a.Receipt, _ = json.Marshal(d.Receipt) // strings and JSON: cannot fail
		a.Note = d.Note()
	}
	return a
}

// remember keeps what a rejection proves about the server.
func (d *Decision) remember(said string) {
	g := d.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.rejected == nil || len(g.rejected)+len(g.enforced) > maxRemembered {
		g.rejected, g.enforced = map[string]bool{}, map[toolSchema]Aspect{}
	}
	if d.names != nil {
		g.rejected[d.called] = true
	} else if aspects := Enforced(said); aspects != 0 {
		g.enforced[toolSchema{d.Tool, d.schema}] |= aspects
	}
}

// explain words why the gate refused the call, or why it failed at the server, and counts the
// mistake.
func (d *Decision) explain(sent []byte, r Response, found judgement) (code fault.Code, m Message) {
	code = fault.ArgumentsInvalid
	if d.names != nil {
		code = fault.ToolUnknown
	}
	m = d.gate.counted(d.mistakeKey(), func(times int) Message {
		switch {
		case d.unchecked.why != "":
			return d.unchecked.explain(d.Tool, times)
		case d.names != nil:
			return unknownTool(d.called, d.names, times, found == rejectedCall)
		case d.outcome != nil:
			return d.schema.explain(message{schema: d.schema, tool: d.Tool, about: d.about, times: times, found: found}, *d.outcome)
		}
		return d.schema.complaint(message{schema: d.schema, tool: d.Tool, about: d.about, times: times}, sent, r.Text)
	})
	return code, d.gate.worded(d.called, m)
}

// mistakeKey identifies the caller and the tool of a mistake.
type mistakeKey struct {
	caller any
	tool   string
}

// mistake is the last one made with a tool, and how many times in a row.
type mistake struct {
	sum   uint64
	times int
}

var mistakeSeed = maphash.MakeSeed()

func (d *Decision) mistakeKey() mistakeKey { return mistakeKey{d.caller, d.Tool} }

// counted words a mistake according to how many times in a row it was made.
func (g *Gate) counted(key mistakeKey, explain func(times int) Message) Message {
	message := explain(1)
	if message.Text == "" {
		return message
	}
	sum := maphash.Bytes(mistakeSeed, message.Data)
	g.mu.Lock()
	if g.mistakes == nil || len(g.mistakes) >= maxRemembered {
		g.mistakes = map[mistakeKey]mistake{}
	}
	last := g.mistakes[key]
	if last.sum != sum {
		last = mistake{sum: sum}
	}
	last.times++
	g.mistakes[key] = last
	g.mu.Unlock()
	if last.times > 1 {
		return explain(last.times)
	}
	return message
}

// forget ends a series of mistakes.
func (g *Gate) forget(key mistakeKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.mistakes) > 0 {
		delete(g.mistakes, key)
	}
}

// Adjusted reports whether the call is sent with a different tool or different arguments than it
// came with.
func (d *Decision) Adjusted(arguments []byte) bool {
	return d.Tool != d.called || !bytes.Equal(d.Arguments, arguments)
}

// Only is a Catalog in which every name refers to the same tool.
type Only Tool

// Tool returns the tool.
func (o Only) Tool(string) (Tool, bool) { return Tool(o), true }

// Names returns nil: any name is accepted.
func (o Only) Names() []string { return nil }
