package faultyserver

import (
	"encoding/json"
)

// Tools that need something from the client first.

// questions are the params used when the caller gives none.
var questions = map[string]string{
	"elicitation/create":     `{"message":"What is your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`,
	"sampling/createMessage": `{"messages":[{"role":"user","content":{"type":"text","text":"Say hello."}}],"maxTokens":16}`,
	"roots/list":             `{}`,
}

// ask sends a server-to-client request, in both eras: in the modern one it is forbidden, and a layer in front has to
// cope. With die it dies while the question is open.
func (c *call) ask() {
	method := c.args.Method
	if method == "" {
		method = "elicitation/create"
	}
	params := string(c.args.Params)
	if params == "" {
		params = questions[method]
	}
	if params == "" {
		params = "{}"
	}
	var given json.RawMessage
	if len(c.args.ID) > 0 {
		given = c.args.ID
	}
	id, answer := c.s.asks.open(given)
	line := []byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"method":` + quote(method) + `,"params":` + params + `}`)
	if c.args.Die && (c.args.Times == 0 || c.s.memory.occasion("ask") <= c.args.Times) {
		c.s.out.writeAndEnd(append(line, '\n'), func() { end("KILL", 0) })
	}
	c.s.out.send(line)
	select {
	case text := <-answer:
		c.say(text)
	case <-c.ctx.Done():
	}
}
