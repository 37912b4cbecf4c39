package faultyserver

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
	id, answer := c.s.asks.open(c.args.ID)
	line := `{"jsonrpc":"2.0","id":` + string(id) + `,"method":` + quote(method) + `,"params":` + params + `}`
	if c.args.Die && c.timesLeft("ask") {
		c.s.lastWords(line+"\n", func() { end("KILL", 0) })
	}
	c.s.out.send([]byte(line))
	select {
	case text := <-answer:
		c.say(text)
	case <-c.ctx.Done():
	}
}

// askRounds asks the modern way: it answers that input is required, and the client calls again with the input.
func (c *call) askRounds() {
	switch {
	case !c.modern:
		c.fail("ask_rounds needs a client of the modern era")
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
