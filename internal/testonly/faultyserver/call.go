package faultyserver

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// call is one tools/call request in progress. A tool responds through it: never, once, or as often
// as its fault requires.
type call struct {
	s      *server
	ctx    context.Context // ends when the client cancels or stdin ends
	id     json.RawMessage
	params json.RawMessage
	args   arguments
	token  json.RawMessage // progress token, nil if the client sent none
	modern bool
	inputs json.RawMessage // inputResponses of a modern retry
}

// arguments holds the arguments of all tools. A key means the same in each of them.
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
	if len(p.Arguments) > 0 && t.takes != "" { // a tool without parameters ignores its arguments
		if err := json.Unmarshal(p.Arguments, &c.args); err != nil {
			c.fail("arguments: " + err.Error())
			return
		}
	}
	t.run(c)
}

// answer sends the result, completed for its era.
func (c *call) answer(result string) { c.s.reply(c.id, complete(result, c.modern)) }

func (c *call) say(text string) { c.answer(textResult(text, false)) }

// fail sends an error of the tool for the model to read.
func (c *call) fail(text string) { c.answer(textResult(text, true)) }

func textResult(text string, isError bool) string {
	mark := ""
	if isError {
		mark = `,"isError":true`
	}
	return `{"content":[{"type":"text","text":` + quote(text) + `}]` + mark + `}`
}

// sayJSON responds with the value as structured content, and as text for clients that support
// nothing else.
func (c *call) sayJSON(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		c.fail(err.Error())
		return
	}
	c.answer(`{"content":[{"type":"text","text":` + quote(string(b)) + `}],"structuredContent":` + string(b) + `}`)
}

// envelope returns the whole response, for tools that alter it.
func (c *call) envelope(id, result string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + complete(result, c.modern) + `}`
}

// wait waits for d. It returns false if the call ended first and no response is expected.
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

// execute records an effect of this call in the ledger.
func (c *call) execute(op, key, value string) {
	c.s.execute(Entry{Op: op, Key: key, Value: value, Request: string(c.id)})
}

// timesLeft counts an occasion and reports whether the times argument still covers it. Without
// times it always does.
func (c *call) timesLeft(name string) bool {
	return c.args.Times == 0 || c.s.memory.occasion(name) <= c.args.Times
}

func millis(n int) time.Duration { return time.Duration(n) * time.Millisecond }
