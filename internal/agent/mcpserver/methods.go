package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

type object = map[string]any

// params are the parameters of all requests. Each method checks those that it uses.
type params struct {
	Meta          json.RawMessage `json:"_meta"`
	Version       any             `json:"protocolVersion"`
	Capabilities  json.RawMessage `json:"capabilities"`
	Name          any             `json:"name"`
	Arguments     json.RawMessage `json:"arguments"`
	State         any             `json:"requestState"`
	Answers       json.RawMessage `json:"inputResponses"`
	Task          json.RawMessage `json:"task"`
	TaskID        any             `json:"taskId"`
	Cursor        any             `json:"cursor"`
	RequestID     json.RawMessage `json:"requestId"`
	Notifications json.RawMessage `json:"notifications"`
}

// meta is the _meta of a request.
type meta struct {
	Version      any             `json:"io.modelcontextprotocol/protocolVersion"`
	Capabilities json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
	Client       json.RawMessage `json:"io.modelcontextprotocol/clientInfo"`
	Token        json.RawMessage `json:"progressToken"`
}

// peer is what is known about the client of a request.
type peer struct {
	version string
	able    capabilities
}

func (c *peer) modern() bool { return c != nil && c.version >= wire.FirstModern }

type capabilities struct {
	Elicitation *struct {
		Form *struct{} `json:"form"`
		URL  *struct{} `json:"url"`
	} `json:"elicitation"`
	Extensions map[string]json.RawMessage `json:"extensions"`
}

// request is a request of the client.
type request struct {
	id     json.RawMessage
	method string
	params params
	meta   meta
	client *peer // nil before initialize

	versioned bool // it says itself that it is one of 2026-07-28
}

// request handles a request. What must happen in the order of requests happens before it returns.
func (c *conn) request(m wire.Message) {
	r := request{id: m.ID, method: m.Method}
	if err := c.decode(&r, m.Params); err != nil {
		c.refuse(r.id, err)
		return
	}
	method, isTask := strings.CutPrefix(r.method, "tasks/")
	switch {
	case r.method == "initialize" && !r.versioned:
		result, err := c.initialize(r)
		c.reply(r.id, result, err)
	case r.method == "ping" && !r.versioned, r.method == "logging/setLevel" && !r.versioned: // some clients set it unasked
		c.reply(r.id, object{}, nil)
	case r.client == nil && r.method != "server/discover":
		c.refuse(r.id, &Error{Code: CodeInvalidRequest, Message: fmt.Sprintf("%q must not be sent before initialize", r.method)})
	case isTask && r.client.modern() && c.server.Tasks != nil:
		c.start(r.id, func(context.Context) (any, error) { return c.modernTask(r, method) })
	case isTask && c.legacyTasks(r.client):
		c.legacyTask(r, method)
	case r.method == "tools/call" && c.legacyTasks(r.client) && r.hasTask():
		c.create(r)
	default:
		c.start(r.id, func(ctx context.Context) (any, error) { return c.handle(ctx, r) })
	}
}

// handle returns the result of a request that does not depend on the order of requests.
func (c *conn) handle(ctx context.Context, r request) (any, error) {
	modern := r.client.modern()
	switch {
	case r.method == "server/discover" && modern:
		return c.discover(), nil
	case r.method == "tools/list":
		return c.list(r)
	case r.method == "tools/call":
		return c.call(ctx, r)
	case r.method == "subscriptions/listen" && modern:
		return c.listen(r)
	}
	return nil, notFound(r.method)
}

