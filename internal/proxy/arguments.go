package proxy

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/repair"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// fitting is what the repair gate decided about a call.
type fitting struct {
	repair.Decision
	refusal *fault.Fault // the response to a call that is not sent; nil if it is
}

// fit passes a tool call through the repair gate before anything is sent. It does not hold a lock
// while the call is checked.
func (s *Session) fit(c *call) error {
	if c.msg.Method != "tools/call" || c.tool == "" || !utf8.Valid(c.msg.Params) {
		return nil // the server decides how to read invalid UTF-8
	}
	arguments, _ := wire.Field(c.msg.Params, "arguments")
	c.fitting.Decision = s.gate.Admit(repair.Call{Tool: c.tool, Arguments: arguments}, (*listedTools)(s))
	d := &c.fitting.Decision
	switch d.Verdict {
	case repair.Refused:
		c.fitting.refusal = d.Refusal()
		return nil
	case repair.Unverified:
		s.reportUnverified(d.Tool, d.Reason)
	}
	if !d.Adjusted(arguments) {
		return nil
	}
	if d.Receipt.Called != "" || len(d.Receipt.Changes) > 0 {
		s.reportRepair(c)
	}
	return s.rewrite(c, d.Tool, arguments, d.Arguments)
}

// listedTools is the session's catalog as the repair gate reads it.
type listedTools Session

// Tool returns what the catalog and the operator's policy say about a tool.
func (l *listedTools) Tool(name string) (t repair.Tool, listed bool) {
	policy := l.Tools[name]
	t.Mode = repair.Mode(policy.repairMode(l.Repair))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.catalog.stale {
		return t, true // the server has announced different tools
	}
	known, listed := l.catalog.tools[name]
	t.Schema, t.About, t.Safe = known.schema, known.about, listed && policy.class(known.class) != Unsafe
	return t, listed
}

// Names returns all tools in order, or nil if not all of them are known.
func (l *listedTools) Names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.catalog.stale || !l.catalog.listed || len(l.catalog.tools) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(l.catalog.tools))
}

// rewrite replaces the tool name and the arguments of a call; every other byte stays as it was.
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
	default: // the call had none: insert them first
		open := c.msg.Params[bytes.IndexByte(c.msg.Params, '{'):]
		edits = append(edits, wire.Edit{Old: open[:1], New: slices.Concat([]byte(`{"arguments":`), after, []byte{','})})
	}
	line := wire.Replace(nil, c.msg.Raw, edits...)
	m, _, err := wire.Scan(line)
	if err != nil {
		return err
	}
	c.msg, *c.room = m.Keep((*c.room)[:0])
	c.id, c.mirrors = c.msg.ID, nil // headers that repeat arguments have to be derived again
	return s.inspect(c)
}

// reportRepair emits an event with the rules that were applied to a call, without its values.
func (s *Session) reportRepair(c *call) {
	receipt := &c.fitting.Receipt
	var details []string
	if receipt.Called != "" {
		details = append(details, "tool "+receipt.Called+" resolved to "+receipt.Tool)
	}
	for _, change := range receipt.Changes {
		details = append(details, change.Path+": "+change.Rule)
	}
	changes := s.changesOf(receipt)
	s.emit(c, event.Event{Kind: event.Repaired, Tool: c.fitting.Tool, Changes: changes, Told: s.secrets.Load().Redact(c.fitting.Note()),
		Detail: s.secrets.Load().Redact(strings.Join(details, "; ")), Count: len(details)})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counters.Repaired++
	s.tally.repair(changes)
}

// maxUnverified limits the tools remembered by reportUnverified.
const maxUnverified = 1000

// reportUnverified emits an event once for each tool and reason that its calls are not checked.
func (s *Session) reportUnverified(tool, reason string) {
	s.mu.Lock()
	known := s.unverified[tool] == reason
	if len(s.unverified) < maxUnverified {
		s.unverified[tool] = reason
	}
	s.mu.Unlock()
	if !known {
		s.emit(nil, event.Event{Kind: event.Unverified, Method: "tools/call", Tool: tool, Detail: reason})
	}
}

// appendAnswer appends the server's response under the client's id, with what is added to it.
func (s *Session) appendAnswer(dst []byte, c *call, m *wire.Message, said response, why fault.Cause) []byte {
	return appendEdited(dst, c, m, s.additions(c, m, said, why))
}

func appendEdited(dst []byte, c *call, m *wire.Message, edits []wire.Edit) []byte {
	if edits == nil {
		return m.AppendWithID(dst, c.id)
	}
	return append(wire.Replace(dst, m.Raw, append(edits, wire.Edit{Old: m.ID, New: c.id})...), '\n')
}

