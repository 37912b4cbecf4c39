package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/repair"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// fitting is what became of the arguments of one call on its way in.
type fitting struct {
	mode    string         // the user's word for its tool
	schema  *repair.Schema // nil: the tool is not known
	called  string         // the name it was called by, if that was another one
	changes []repair.Change
	notes   []string
	refusal *fault.Fault // it does not go to the server

	// Of a call that was sent as it came although it does not fit, in case the server rejects it.
	unfit *repair.Outcome
	names []string // the tools the server lists; nil: the call is to one of them
}

// fit validates a call against its tool's own schema before anything is sent. The call is repaired,
// and gets a receipt, or it goes as it came: the server may accept what its schema does not allow.
// Only in strict mode is a call that cannot be repaired answered here. fit holds no lock meanwhile.
func (s *Session) fit(c *call) error {
	if c.msg.Method != "tools/call" || c.tool == "" || !utf8.Valid(c.msg.Params) {
		return nil // how invalid UTF-8 is read is up to the server
	}
	tool, class, names := s.known(c)
	f := fitting{mode: s.Tools[c.tool].repairMode(s.Repair)}
	if f.mode == repairOff {
		return nil
	}
	name := c.tool
	if names != nil {
		meant, ok := repair.ToolName(c.tool, names)
		switch strict := f.mode == repairStrict; {
		case strict && !ok:
			c.fitting.refusal = s.mistaken(fault.ToolUnknown, c.tool, func(times int) repair.Message {
				return repair.UnknownTool(c.tool, names, times)
			})
			return nil
		case !ok || !strict && !s.rejectsName(c.tool):
			c.fitting = fitting{mode: f.mode, names: names} // the server may have tools it does not list
			return nil
		}
		name = meant
		if f.mode = s.Tools[name].repairMode(s.Repair); f.mode == repairOff {
			return nil
		}
		s.mu.Lock()
		tool = s.catalog.tools[name]
		class = s.Tools[name].class(tool.class)
		s.mu.Unlock()
		f.called = c.tool
	}
	if tool.schema == nil {
		return nil
	}
	f.schema = tool.schema
	arguments, _ := wire.Field(c.msg.Params, "arguments")
	out := tool.schema.Arguments(arguments, s.licence(f.mode, name, tool.schema, class))
	f.changes, f.notes = tool.schema.Shown(out.Changes), out.Notes
	switch {
	case out.Verdict == repair.Unverified:
		s.sayUnverified(name, out.Reason)
	case out.Verdict == repair.Refused && f.mode == repairStrict && !out.OnlyFormats(): // the server may read more forms than we know
		f.refusal = s.mistaken(fault.ArgumentsInvalid, name, func(times int) repair.Message {
			return tool.schema.Explain(name, out, times)
		})
	case out.Verdict == repair.Refused:
		f.unfit = &out
		s.sayUnverified(name, "the arguments do not fit the tool's schema; the server decides")
	case len(f.changes) == 1 && f.changes[0].Rule == repair.RuleNoArguments:
		f.changes = nil // the protocol makes no difference between none and {}
	}
	c.fitting = f
	if f.refusal != nil || out.Verdict != repair.Repaired && name == c.tool {
		return nil
	}
	if len(f.changes) > 0 || name != c.tool {
		s.sayRepaired(c, name)
	}
	return s.rewrite(c, name, arguments, out.Arguments)
}

// licence returns how far the arguments of a call may be repaired. Outside of strict mode, the
// schema counts as far as the server was seen to enforce it.
func (s *Session) licence(mode, name string, schema *repair.Schema, class Class) repair.Options {
	o := repair.Options{Tool: name, Tier: repair.Silent}
	const everything = repair.Keys | repair.Values
	if mode != repairStrict {
		s.mu.Lock()
		o.Lenient = everything &^ s.rejections.enforced[toolSchema{name, schema}]
		s.mu.Unlock()
	}
	if class != Unsafe && o.Lenient != everything {
		o.Tier = repair.Told
	}
	return o
}

// rejections is what the server itself was seen to reject in this session.
type rejections struct {
	enforced map[toolSchema]repair.Aspect
	names    map[string]bool // of tools
}

// toolSchema identifies a tool until its schema changes.
type toolSchema struct {
	name   string
	schema *repair.Schema
}

// rejectsName reports whether the server has rejected a call to a tool of this name.
func (s *Session) rejectsName(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rejections.names[name]
}

