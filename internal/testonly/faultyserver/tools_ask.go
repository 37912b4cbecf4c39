package faultyserver

// Tools that need input from the client.

// questions holds the params used when the caller gives none.
var questions = map[string]string{
	"elicitation/create":     `{"message":"What is your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`,
	"sampling/createMessage": `{"messages":[{"role":"user","content":{"type":"text","text":"Say hello."}}],"maxTokens":16}`,
	"roots/list":             `{}`,
}

// ask sends a request to the client in either era. The modern era forbids it, and a proxy must cope
// with that. With die it dies while the request is open.
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
	id, answer := c.s.asks.open(c.args.ID)
	line := `{"jsonrpc":"2.0","id":` + string(id) + `,"method":` + quote(method) + `,"params":` + params + `}`
	if c.args.Die && c.timesLeft("ask") {
		c.s.writeAndEnd(line+"\n", func() { end("KILL", 0) })
	}
	c.s.out.send([]byte(line))
	select {
	case text := <-answer:
		c.say(text)
	case <-c.ctx.Done():
	}
}

// askRounds asks in the modern way: it responds that input is required, and the client calls again
// with the input.
func (c *call) askRounds() {
	switch {
	case !c.modern:
		c.fail("ask_rounds requires a client of the modern era")
	case c.inputs != nil:
		c.say(string(c.inputs))
	default:
		method := c.args.Method
		if method == "" {
			method = "elicitation/create"
		}
		c.s.reply(c.id, `{"resultType":"input_required","inputRequests":{"q1":{"method":`+quote(method)+`,"params":`+
			questions[method]+`}},"requestState":"round 1"}`)
	}
}
