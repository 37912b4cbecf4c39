package faultyhttp

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// call is one request in progress. Its messages go to out, the response last.
type call struct {
	s       *Server
	gen     *generation
	session *session
	ctx     context.Context // ends when the response is no longer wanted
	msg     *message
	modern  bool
	version string // of the protocol
	out     *stream
	bent    style // how its response is written

	tool   *tool
	args   arguments
	token  json.RawMessage // progress token, nil if the client sent none
	inputs json.RawMessage // inputResponses of a modern retry
}

// arguments holds the arguments of all tools. A key means the same in each of them.
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

// prepare decodes the request and rejects what cannot be run.
func (c *call) prepare() *refusal {
	if !known(c.msg.Method, c.modern) {
		return refuse(0, -32601, "method %q not found", c.msg.Method)
	}
	if c.msg.Method != "tools/call" {
		return nil
	}
	c.inputs, c.token = c.msg.inputs, c.msg.meta["progressToken"]
	if c.tool = c.s.tool(c.msg.name); c.tool == nil {
		return refuse(0, -32602, "unknown tool %q", c.msg.name)
	}
	if len(c.msg.arguments) > 0 {
		if err := json.Unmarshal(c.msg.arguments, &c.args); err != nil {
			return refuse(0, -32602, "arguments: %v", err)
		}
	}
	return nil
}

// statusOf returns the HTTP status of an error. The modern era specifies it for some codes, the
// legacy era for none.
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

// run executes the request. It always ends the stream, with a response or, if the client no longer
// wants one, without.
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
			status = 0 // the response may also be a stream
		}
		c.out.add(event{data: refused(c.msg.ID, no), last: true, status: status, style: c.bent})
		return
	}
	c.answer(result)
}

// answer sends the result, completed for its era.
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

// fail sends an error of the tool for the model to read.
func (c *call) fail(text string) {
	c.answer(object{"content": []object{{"type": "text", "text": text}}, "isError": true})
}

// sayJSON responds with the value as structured content, and as text for clients that support
// nothing else.
func (c *call) sayJSON(v any) {
	c.answer(object{"content": []object{{"type": "text", "text": string(encode(v))}}, "structuredContent": v})
}

// notify sends a notification before the response.
func (c *call) notify(method string, params object) {
	c.out.add(event{data: notification(method, params)})
}

// sleep waits. It returns false if the response is no longer wanted.
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