// noteRejection remembers that the server rejected a call, and what that proves.
func (s *Session) noteRejection(c *call, said string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.rejections
	if r.names == nil || len(r.names)+len(r.enforced) > mostMistakes {
		*r = rejections{enforced: map[toolSchema]repair.Aspect{}, names: map[string]bool{}}
	}
	if c.fitting.names != nil {
		r.names[c.tool] = true
		return
	}
	if aspects := repair.Enforced(said); aspects != 0 {
		r.enforced[toolSchema{c.tool, c.fitting.schema}] |= aspects
	}
}

// known is what the catalogue says of the tool of a call. names is set if it
// says that there is no such tool: then those there are.
func (s *Session) known(c *call) (t tool, class Class, names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalog.stale {
		return t, Unsafe, nil // the server has said that it is another one by now
	}
	t, ok := s.catalog.tools[c.tool]
	if !ok && s.catalog.listed && len(s.catalog.tools) > 0 {
		names = slices.Sorted(maps.Keys(s.catalog.tools))
	}
	return t, s.Tools[c.tool].class(t.class), names
}

// rewrite puts another name and other arguments into a call; every other byte
// stays as it was.
func (s *Session) rewrite(c *call, name string, before, after []byte) error {
	var edits []wire.Edit
	if name != c.tool {
		old, _ := wire.Field(c.msg.Params, "name")
		quoted, _ := json.Marshal(name)
		edits = append(edits, wire.Edit{Old: old, New: quoted})
	}
	switch {
	case bytes.Equal(before, after):
	case before != nil:
		edits = append(edits, wire.Edit{Old: before, New: after})
	default: // there were none: they go to the front
		open := c.msg.Params[bytes.IndexByte(c.msg.Params, '{'):]
		edits = append(edits, wire.Edit{Old: open[:1], New: slices.Concat([]byte(`{"arguments":`), after, []byte{','})})
	}
	line := wire.Replace(nil, c.msg.Raw, edits...)
	m, _, err := wire.Scan(line)
	if err != nil {
		return err
	}
	c.msg, *c.room = m.Keep((*c.room)[:0])
	c.id, c.mirrors = c.msg.ID, nil // headers that repeat arguments are made anew
	return s.inspect(c)
}

// mistake is the last one made with a tool.
type mistake struct {
	sum   uint64
	times int
}

// mostMistakes bounds what is remembered of callers that invent tools.
const mostMistakes = 1000

// mistaken words the answer to a call that is not sent on. Who makes the same
// mistake again reads less, and at last to stop.
func (s *Session) mistaken(code fault.Code, tool string, explain func(times int) repair.Message) *fault.Fault {
	message := explain(1)
	if message.Text == "" {
		return nil // there is nothing to say
	}
	sum := maphash.Bytes(signSeed, message.Data)
	s.mu.Lock()
	if len(s.mistakes) > mostMistakes {
		clear(s.mistakes)
	}
	last := s.mistakes[tool]
	if last.sum != sum {
		last = mistake{sum: sum}
	}
	last.times++
	s.mistakes[tool] = last
	s.mu.Unlock()
	if last.times > 1 {
		message = explain(last.times)
	}
	return &fault.Fault{Code: code, Delivery: fault.Unsent, Message: message.Text, Report: message.Data}
}

func (s *Session) sayRepaired(c *call, name string) {
	var said []string
	if c.fitting.called != "" {
		said = append(said, "the tool "+c.fitting.called+" is meant to be "+name)
	}
	for _, change := range c.fitting.changes {
		said = append(said, change.Path+": "+change.Rule)
	}
	s.Events.Emit(event.Event{Kind: event.Repaired, Server: s.Name, Method: c.msg.Method, Tool: name,
		Detail: s.secrets.Load().Redact(strings.Join(said, "; ")), Count: len(said)})
	s.count(func(n *Counters) { n.Repaired++ })
}

// sayUnverified says once for each tool that its calls pass unchecked.
func (s *Session) sayUnverified(tool, why string) {
	s.mu.Lock()
	known := s.unverified[tool] == why
	if len(s.unverified) < mostMistakes {
		s.unverified[tool] = why
	}
	s.mu.Unlock()
	if !known {
		s.Events.Emit(event.Event{Kind: event.Unverified, Server: s.Name, Method: "tools/call", Tool: tool, Detail: why})
	}
}

