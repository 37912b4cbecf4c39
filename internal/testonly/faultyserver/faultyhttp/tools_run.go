package faultyhttp

import (
	"encoding/json"
	"fmt"
	"slices"
)

func (c *call) echo() {
	if c.sleep(c.args.MS) {
		c.say(c.args.Text)
	}
}

// effect executes and then waits as the arguments specify, so that a test can break something
// between the effect and the response.
func (c *call) effect(op, answer string) {
	switch err := c.execute(op, c.args.Key, c.args.Value); {
	case err == errKilled:
		<-c.ctx.Done() // the connections may not be reset yet, and a killed server does not respond
		return
	case err != nil:
		c.fail(err.Error())
		return
	}
	if c.args.Wait && !c.wait(c.args.Key) || !c.sleep(c.args.MS) {
		return
	}
	c.say(answer)
}

func (c *call) append() { c.effect("append", "appended "+c.args.Key) }

func (c *call) put() { c.effect("put", c.args.Key+" is "+c.args.Value) }

func (c *call) get() {
	value, ok, err := c.s.value(c.args.Key)
	switch {
	case err != nil:
		c.fail("ledger: " + err.Error())
	case !ok:
		c.fail("no such key: " + c.args.Key)
	default:
		c.say(value)
	}
}

func (c *call) slow() {
	if c.wait(c.args.Key) {
		c.say("released " + c.args.Key)
	}
}

func (c *call) progress() {
	n := c.args.N
	if n == 0 {
		n = 3
	}
	for i := 1; i <= n && c.token != nil; i++ {
		c.notify("notifications/progress", object{"progressToken": c.token, "progress": i, "total": n, "message": fmt.Sprintf("step %d", i)})
	}
	if !c.args.Wait || c.wait(c.args.Key) {
		c.say(fmt.Sprintf("%d steps", n))
	}
}

func (c *call) log() {
	c.notify("notifications/message", object{"level": "info", "logger": "faultyhttp", "data": c.args.Text})
	c.say("logged")
}

// ask sends a request to a legacy client and waits for the response it posts. A modern client gets
// a result that requires input, and calls again with it.
func (c *call) ask() {
	question := c.args.Text
	if question == "" {
		question = "What is your name?"
	}
	params := object{"message": question, "requestedSchema": object{"type": "object", "properties": object{"name": object{"type": "string"}}}}
	switch {
	case !c.modern:
		id, answer := c.session.ask()
		c.out.add(event{data: encode(object{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": "elicitation/create", "params": params})})
		select {
		case text := <-answer:
			c.say(text)
		case <-c.ctx.Done():
		}
	case c.inputs != nil:
		c.say(string(c.inputs))
	default:
		c.answer(object{"resultType": "input_required", "requestState": "round 1",
			"inputRequests": object{"q1": object{"method": "elicitation/create", "params": params}}})
	}
}

// State is the result of the state tool.
type State struct {
	Session       string   `json:"session"`
	Generation    int      `json:"generation"`
	Initializes   int      `json:"initializes"` // of the server, since New
	Initialized   bool     `json:"initialized"` // the notification arrived
	Version       string   `json:"version"`
	Seen          []string `json:"seen"` // methods, in order
	LogLevel      string   `json:"logLevel"`
	Subscriptions []string `json:"subscriptions"`
	Listens       int      `json:"listens"` // open modern streams of all clients
}

func (c *call) state() {
	now := State{Generation: c.gen.number}
	c.s.mu.Lock()
	now.Initializes, now.Listens = c.s.initializes, len(c.gen.listens)
	c.s.mu.Unlock()
	x := c.session
	x.mu.Lock()
	now.Session, now.Initialized, now.Version, now.LogLevel = x.id, x.initialized, x.version, x.level
	now.Seen = append([]string{}, x.seen...)
	now.Subscriptions = append([]string{}, x.subscribed...)
	x.mu.Unlock()
	c.sayJSON(now)
}

func (c *call) touch() {
	if !knownResource(c.args.URI) {
		c.fail("no such resource: " + c.args.URI)
		return
	}
	c.s.Touch(c.args.URI)
	c.say("touched " + c.args.URI)
}

func (c *call) changeTools() {
	c.s.ChangeTools()
	c.say("changed")
}

// ChangeTools changes the list of tools, or reverts the change, and notifies the clients that asked
// for it.
func (s *Server) ChangeTools() {
	s.mu.Lock()
	s.toolsChanged = !s.toolsChanged
	s.mu.Unlock()
	s.notifySubscribers("notifications/tools/list_changed", nil,
		func(x *session) bool { return x.initialized },
		func(l *listen) bool { return l.Tools })
}

// Declare makes a tool declare that it only reads, or nothing, as if a different version was deployed.
func (s *Server) Declare(name string, reads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.declared[name] = map[bool]string{true: readOnly}[reads]
}

// Touch notifies the subscribers of a resource that it changed.
func (s *Server) Touch(uri string) {
	s.notifySubscribers("notifications/resources/updated", object{"uri": uri},
		func(x *session) bool { return slices.Contains(x.subscribed, uri) },
		func(l *listen) bool { return slices.Contains(l.URIs, uri) })
}
