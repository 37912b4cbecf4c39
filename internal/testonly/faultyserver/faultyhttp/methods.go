package faultyhttp

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// methods maps all requests except tools/call and subscriptions/listen to their handlers.
var methods = map[string]func(*call) (object, *refusal){
	"initialize":               (*call).initialize,
	"server/discover":          (*call).discover,
	"ping":                     func(*call) (object, *refusal) { return object{}, nil },
	"tools/list":               (*call).listTools,
	"resources/list":           (*call).listResources,
	"resources/templates/list": func(c *call) (object, *refusal) { return c.list("resourceTemplates", []object{}), nil },
	"resources/read":           (*call).readResource,
	"resources/subscribe":      (*call).subscribe,
	"resources/unsubscribe":    (*call).unsubscribe,
	"prompts/list":             (*call).listPrompts,
	"prompts/get":              (*call).getPrompt,
	"logging/setLevel":         (*call).setLevel,
}

// legacyOnly lists the methods that 2026-07-28 removed, modernOnly those it added.
var (
	legacyOnly = []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
	modernOnly = []string{"server/discover", "subscriptions/listen"}
)

func known(method string, modern bool) bool {
	if modern && slices.Contains(legacyOnly, method) || !modern && slices.Contains(modernOnly, method) {
		return false
	}
	return methods[method] != nil || method == "tools/call" || method == "subscriptions/listen"
}

var serverInfo = object{"name": "faultyhttp", "version": "1.0.0"}

func (c *call) initialize() (object, *refusal) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.initializes++
	if c.session.id != "" && !c.gen.dead {
		c.gen.sessions[c.session.id] = c.session
	}
	return object{"protocolVersion": c.version, "capabilities": capabilities(false), "serverInfo": serverInfo, "instructions": "This server has named faults."}, nil
}

// negotiateVersion chooses the version: the requested one if it is known, otherwise the newest of
// the era.
func negotiateVersion(m *message) string {
	var p struct {
		Version string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(m.Params, &p)
	if slices.Contains(legacyVersions, p.Version) {
		return p.Version
	}
	return newestLegacy
}

func (c *call) discover() (object, *refusal) {
	return object{"supportedVersions": c.s.versions(), "capabilities": capabilities(true), "instructions": "This server has named faults.",
		"ttlMs": 0, "cacheScope": "private"}, nil
}

func (s *Server) versions() []string {
	switch s.cfg.Era {
	case Legacy:
		return legacyVersions
	case Modern:
		return []string{modernVersion}
	default:
		return append([]string{modernVersion}, legacyVersions...)
	}
}

func capabilities(modern bool) object {
	all := object{
		"tools":     object{"listChanged": true},
		"resources": object{"subscribe": true, "listChanged": true},
		"prompts":   object{"listChanged": true},
	}
	if !modern {
		all["logging"] = object{}
	}
	return all
}

func (c *call) list(field string, items []object) object {
	result := object{field: items}
	if c.modern {
		result["ttlMs"], result["cacheScope"] = 0, "private"
	}
	return result
}

func (c *call) listTools() (object, *refusal) {
	items := []object{}
	for _, t := range c.s.catalogue() {
		items = append(items, t.describe())
	}
	return c.list("tools", items), nil
}

const resourceCount = 3 // mem://0 and up, all subscribable

func knownResource(uri string) bool {
	at, ok := strings.CutPrefix(uri, "mem://")
	n, err := strconv.Atoi(at)
	return ok && err == nil && n >= 0 && n < resourceCount
}

// uri returns the resource of the request.
func (c *call) uri() (string, *refusal) {
	var p struct {
		URI string `json:"uri"`
	}
	_ = json.Unmarshal(c.msg.Params, &p)
	if !knownResource(p.URI) {
		return "", refuse(0, -32002, "resource %q not found", p.URI)
	}
	return p.URI, nil
}

func (c *call) listResources() (object, *refusal) {
	items := []object{}
	for i := range resourceCount {
		n := strconv.Itoa(i)
		items = append(items, object{"uri": "mem://" + n, "name": "resource " + n, "mimeType": "text/plain"})
	}
	return c.list("resources", items), nil
}

func (c *call) readResource() (object, *refusal) {
	uri, no := c.uri()
	if no != nil {
		return nil, no
	}
	text := uri + " of generation " + strconv.Itoa(c.gen.number)
	result := object{"contents": []object{{"uri": uri, "mimeType": "text/plain", "text": text}}}
	if c.modern {
		result["ttlMs"], result["cacheScope"] = 0, "private"
	}
	return result, nil
}

func (c *call) subscribe() (object, *refusal) {
	uri, no := c.uri()
	if no != nil {
		return nil, no
	}
	x := c.session
	x.mu.Lock()
	defer x.mu.Unlock()
	if !slices.Contains(x.subscribed, uri) {
		x.subscribed = append(x.subscribed, uri)
	}
	return object{}, nil
}

func (c *call) unsubscribe() (object, *refusal) {
	uri, no := c.uri()
	if no != nil {
		return nil, no
	}
	x := c.session
	x.mu.Lock()
	defer x.mu.Unlock()
	x.subscribed = slices.DeleteFunc(x.subscribed, func(u string) bool { return u == uri })
	return object{}, nil
}

func (c *call) setLevel() (object, *refusal) {
	var p struct {
		Level string `json:"level"`
	}
	if json.Unmarshal(c.msg.Params, &p) != nil || p.Level == "" {
		return nil, refuse(0, -32602, "params.level is missing")
	}
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	c.session.level = p.Level
	return object{}, nil
}

func (c *call) listPrompts() (object, *refusal) {
	return c.list("prompts", []object{{"name": "greet", "description": "Greets a person.",
		"arguments": []object{{"name": "who", "description": "whom to greet", "required": true}}}}), nil
}

func (c *call) getPrompt() (object, *refusal) {
	var p struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	if json.Unmarshal(c.msg.Params, &p) != nil || p.Name != "greet" {
		return nil, refuse(0, -32602, "unknown prompt %q", p.Name)
	}
	return object{"messages": []object{{"role": "user", "content": object{"type": "text", "text": "Hello, " + p.Arguments["who"] + "."}}}}, nil
}