// appendAnswer appends the server's answer to a call: as it came, under the
// client's id; with a receipt, if the call was repaired; or with an explanation
// after the server's own words, if it rejected the call for its arguments.
func (s *Session) appendAnswer(dst []byte, c *call, m *wire.Message) []byte {
	f := &c.fitting
	if f.schema == nil && f.names == nil {
		return m.AppendWithID(dst, c.id)
	}
	explained := s.explain(c, m)
	if explained == nil {
		s.mu.Lock()
		delete(s.mistakes, c.tool) // it has learned
		s.mu.Unlock()
	}
	edits := []wire.Edit{{Old: m.ID, New: c.id}}
	switch {
	case m.Error != nil && explained != nil:
		edits = append(edits, wire.Edit{Old: m.Error, New: withExplanation(m.Error, explained)})
	case m.Result != nil && explained != nil:
		result := withMeta(f.receipt(m.Result, c.tool), fault.ReportKey, explained.Report)
		edits = append(edits, wire.Edit{Old: m.Result, New: withBlock(result, explained.Message)})
	case m.Result != nil && (f.called != "" || len(f.changes) > 0 || len(f.notes) > 0):
		edits = append(edits, wire.Edit{Old: m.Result, New: f.receipt(m.Result, c.tool)})
	default:
		return m.AppendWithID(dst, c.id)
	}
	return append(wire.Replace(dst, m.Raw, edits...), '\n')
}

// explain returns what to add to an answer in which the server rejects a call for its arguments or
// for the name of its tool; nil if the answer is anything else.
func (s *Session) explain(c *call, m *wire.Message) *fault.Fault {
	said, code := complaint(m)
	if !s.rejects(c, said, code) {
		return nil
	}
	s.noteRejection(c, said)
	arguments, _ := wire.Field(c.msg.Params, "arguments")
	f, reason := &c.fitting, fault.ArgumentsInvalid
	if f.names != nil {
		reason = fault.ToolUnknown
	}
	explained := s.mistaken(reason, c.tool, func(times int) repair.Message {
		switch {
		case f.names != nil:
			return repair.UnlistedTool(c.tool, f.names, times)
		case f.unfit != nil:
			return f.schema.Rejected(c.tool, *f.unfit, times)
		}
		return f.schema.Complaint(c.tool, arguments, said, times)
	})
	if explained != nil {
		explained.Message = fault.ModelMark + "] " + explained.Message
		s.Events.Emit(event.Event{Kind: event.Explained, Server: s.Name, Method: c.msg.Method, Tool: c.tool, Code: reason})
	}
	return explained
}

// rejects reports whether the server's words reject a call before its tool has run. Of a call that
// is known not to fit less is asked: the words must be a known complaint and name an argument.
func (s *Session) rejects(c *call, said string, code rpcCode) bool {
	f := &c.fitting
	switch {
	case said == "":
		return false
	case f.names != nil:
		return code == methodNotFound || repair.RejectsTool(said)
	case f.unfit == nil:
		return (code == 0 || code == invalidParams || code == internalError) && repair.IsComplaint(said, code == invalidParams)
	case code == invalidParams:
		return true
	}
	arguments, _ := wire.Field(c.msg.Params, "arguments")
	return repair.IsComplaint(said, true) && f.schema.Complaint(c.tool, arguments, said, 1).Text != ""
}

// rpcCode is the code of a JSON-RPC error; 0: the answer is a result.
type rpcCode int

const (
	methodNotFound rpcCode = -32601
	invalidParams  rpcCode = -32602
	internalError  rpcCode = -32603
)

// complaint returns the text in which a server says that a call failed, and the code if it is an
// error. The text is empty if the call did not fail, or if there is more than one text.
func complaint(m *wire.Message) (said string, code rpcCode) {
	var values [2][]byte
	if m.Error != nil {
		if wire.Fields(m.Error, values[:], "code", "message") != nil || json.Unmarshal(values[0], &code) != nil {
			return "", 0
		}
		said, _ = wire.Text(values[1])
		return said, code
	}
	if !bytes.Contains(m.Result, []byte(`"isError"`)) {
		return "", 0
	}
	if wire.Fields(m.Result, values[:], "isError", "content") != nil || string(values[0]) != "true" {
		return "", 0
	}
	blocks := 0
	wire.Elements(values[1], func(block []byte) {
		text, _ := wire.Field(block, "text")
		said, _ = wire.Text(text)
		blocks++
	})
	if blocks != 1 {
		return "", 0 // more than a complaint
	}
	return said, 0
}