// additions returns what the repair gate adds to a response: the receipt of a repaired call, or an
// explanation after the server's own words. If the gate has no explanation, the cause of the failure
// follows them instead.
func (s *Session) additions(c *call, m *wire.Message, said response, why fault.Cause) (edits []wire.Edit) {
	if !c.fitting.Checked() && !why.Known() && c.note == "" && c.repetition == nil {
		return nil
	}
	var sent []byte
	if said.Text != "" {
		sent, _ = wire.Field(c.msg.Params, "arguments")
	}
	added := c.fitting.Answered(sent, said.Response)
	if added.Explanation != "" {
		s.emit(c, event.Event{Kind: event.Explained, Code: added.Code, Told: s.secrets.Load().Redact(added.Explanation)})
	} else if why.Known() {
		added.Explanation = s.causeForModel(why)
	} else {
		added.Explanation = c.note
	}
	if k := c.correction; k != nil {
		added = k.addTo(added, said)
	}
	added = c.repetition.addTo(added, said)
	switch {
	case m.Error != nil && added.Explanation != "":
		edits = append(edits, wire.Edit{Old: m.Error, New: withExplanation(m.Error, added)})
	case m.Result != nil && (added.Explanation != "" || added.Note != "" || added.Receipt != nil):
		result := withMeta(withMeta(m.Result, fault.ReceiptKey, added.Receipt), fault.ReportKey, added.Report)
		edits = append(edits, wire.Edit{Old: m.Result, New: withText(withText(result, added.Note), added.Explanation)})
	default:
		return nil
	}
	s.noteTold(c, added)
	return edits
}

// response is how a server says that a call failed.
type response struct {
	repair.Response        // the text is empty if the result has a content block that is not text
	failed          bool   // by an error, or by a result that is one
	all             string // the text of all blocks, one on each line
}

// readResponse reads how a server says that a call failed, if it did.
func readResponse(m *wire.Message) response {
	switch {
	case m.Error != nil:
		return readError(m.Error)
	case bytes.Contains(m.Result, []byte(`"isError"`)):
		return readResult(m.Result)
	}
	return response{}
}

func readError(rpcError []byte) response {
	r := response{failed: true}
	var values [2][]byte
	if wire.Fields(rpcError, values[:], "code", "message") != nil || json.Unmarshal(values[0], &r.Code) != nil {
		return response{failed: true}
	}
	r.Text, _ = wire.Text(values[1])
	r.all = r.Text
	return r
}

func readResult(result []byte) (r response) {
	var values [2][]byte
	if wire.Fields(result, values[:], "isError", "content") != nil || string(values[0]) != "true" {
		return r
	}
	r.failed = true
	if r.all, _ = textOf(values[1]); isText(values[1]) {
		r.Text = r.all
	}
	return r
}

// isText reports whether every block of the content of a result is text.
func isText(content []byte) bool {
	all := true
	wire.Elements(content, func(block []byte) {
		raw, _ := wire.Field(block, "text")
		all = all && raw != nil
	})
	return all
}

// textOf returns the text of the content of a result, and whether it has a single block.
func textOf(content []byte) (text string, only bool) {
	var parts []string
	wire.Elements(content, func(block []byte) {
		raw, _ := wire.Field(block, "text")
		part, _ := wire.Text(raw)
		parts = append(parts, part)
	})
	return strings.Join(parts, "\n"), len(parts) == 1
}

// withExplanation adds an explanation after the message of an error, and the report as its data if
// it has none. Everything else stays.
func withExplanation(rpcError []byte, added repair.Addition) []byte {
	const message, data = 0, 1
	var values [2][]byte
	text, err := json.Marshal("\n\n" + added.Explanation)
	if wire.Fields(rpcError, values[:], "message", "data") != nil || err != nil || len(values[message]) < 2 {
		return rpcError
	}
	edits := []wire.Edit{{Old: values[message][len(values[message])-1:], New: text[1:]}}
	if values[data] == nil && added.Report != nil {
		report := slices.Concat([]byte(`,"data":{"`+fault.ReportKey+`":`), added.Report, []byte(`}}`))
		edits = append(edits, wire.Edit{Old: rpcError[len(rpcError)-1:], New: report})
	}
	return wire.Replace(nil, rpcError, edits...)
}

// withMeta adds a member to the _meta of a result; everything else stays.
func withMeta(result []byte, key string, value []byte) []byte {
	meta, err := wire.Field(result, "_meta")
	if value == nil || err != nil {
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

// withComma appends a comma to new first members of an object unless the object is empty.
func withComma(front, object []byte) []byte {
	if len(bytes.TrimSpace(object[1:len(object)-1])) > 0 {
		front = append(front, ',')
	}
	return front
}

// withText adds a text block to the content of a result.
func withText(result []byte, text string) []byte {
	content, err := wire.Field(result, "content")
	quoted, invalid := json.Marshal(text)
	if text == "" || err != nil || invalid != nil || len(content) < 2 || content[0] != '[' {
		return result
	}
	block := slices.Concat([]byte(`{"type":"text","text":`), quoted, []byte(`}]`))
	if len(bytes.TrimSpace(content[1:len(content)-1])) > 0 {
		block = slices.Concat([]byte{','}, block)
	}
	return wire.Replace(nil, result, wire.Edit{Old: content[len(content)-1:], New: block})
}