// decode decodes the parameters of a request, and finds out who sent it.
func (c *conn) decode(r *request, text []byte) error {
	if text != nil && string(text) != "null" {
		if err := wire.DecodeExact(text, &r.params); err != nil {
			return invalid("invalid params: %v", err)
		}
	}
	if m := r.params.Meta; m != nil && string(m) != "null" {
		if err := wire.DecodeExact(m, &r.meta); err != nil {
			return invalid("invalid _meta: %v", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.client = c.session
	version, _ := r.meta.Version.(string)
	if version < wire.FirstModern {
		return nil
	}
	r.client, r.versioned = &peer{version: version}, true
	if version != wire.FirstModern {
		data, _ := json.Marshal(object{"supported": supported(), "requested": version}) // strings always encode
		return &Error{Code: codeUnsupportedVersion, Message: "unsupported protocol version", Data: data}
	}
	if !isObject(r.meta.Capabilities) || json.Unmarshal(r.meta.Capabilities, &r.client.able) != nil {
		return invalid("missing or invalid _meta field %q", wire.MetaCapabilities)
	}
	if r.meta.Client != nil && !isObject(r.meta.Client) {
		return invalid("invalid _meta field %q", wire.MetaClient)
	}
	if c.session == nil {
		c.session = r.client
	}
	return nil
}

func isObject(text json.RawMessage) bool { return len(text) > 0 && text[0] == '{' }

// supported returns all versions, the newest first.
func supported() []string {
	all := append(slices.Clone(wire.LegacyVersions), wire.FirstModern)
	slices.Reverse(all)
	return all
}

// initialize begins a session of a version before 2026-07-28.
func (c *conn) initialize(r request) (any, error) {
	version, isText := r.params.Version.(string)
	if r.params.Version != nil && !isText {
		return nil, invalid("invalid protocolVersion: must be a string")
	}
	if !slices.Contains(wire.LegacyVersions, version) {
		version = wire.NewestLegacy
	}
	now := &peer{version: version}
	if r.params.Capabilities != nil && json.Unmarshal(r.params.Capabilities, &now.able) != nil {
		return nil, invalid("invalid capabilities: must be an object with client capabilities")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began {
		return nil, &Error{Code: CodeInvalidRequest, Message: "initialize was already sent"}
	}
	c.session, c.began = now, true
	able := object{"tools": object{}} // the list of tools never changes
	if c.legacyTasks(now) {
		able["tasks"] = json.RawMessage(`{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`)
	}
	return object{"protocolVersion": version, "capabilities": able, "serverInfo": c.server.Info, "instructions": c.server.Instructions}, nil
}

// complete makes a result one of 2026-07-28.
func (c *conn) complete(result object) object {
	if result["resultType"] == nil {
		result["resultType"] = "complete"
	}
	about, _ := result["_meta"].(object)
	if about == nil {
		about = object{}
	}
	about[wire.MetaServer] = c.server.Info
	result["_meta"] = about
	return result
}

// cacheable adds what a client must know before it keeps a result: it may, for no time.
func cacheable(result object) object {
	result["ttlMs"], result["cacheScope"] = 0, "public"
	return result
}

func (c *conn) discover() any {
	able := object{"tools": object{}}
	if c.server.Tasks != nil {
		able["extensions"] = object{extension: object{}}
	}
	return c.complete(cacheable(object{"supportedVersions": supported(), "capabilities": able, "instructions": c.server.Instructions}))
}

func (c *conn) list(r request) (any, error) {
	if cursor := r.params.Cursor; cursor != nil && cursor != "" {
		return nil, invalid("invalid cursor: the list of tools has only one page")
	}
	tools := []Tool{}
	for _, t := range c.server.Tools {
		if t.Unlisted {
			continue
		}
		if c.legacyTasks(r.client) && c.server.Tasks.Supports(t.Name) {
			t.Execution = &execution{"optional"}
		}
		tools = append(tools, t)
	}
	result := cacheable(object{"tools": tools})
	if r.client.modern() {
		c.complete(result)
	}
	return result, nil
}

// listen answers subscriptions/listen. Nothing that a client can subscribe to ever changes.
func (c *conn) listen(r request) (any, error) {
	var wanted struct {
		TaskIDs json.RawMessage `json:"taskIds"`
	}
	if !isObject(r.params.Notifications) || json.Unmarshal(r.params.Notifications, &wanted) != nil {
		return nil, invalid("missing or invalid notifications: must be an object")
	}
	if wanted.TaskIDs != nil && c.server.Tasks != nil && !r.client.declaresTasks() {
		return nil, missingExtension()
	}
	about := object{wire.MetaSubscription: r.id}
	c.notify("notifications/subscriptions/acknowledged", object{"_meta": about, "notifications": object{}})
	return c.complete(object{"_meta": about}), nil
}