// withExplanation adds ours after the message of an error of the server's, and the report as its
// data if it has none. Everything else stays.
func withExplanation(rpcError []byte, ours *fault.Fault) []byte {
	const message, data = 0, 1
	var values [2][]byte
	added, err := json.Marshal("\n\n" + ours.Message)
	if wire.Fields(rpcError, values[:], "message", "data") != nil || err != nil || len(values[message]) < 2 {
		return rpcError
	}
	edits := []wire.Edit{{Old: values[message][len(values[message])-1:], New: added[1:]}}
	if values[data] == nil && ours.Report != nil {
		report := slices.Concat([]byte(`,"data":{"`+fault.ReportKey+`":`), ours.Report, []byte(`}}`))
		edits = append(edits, wire.Edit{Old: rpcError[len(rpcError)-1:], New: report})
	}
	return wire.Replace(nil, rpcError, edits...)
}

// receipt puts into a result what was changed of its call: for programs into
// _meta, and for the model into the text what it should know.
func (f *fitting) receipt(result []byte, tool string) []byte {
	receipt := struct {
		Called  string          `json:"called,omitempty"`
		Tool    string          `json:"tool,omitempty"`
		Changes []repair.Change `json:"changes,omitempty"`
		Notes   []string        `json:"notes,omitempty"`
	}{Called: f.called, Changes: f.changes, Notes: f.notes}
	if f.called != "" {
		receipt.Tool = tool
	}
	value, err := json.Marshal(receipt)
	if err != nil || string(value) == "{}" {
		return result
	}
	return withBlock(withMeta(result, fault.ReceiptKey, value), f.told(tool))
}

// told is what the model that made the call should know of its repair.
func (f *fitting) told(tool string) string {
	if f.mode == repairSilent {
		return ""
	}
	var changed []string
	if f.called != "" {
		changed = append(changed, "the tool is called "+fault.Quote(tool)+", not "+fault.Quote(f.called))
	}
	for _, change := range f.changes {
		if change.Tier > repair.Silent || f.mode == repairReport {
			changed = append(changed, change.String())
		}
	}
	if more := len(changed) - mostToldChanges; more > 0 {
		changed = append(changed[:mostToldChanges], fmt.Sprintf("and %d more", more))
	}
	var said []string
	if len(changed) > 0 {
		said = append(said, "The call was adjusted: "+strings.Join(changed, "; ")+". Use this form next time.")
	}
	if len(f.notes) > 0 {
		said = append(said, "The call was sent unchanged, but "+strings.Join(f.notes, "; ")+".")
	}
	if len(said) == 0 {
		return ""
	}
	told := []rune(fault.Clean(strings.Join(said, " ")))
	return fault.ModelMark + "] " + string(told[:min(len(told), mostTold)])
}

// How much a model is told behind a result: characters, changes.
const (
	mostTold        = 1500
	mostToldChanges = 5
)

// withMeta puts a member into the _meta of a result; everything else stays.
func withMeta(result []byte, key string, value []byte) []byte {
	meta, err := wire.Field(result, "_meta")
	if err != nil {
		return result
	}
	member := slices.Concat([]byte(`"`+key+`":`), value)
	switch {
	case meta == nil:
		return wire.Replace(nil, result, wire.Edit{Old: result[:1], New: withComma([]byte(`{"_meta":{`+string(member)+`}`), result)})
	case meta[0] == '{':
		return wire.Replace(nil, result, wire.Edit{Old: meta[:1], New: withComma(slices.Concat([]byte{'{'}, member), meta)})
	}
	return wire.Replace(nil, result, wire.Edit{Old: meta, New: slices.Concat([]byte{'{'}, member, []byte{'}'})})
}

// withComma ends what goes to the front of an object that holds something.
func withComma(front, object []byte) []byte {
	if len(bytes.TrimSpace(object[1:len(object)-1])) > 0 {
		front = append(front, ',')
	}
	return front
}

// withBlock adds a text to the content of a result.
func withBlock(result []byte, text string) []byte {
	content, err := wire.Field(result, "content")
	quoted, wrong := json.Marshal(text)
	if text == "" || err != nil || wrong != nil || len(content) < 2 || content[0] != '[' {
		return result
	}
	block := slices.Concat([]byte(`{"type":"text","text":`), quoted, []byte(`}]`))
	if len(bytes.TrimSpace(content[1:len(content)-1])) > 0 {
		block = slices.Concat([]byte{','}, block)
	}
	return wire.Replace(nil, result, wire.Edit{Old: content[len(content)-1:], New: block})
}
