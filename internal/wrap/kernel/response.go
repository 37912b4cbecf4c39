package kernel

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Response is how a call was answered: by the server, or with a fault of gauze's own.
type Response struct {
	Message *wire.Message // nil: gauze's own fault
	Failed  bool          // by an error, or by a result that is one
	Code    int           // of a JSON-RPC error; 0 for a result
	Text    string        // of the failure; empty if the result has a content block that is not text
	All     string        // the text of all blocks, one on each line
}

// Addition is what is added to a response. Everything else in it stays as it is.
type Addition struct {
	Receipt     json.RawMessage // for the _meta of a result, under fault.ReceiptKey
	Report      json.RawMessage // for the _meta of a result or the data of an error, under fault.ReportKey
	Note        string          // for the model, about a result
	Explanation string          // for the model, about a failure
	Blocks      []string        // further texts of a fault
}

// readResponse reads how a server says that a call failed, if it did.
func readResponse(m *wire.Message) Response {
	switch {
	case m.Error != nil:
		return readError(m)
	case m.MayBeError:
		return readResult(m)
	}
	return Response{Message: m}
}

func readError(m *wire.Message) Response {
	r := Response{Message: m, Failed: true}
	var values [2][]byte
	if wire.Fields(m.Error, values[:], "code", "message") != nil || json.Unmarshal(values[0], &r.Code) != nil {
		return Response{Message: m, Failed: true}
	}
	r.Text, _ = wire.Text(values[1])
	r.All = r.Text
	return r
}

func readResult(m *wire.Message) Response {
	r := Response{Message: m}
	var values [2][]byte
	if wire.Fields(m.Result, values[:], "isError", "content") != nil || string(values[0]) != "true" {
		return r
	}
	r.Failed = true
	if r.All, _ = TextOf(values[1]); isText(values[1]) {
		r.Text = r.All
	}
	return r
}

// outcome returns how a call ended that was answered so.
func (r *Response) outcome() string {
	if r.Failed {
		return OutcomeError
	}
	return OutcomeOK
}

// Claimed returns the text of a result that claims success and has a single block, if it is short.
func (r *Response) Claimed(maxLen int, words ...string) (text string, ok bool) {
	result := r.Message.Result
	if len(result) > maxLen || !slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(result, []byte(word)) }) {
		return "", false
	}
	content, _ := wire.Field(result, "content")
	return TextOf(content)
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

// TextOf returns the text of the content of a result, and whether it has a single block.
func TextOf(content []byte) (text string, only bool) {
	var parts []string
	wire.Elements(content, func(block []byte) {
		raw, _ := wire.Field(block, "text")
		part, _ := wire.Text(raw)
		parts = append(parts, part)
	})
	return strings.Join(parts, "\n"), len(parts) == 1
}

// additions returns what the stages add to a response.
func (p *panel) additions(c *Call, r *Response) (edits []wire.Edit) {
	added := &c.part.added
	*added = Addition{}
	p.add(c, r, added)
	m := r.Message
	switch {
	case m.Error != nil && added.Explanation != "":
		return []wire.Edit{{Old: m.Error, New: withExplanation(m.Error, *added)}}
	case m.Result != nil && (added.Explanation != "" || added.Note != "" || added.Receipt != nil):
		result := WithMeta(WithMeta(m.Result, fault.ReceiptKey, added.Receipt), fault.ReportKey, added.Report)
		return []wire.Edit{{Old: m.Result, New: withText(withText(result, added.Note), added.Explanation)}}
	}
	return nil
}

// add asks the stages what they add, in the reverse order.
func (p *panel) add(c *Call, r *Response, added *Addition) {
	for _, stage := range p.reverse {
		stage.Add(c, r, added)
	}
}

func appendEdited(dst []byte, c *Call, m *wire.Message, edits []wire.Edit) []byte {
	if edits == nil {
		return m.AppendWithID(dst, c.id)
	}
	return append(wire.Replace(dst, m.Raw, append(edits, wire.Edit{Old: m.ID, New: c.id})...), '\n')
}

// ArgumentsEdit returns how the arguments in the params of a call are replaced; before is nil if the call has none.
func ArgumentsEdit(params, before, after []byte) []wire.Edit {
	switch {
	case bytes.Equal(before, after):
		return nil
	case before != nil:
		return []wire.Edit{{Old: before, New: after}}
	}
	open := params[bytes.IndexByte(params, '{'):] // insert them first
	return []wire.Edit{{Old: open[:1], New: slices.Concat([]byte(`{"arguments":`), after, []byte{','})}}
}

// withExplanation adds an explanation after the message of an error, and the report as its data if
// it has none. Everything else stays.
func withExplanation(rpcError []byte, added Addition) []byte {
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

// WithMeta adds a member to the _meta of a result or of params; everything else stays.
func WithMeta(result []byte, key string, value []byte) []byte {
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
