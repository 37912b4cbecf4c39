package faultyserver

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// call is one tools/call on its way. A tool answers through it: not at all, once, or as often as its fault wants.
type call struct {
	s      *server
	ctx    context.Context // ends when the client cancels or stdin ends
	id     json.RawMessage
	params json.RawMessage
	args   arguments
	token  json.RawMessage // progress token, nil if the client wants none
	modern bool
	inputs json.RawMessage // inputResponses of a modern retry
}

// arguments are those of all tools in one: a key means the same everywhere.
type arguments struct {
	Text       string          `json:"text"`
	Key        string          `json:"key"`
	Value      string          `json:"value"`
	MS         int             `json:"ms"`
	N          int             `json:"n"`
	IntervalMS int             `json:"interval_ms"`
	When       string          `json:"when"`
	Signal     string          `json:"signal"`
	Code       *int            `json:"code"`
	Times      int             `json:"times"`
	Method     string          `json:"method"`
	Params     json.RawMessage `json:"params"`
	ID         json.RawMessage `json:"id"`
	Die        bool            `json:"die"`
	Kind       string          `json:"kind"`
	Then       bool            `json:"then"`
	Message    string          `json:"message"`
	Result     string          `json:"result"`
	URI        string          `json:"uri"`
	Holds      []string        `json:"holds"`
	Setsid     bool            `json:"setsid"`
}

func (s *server) callTool(ctx context.Context, m *message, modern bool) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Inputs    json.RawMessage `json:"inputResponses"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		s.refuse(m.ID, &refusal{code: -32602, text: "params: " + err.Error()})
		return
	}
	t, ok := s.tool(p.Name)
	if !ok {
		s.refuse(m.ID, &refusal{code: -32602, text: fmt.Sprintf("unknown tool %q", p.Name)})
		return
	}
	c := &call{s: s, ctx: ctx, id: m.ID, params: m.Params, token: p.Meta.Token, modern: modern, inputs: p.Inputs}
	if len(p.Arguments) > 0 && t.takes != "" { // a tool that takes nothing does not mind what it is given
		if err := json.Unmarshal(p.Arguments, &c.args); err != nil {
			c.fail("arguments: " + err.Error())
			return
		}
	}
	t.run(c)
}

// answer sends the result, with what its era adds.
func (c *call) answer(result string) { c.s.reply(c.id, complete(result, c.modern)) }

func (c *call) say(text string) { c.answer(textResult(text, false)) }

// fail is an error of the tool, which the model is meant to read.
func (c *call) fail(text string) { c.answer(textResult(text, true)) }

func textResult(text string, isError bool) string {
	mark := ""
	if isError {
		mark = `,"isError":true`
	}
	return `{"content":[{"type":"text","text":` + quote(text) + `}]` + mark + `}`
}

// sayJSON answers with the value as structured content, and as text for clients that know no other.
func (c *call) sayJSON(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		c.fail(err.Error())
		return
	}
	c.answer(`{"content":[{"type":"text","text":` + quote(string(b)) + `}],"structuredContent":` + string(b) + `}`)
}

// envelope is the answer as it would go out, for tools that bend it.
func (c *call) envelope(id, result string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + complete(result, c.modern) + `}`
}

// wait sleeps until the time is over; false means the call ended first, and nobody wants an answer.
func (c *call) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// execute makes an effect real, for this call.
func (c *call) execute(op, key, value string) {
	c.s.execute(Entry{Op: op, Key: key, Value: value, Request: string(c.id)})
}

// timesLeft counts an occasion and says whether the argument times still covers it; without times it always does.
func (c *call) timesLeft(name string) bool {
	return c.args.Times == 0 || c.s.memory.occasion(name) <= c.args.Times
}

func millis(n int) time.Duration { return time.Duration(n) * time.Millisecond }
