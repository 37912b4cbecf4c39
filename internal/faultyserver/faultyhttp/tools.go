package faultyhttp

import (
	"slices"
	"strings"
)

// tool is one row of the table. Every tool also takes fault and times.
type tool struct {
	name  string
	hint  string // "", readOnly or idempotent; no hint is what the protocol calls destructive and not idempotent
	takes string // "name:type name:type!", ! for required
	about string
	run   func(*call)
}

const (
	readOnly   = "readOnly"
	idempotent = "idempotent"
)

// tools is filled in later because the tools look at the table themselves.
var tools []tool

func init() {
	tools = []tool{
		{name: "echo", hint: readOnly, takes: "text:string ms:integer", about: "returns text, after ms", run: (*call).echo},
		{name: "append", takes: "key:string! value:string ms:integer wait:boolean", about: "adds to the ledger, waits ms or until released, answers", run: (*call).append},
		{name: "put", hint: idempotent, takes: "key:string! value:string! ms:integer wait:boolean", about: "sets key to value, waits as append does", run: (*call).put},
		{name: "get", hint: readOnly, takes: "key:string!", about: "returns the value of key", run: (*call).get},
		{name: "slow", hint: readOnly, takes: "key:string!", about: "answers when the test releases the key", run: (*call).slow},
		{name: "progress", hint: readOnly, takes: "n:integer key:string wait:boolean", about: "reports n steps (3), may wait until released, answers", run: (*call).progress},
		{name: "log", hint: readOnly, takes: "text:string", about: "sends a log message, then answers", run: (*call).log},
		{name: "ask", takes: "text:string", about: "asks the client for input and returns it", run: (*call).ask},
		{name: "state", hint: readOnly, about: "returns what this session has seen so far", run: (*call).state},
		{name: "touch", hint: readOnly, takes: "uri:string!", about: "tells the subscribers of a resource that it changed", run: (*call).touch},
		{name: "change_tools", hint: readOnly, about: "adds a tool to the list, or takes it away again", run: (*call).changeTools},
	}
}

// catalogue is the list of tools at this moment.
func (s *Server) catalogue() []tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.turned {
		return tools
	}
	return append(slices.Clone(tools), tool{name: "extra", hint: readOnly, takes: "text:string", about: "was not here before", run: (*call).echo})
}

func (s *Server) tool(name string) *tool {
	all := s.catalogue()
	if i := slices.IndexFunc(all, func(t tool) bool { return t.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

func (t *tool) describe() object {
	properties, required := object{}, []string{}
	for field := range strings.FieldsSeq(t.takes + " fault:string times:integer") {
		name, kind, _ := strings.Cut(field, ":")
		kind, must := strings.CutSuffix(kind, "!")
		if must {
			required = append(required, name)
		}
		properties[name] = object{"type": kind}
	}
	all := object{"name": t.name, "description": t.about, "inputSchema": object{"type": "object", "properties": properties, "required": required}}
	if t.hint != "" {
		all["annotations"] = object{t.hint + "Hint": true}
	}
	return all
}
