package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Call is a call of a tool in progress.
type Call struct {
	Arguments json.RawMessage   // as the client sent them; nil if it sent none
	State     string            // that the client returned from an earlier result; "" if none
	Answers   map[string]Answer // of the user to the questions of that result
	TaskID    string            // the task that the call is, or "". Such a call returns when its work has ended.
	MayDefer  bool              // the result may be a task

	conn   *conn
	client *peer
	token  json.RawMessage // for progress
	task   *taskCall       // nil if the call is not a task
}

// Answer is what the user said to a question.
type Answer struct {
	Action  string         `json:"action"` // accept, decline or cancel
	Content map[string]any `json:"content"`
}

// Question is a form for the user.
type Question struct {
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"` // of the content of the answer
}

// Result is what a call returns: a text with structured content, a question, or a task that goes on.
type Result struct {
	Text       string
	Structured any
	IsError    bool

	// Ask are questions to the user by name. The client repeats the call with State and the answers. Only calls
	// that are Modern may ask so.
	Ask   map[string]Question
	State string

	Task string // the task that goes on in place of a result, if the call MayDefer
}

// Modern reports whether a call must ask with its result. Others ask with Ask.
func (k *Call) Modern() bool { return k.client.modern() }

// CanAsk reports whether the client can ask the user.
func (k *Call) CanAsk() bool {
	if k.client == nil || k.client.able.Elicitation == nil {
		return false
	}
	able := k.client.able.Elicitation
	return able.Form != nil || able.URL == nil // neither was named before there were addresses
}

// WantsProgress reports whether the client wants to know how the call progresses.
func (k *Call) WantsProgress() bool { return len(k.token) > 0 && string(k.token) != "null" }

// Progress tells the client how far the call is.
func (k *Call) Progress(steps int, text string) {
	if k.WantsProgress() {
		k.conn.notify("notifications/progress", k.about(object{"progressToken": k.token, "progress": steps, "message": text}))
	}
}

// about adds the task of a call to the parameters of a message.
func (k *Call) about(params object) object {
	if k.TaskID != "" {
		params["_meta"] = relatedTo(k.TaskID)
	}
	return params
}

// Ask asks the user during a call, and returns when they have answered.
func (k *Call) Ask(ctx context.Context, q Question) (said Answer, err error) {
	if k.Modern() || !k.CanAsk() {
		return said, errors.New("the client cannot ask the user during a call")
	}
	k.conn.asks(k.task)
	asked := sync.OnceFunc(func() { k.conn.hasAsked(k.task) })
	text, err := k.conn.ask(ctx, "elicitation/create", k.about(q.params()), asked)
	asked()
	if err != nil {
		return said, err
	}
	return decodeAnswer(text)
}

func (q Question) params() object {
	return object{"mode": "form", "message": q.Message, "requestedSchema": q.Schema}
}

func decodeAnswer(text json.RawMessage) (said Answer, err error) {
	if !isObject(text) || json.Unmarshal(text, &said) != nil {
		return said, errors.New("the answer is not a form response")
	}
	return said, nil
}

// call runs a tool and returns its result.
func (c *conn) call(ctx context.Context, r request) (any, error) {
	tool, k, err := c.newCall(r)
	if err != nil {
		return nil, err
	}
	k.MayDefer = c.server.Tasks != nil && r.client.modern() && r.client.declaresTasks() && c.server.Tasks.Supports(tool.Name)
	result, err := tool.Run(ctx, k)
	if err != nil {
		return nil, err
	}
	if k.MayDefer && result.Task != "" {
		if found, err := c.server.Tasks.Find(c.ctx, result.Task); err == nil {
			return found.modern("task"), nil
		}
	}
	encoded := result.encoded()
	if r.client.modern() {
		c.complete(encoded)
	}
	return encoded, nil
}

// newCall returns the tool of a request with the call.
func (c *conn) newCall(r request) (*Tool, *Call, error) {
	name, ok := r.params.Name.(string)
	if !ok {
		return nil, nil, invalid("missing or invalid name: must be the name of a tool")
	}
	tool := c.server.tool(name)
	if tool == nil {
		return nil, nil, invalid("unknown tool %q", name)
	}
	k := &Call{Arguments: r.params.Arguments, conn: c, client: r.client, token: r.meta.Token}
	if state := r.params.State; state != nil {
		if k.State, ok = state.(string); !ok {
			return nil, nil, invalid("invalid requestState: must be the requestState of an earlier result")
		}
	}
	var answers map[string]json.RawMessage
	if r.params.Answers != nil && json.Unmarshal(r.params.Answers, &answers) != nil {
		return nil, nil, invalid("invalid inputResponses: must be an object")
	}
	for name, text := range answers {
		said, err := decodeAnswer(text)
		if err != nil || said.Action == "" {
			return nil, nil, invalid("invalid inputResponses: %q must have an action", name)
		}
		if k.Answers == nil {
			k.Answers = map[string]Answer{}
		}
		k.Answers[name] = said
	}
	return tool, k, nil
}

// tool returns the tool that a client means by a name, or nil.
func (s *Server) tool(name string) *Tool {
	named := func(name string) *Tool {
		if i := slices.IndexFunc(s.Tools, func(t Tool) bool { return t.Name == name }); i >= 0 {
			return &s.Tools[i]
		}
		return nil
	}
	if found := named(name); found != nil || s.Respell == nil {
		return found
	}
	return named(s.Respell(name))
}

// encoded returns a result as it is sent.
func (r *Result) encoded() object {
	if r.Ask != nil {
		asked := object{}
		for name, q := range r.Ask {
			asked[name] = object{"method": "elicitation/create", "params": q.params()}
		}
		return object{"resultType": "input_required", "inputRequests": asked, "requestState": r.State}
	}
	content := []object{}
	if r.Task == "" {
		content = append(content, object{"type": "text", "text": r.Text})
	}
	out := object{"content": content}
	if r.Structured != nil {
		out["structuredContent"] = r.Structured
	}
	if r.IsError {
		out["isError"] = true
	}
	return out
}

// MarshalJSON returns a result without a task or a question, as backends keep it.
func (r *Result) MarshalJSON() ([]byte, error) {
	if r.Ask != nil || r.Task != "" {
		return nil, fmt.Errorf("the call has not finished")
	}
	return json.Marshal(r.encoded())
}
