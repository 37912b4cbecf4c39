package faultyserver

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// methods maps all requests except tools/call to their handlers. A handler that returns neither a
// result nor a refusal does not respond.
var methods = map[string]func(*server, context.Context, *message, bool) (string, *refusal){
	"initialize":               (*server).initialize,
	"server/discover":          (*server).discover,
	"ping":                     func(*server, context.Context, *message, bool) (string, *refusal) { return "{}", nil },
	"tools/list":               (*server).listTools,
	"resources/list":           (*server).listResources,
	"resources/templates/list": (*server).listTemplates,
	"resources/read":           (*server).readResource,
	"resources/subscribe":      (*server).subscribe,
	"resources/unsubscribe":    (*server).unsubscribe,
	"prompts/list":             (*server).listPrompts,
	"prompts/get":              (*server).getPrompt,
	"completion/complete":      (*server).completeArgument,
	"logging/setLevel":         (*server).setLevel,
	"subscriptions/listen":     (*server).listenFor,
}

// page returns one page of a list. A cursor contains the pid, so a cursor from an earlier process
// is unknown to the next.
func (s *server) page(m *message, modern bool, field string, items []string) (string, *refusal) {
	var p struct {
		Cursor string `json:"cursor"`
	}
	if len(m.Params) > 0 && json.Unmarshal(m.Params, &p) != nil {
		return "", &refusal{code: -32602, text: "params.cursor must be a string"}
	}
	prefix := fmt.Sprintf("p%d-", os.Getpid())
	from := 0
	if p.Cursor != "" {
		at, ok := strings.CutPrefix(p.Cursor, prefix)
		n, err := strconv.Atoi(at)
		if !ok || err != nil || n < 0 || n > len(items) {
			return "", &refusal{code: -32602, text: fmt.Sprintf("unknown cursor %q", p.Cursor)}
		}
		from = n
	}
	to, next := len(items), ""
	if size := s.cfg.pageSize; size > 0 && from+size < to {
		to = from + size
		next = `,"nextCursor":` + quote(prefix+strconv.Itoa(to))
	}
	cache := ""
	if modern {
		cache = `,"ttlMs":0,"cacheScope":"private"`
	}
	return complete(`{"`+field+`":[`+strings.Join(items[from:to], ",")+`]`+next+cache+`}`, modern), nil
}

func (s *server) missing(capability string) *refusal {
	if s.has(capability) {
		return nil
	}
	return &refusal{code: -32601, text: "this server has no " + capability}
}

// knownResources returns the number of resources of this generation.
func (s *server) knownResources() int {
	n := s.cfg.resources
	if a := s.active["forget-resources"]; a != nil {
		n = max(0, n-a.number("n"))
	}
	return n
}

func (s *server) knows(uri string) bool {
	at, ok := strings.CutPrefix(uri, "mem://")
	n, err := strconv.Atoi(at)
	return ok && err == nil && n >= 0 && n < s.knownResources()
}

func (s *server) knownURI(m *message) (string, *refusal) {
	if no := s.missing("resources"); no != nil {
		return "", no
	}
	var p struct {
		URI string `json:"uri"`
	}
	if json.Unmarshal(m.Params, &p) != nil || p.URI == "" {
		return "", &refusal{code: -32602, text: "params.uri is missing"}
	}
	if !s.knows(p.URI) {
		return "", &refusal{code: -32002, text: "resource not found", data: `{"uri":` + quote(p.URI) + `}`}
	}
	return p.URI, nil
}

func (s *server) listResources(_ context.Context, m *message, modern bool) (string, *refusal) {
	if no := s.missing("resources"); no != nil {
		return "", no
	}
	var items []string
	for i := range s.knownResources() {
		items = append(items, fmt.Sprintf(`{"uri":"mem://%d","name":"resource %d","mimeType":"text/plain"}`, i, i))
	}
	return s.page(m, modern, "resources", items)
}

func (s *server) listTemplates(_ context.Context, m *message, modern bool) (string, *refusal) {
	if no := s.missing("resources"); no != nil {
		return "", no
	}
	return s.page(m, modern, "resourceTemplates", []string{`{"uriTemplate":"mem://{n}","name":"resource by number"}`})
}

func (s *server) readResource(_ context.Context, m *message, modern bool) (string, *refusal) {
	uri, no := s.knownURI(m)
	if no != nil {
		return "", no
	}
	cache := ""
	if modern {
		cache = `,"ttlMs":0,"cacheScope":"private"`
	}
	text := fmt.Sprintf("%s of generation %d", uri, s.generation)
	return complete(fmt.Sprintf(`{"contents":[{"uri":%s,"mimeType":"text/plain","text":%s}]%s}`, quote(uri), quote(text), cache), modern), nil
}

var prompts = []string{
	`{"name":"greet","description":"Greets a person.","arguments":[{"name":"who","description":"whom to greet","required":true}]}`,
	`{"name":"plain","description":"Has no arguments."}`,
}

func (s *server) listPrompts(_ context.Context, m *message, modern bool) (string, *refusal) {
	if no := s.missing("prompts"); no != nil {
		return "", no
	}
	return s.page(m, modern, "prompts", prompts)
}

func (s *server) getPrompt(_ context.Context, m *message, modern bool) (string, *refusal) {
	if no := s.missing("prompts"); no != nil {
		return "", no
	}
	var p struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return "", &refusal{code: -32602, text: err.Error()}
	}
	text := "Hello."
	switch p.Name {
	case "greet":
		text = "Hello, " + p.Arguments["who"] + "."
	case "plain":
	default:
		return "", &refusal{code: -32602, text: fmt.Sprintf("unknown prompt %q", p.Name)}
	}
	return complete(`{"messages":[{"role":"user","content":{"type":"text","text":`+quote(text)+`}}]}`, modern), nil
}

func (s *server) completeArgument(_ context.Context, _ *message, modern bool) (string, *refusal) {
	return complete(`{"completion":{"values":["world","somebody"],"total":2,"hasMore":false}}`, modern), nil
}
