package faultyhttp

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// call is one request on its way: what it says goes to out, its answer last.
type call struct {
	s       *Server
	gen     *generation
	session *session
	ctx     context.Context // ends when nobody wants the answer any more
	msg     *message
	modern  bool
	version string // of the protocol
	out     *stream
	bent    style // how its answer is written

	tool   *tool
	args   arguments
	token  json.RawMessage // progress token, nil if the client wants none
	inputs json.RawMessage // inputResponses of a modern retry
}

// arguments are those of all tools in one: a key means the same everywhere.
type arguments struct {
	Text  string `json:"text"`
	Key   string `json:"key"`
	Value string `json:"value"`
	MS    int    `json:"ms"`
	N     int    `json:"n"`
	Wait  bool   `json:"wait"`
	URI   string `json:"uri"`

	Fault Fault `json:"fault"`
	Times int   `json:"times"`
}

// prepare reads what the call is about, and refuses what cannot be run.
func (c *call) prepare() *refusal {
	if !known(c.msg.Method, c.modern) {
		return refuse(0, -32601, "method %q not found", c.msg.Method)
	}
	if c.msg.Method != "tools/call" {
		return nil
	}
	var p struct {
		Arguments json.RawMessage `json:"arguments"`
		Inputs    json.RawMessage `json:"inputResponses"`
	}
	if err := json.Unmarshal(c.msg.Params, &p); err != nil {
		return refuse(0, -32602, "params: %v", err)
	}
	c.inputs, c.token = p.Inputs, c.msg.meta["progressToken"]
	if c.tool = c.s.tool(c.msg.name); c.tool == nil {
		return refuse(0, -32602, "unknown tool %q", c.msg.name)
	}
	if len(p.Arguments) > 0 {
		if err := json.Unmarshal(p.Arguments, &c.args); err != nil {
			return refuse(0, -32602, "arguments: %v", err)
		}
	}
	return nil
}

// statusOf is the HTTP status of an error: the modern era has rules for some codes, the legacy one for none.
func statusOf(no *refusal, modern bool) int {
	switch {
	case no.status != 0:
		return no.status
	case modern && no.Code == -32601:
		return http.StatusNotFound
	case modern && (no.Code == -32602 || no.Code == -32022):
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// run does what was asked. It always ends the stream: with an answer, or without one if nobody wants it.
func (c *call) run() {
	defer c.out.end()
	if c.tool != nil {
		c.tool.run(c)
		return
	}
	result, no := methods[c.msg.Method](c)
	if no != nil {
		status := statusOf(no, c.modern)
		if status == http.StatusOK {
			status = 0 // which may also be a stream
		}
		c.out.add(event{data: refused(c.msg.ID, no), last: true, status: status, style: c.bent})
		return
	}
	c.answer(result)
}

// answer sends the result, with what its era adds.
func (c *call) answer(result object) {
	if c.modern {
		if result["resultType"] == nil {
			result["resultType"] = "complete"
		}
		result["_meta"] = object{metaServerInfo: serverInfo}
	}
	c.out.add(event{data: response(c.msg.ID, result), last: true, style: c.bent})
}

func (c *call) say(text string) {
	c.answer(object{"content": []object{{"type": "text", "text": text}}})
}

// fail is an error of the tool, which the model is meant to read.
func (c *call) fail(text string) {
	c.answer(object{"content": []object{{"type": "text", "text": text}}, "isError": true})
}

// sayJSON answers with the value as structured content, and as text for clients that know no other.
func (c *call) sayJSON(v any) {
	c.answer(object{"content": []object{{"type": "text", "text": string(encode(v))}}, "structuredContent": v})
}

// notify says something before the answer.
func (c *call) notify(method string, params object) {
	c.out.add(event{data: notification(method, params)})
}

// sleep waits; false means that nobody wants an answer any more.
func (c *call) sleep(ms int) bool {
	if ms <= 0 {
		return c.ctx.Err() == nil
	}
	t := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// wait waits until the test releases the key.
func (c *call) wait(key string) bool {
	g := c.s.gate(key)
	g.reachedOnce.Do(func() { close(g.reached) })
	select {
	case <-g.open:
		return true
	case <-c.ctx.Done():
		return false
	}
}
