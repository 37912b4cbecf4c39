package faultyhttp

import (
	"slices"
	"strings"
)

// tool is one row of the table. Every tool also accepts fault and times.
type tool struct {
	name  string
	hint  string // "", readOnly or idempotent; no hint means destructive and not idempotent in the protocol
	takes string // "name:type name:type!", with ! for required
	about string
	run   func(*call)
}

const (
	readOnly   = "readOnly"
	idempotent = "idempotent"
)

// tools is set in init because the tools use the table themselves.
var tools []tool

func init() {
	tools = []tool{
		{name: "echo", hint: readOnly, takes: "text:string ms:integer", about: "returns text, after ms", run: (*call).echo},
		{name: "append", takes: "key:string! value:string ms:integer wait:boolean", about: "adds to the ledger, waits ms or until released, responds", run: (*call).append},
		{name: "put", hint: idempotent, takes: "key:string! value:string! ms:integer wait:boolean", about: "sets key to value, waits like append", run: (*call).put},
		{name: "get", hint: readOnly, takes: "key:string!", about: "returns the value of key", run: (*call).get},
		{name: "slow", hint: readOnly, takes: "key:string!", about: "responds when the test releases the key", run: (*call).slow},
		{name: "progress", hint: readOnly, takes: "n:integer key:string wait:boolean", about: "reports n steps (3), may wait until released, responds", run: (*call).progress},
		{name: "log", hint: readOnly, takes: "text:string", about: "sends a log message, then responds", run: (*call).log},
		{name: "ask", takes: "text:string", about: "asks the client for input and returns it", run: (*call).ask},
		{name: "state", hint: readOnly, about: "returns what this session has seen so far", run: (*call).state},
		{name: "touch", hint: readOnly, takes: "uri:string!", about: "notifies the subscribers of a resource that it changed", run: (*call).touch},
		{name: "change_tools", hint: readOnly, about: "adds a tool to the list, or removes it again", run: (*call).changeTools},
	}
}

// catalogue returns the current list of tools.
func (s *Server) catalogue() []tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(tools)
	for i := range all {
		if hint, ok := s.declared[all[i].name]; ok {
			all[i].hint = hint
		}
	}
	if !s.toolsChanged {
		return all
	}
	return append(all, tool{name: "extra", hint: readOnly, takes: "text:string", about: "was added later", run: (*call).echo})
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
