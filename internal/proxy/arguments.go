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
}

// fit holds a call against its tool's own schema before anything is sent: it
// passes as it is, it is repaired and leaves a receipt, or it is answered with
// what to change. Nobody's lock is held meanwhile.
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
		var ok bool
		if name, ok = repair.ToolName(c.tool, names); !ok {
			c.fitting.refusal = s.mistaken(fault.ToolUnknown, c.tool, func(times int) repair.Message {
				return repair.UnknownTool(c.tool, names, times)
			})
			return nil
		}
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
	tier := repair.Told
	if class == Unsafe {
		tier = repair.Silent
	}
	out := tool.schema.Arguments(arguments, repair.Options{Tool: name, Tier: tier})
	f.changes, f.notes = tool.schema.Shown(out.Changes), out.Notes
	switch {
	case out.Verdict == repair.Unverified:
		s.sayUnverified(name, out.Reason)
	case out.Verdict == repair.Refused && !out.OnlyFormats(): // the server may read more forms than we know
		f.refusal = s.mistaken(fault.ArgumentsInvalid, name, func(times int) repair.Message {
			return tool.schema.Explain(name, out, times)
		})
	}
	c.fitting = f
	if f.refusal != nil || out.Verdict != repair.Repaired && name == c.tool {
		return nil
	}
	if len(f.changes) != 1 || f.changes[0].Rule != repair.RuleNoArguments { // which is as good as none
		s.sayRepaired(c, name)
	}
	return s.rewrite(c, name, arguments, out.Arguments)
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
// client's id; with a receipt, if the call was repaired; or in words that
// help, if the server complains about the arguments itself.
func (s *Session) appendAnswer(dst []byte, c *call, m *wire.Message) []byte {
	f := &c.fitting
	if f.schema == nil {
		return m.AppendWithID(dst, c.id)
	}
	if explained := s.complained(c, m); explained != nil {
		verdict := s.verdict(c, explained)
		if m.Error != nil {
			return append(append(dst, verdict...), '\n')
		}
		result := withBlock(withMeta(f.receipt(m.Result, c.tool), fault.ReportKey, explained.Report), explained.Message)
		return append(wire.Replace(dst, m.Raw, wire.Edit{Old: m.Result, New: result}, wire.Edit{Old: m.ID, New: c.id}), '\n')
	}
	s.mu.Lock()
	delete(s.mistakes, c.tool) // it has learned
	s.mu.Unlock()
	if m.Result == nil || f.called == "" && len(f.changes) == 0 && len(f.notes) == 0 {
		return m.AppendWithID(dst, c.id)
	}
	dst = wire.Replace(dst, m.Raw, wire.Edit{Old: m.Result, New: f.receipt(m.Result, c.tool)}, wire.Edit{Old: m.ID, New: c.id})
	return append(dst, '\n')
}

// complained explains the server's own complaint about the arguments of a
// call, nil if it is none. What the server said stays: an error's text is
// quoted, a result is only added to.
func (s *Session) complained(c *call, m *wire.Message) *fault.Fault {
	said, coded := complaint(m)
	if said == "" || !repair.IsComplaint(said, coded) {
		return nil
	}
	arguments, _ := wire.Field(c.msg.Params, "arguments")
	explained := s.mistaken(fault.ArgumentsInvalid, c.tool, func(times int) repair.Message {
		return c.fitting.schema.Complaint(c.tool, arguments, said, times)
	})
	if explained != nil {
		explained.Delivery = fault.Answered
	}
	return explained
}

// complaint is the text in which a server says that a call failed, and
// whether the code says that the arguments are why.
func complaint(m *wire.Message) (said string, coded bool) {
	var values [2][]byte
	if m.Error != nil {
		if wire.Fields(m.Error, values[:], "code", "message") != nil {
			return "", false
		}
		if code := string(values[0]); code != "-32602" && code != "-32603" {
			return "", false
		}
		said, _ = wire.Text(values[1])
		return said, string(values[0]) == "-32602"
	}
	if !bytes.Contains(m.Result, []byte(`"isError"`)) {
		return "", false
	}
	if wire.Fields(m.Result, values[:], "isError", "content") != nil || string(values[0]) != "true" {
		return "", false
	}
	blocks := 0
	wire.Elements(values[1], func(block []byte) {
		text, _ := wire.Field(block, "text")
		said, _ = wire.Text(text)
		blocks++
	})
	if blocks != 1 {
		return "", false // more than a complaint
	}
	return said, false
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
		said = append(said, "The call was run with a change: "+strings.Join(changed, "; ")+". Send it so the next time.")
	}
	if len(f.notes) > 0 {
		said = append(said, "The call was run as it came, but "+strings.Join(f.notes, "; ")+".")
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
