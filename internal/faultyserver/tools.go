package faultyserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// tool is one row of the table.
type tool struct {
	name  string
	hint  string // "", readOnly or idempotent; no hint is what the protocol calls destructive and not idempotent
	takes string // "name:type name:type!", ! for required
	about string
	run   func(*call)
}

const (
	unhinted   = ""
	readOnly   = "readOnly"
	idempotent = "idempotent"
)

var tools = []tool{
	{"echo", readOnly, "text:string", "returns text", (*call).echo},
	{"echo_raw_params", readOnly, "", "returns the exact bytes of params, as a string", (*call).echoRawParams},
	{"pid", readOnly, "", "returns pid and generation", (*call).pid},
	{"state", readOnly, "", "returns what this generation has seen so far", (*call).state},
	{"env", readOnly, "", "returns environment, working directory and arguments", (*call).env},

	{"append", unhinted, "key:string! value:string ms:integer", "adds to the ledger, waits ms, answers", (*call).append},
	{"set", idempotent, "key:string! value:string! ms:integer", "sets key to value, waits ms, answers", (*call).set},
	{"get", readOnly, "key:string!", "returns the value of key", (*call).get},

	{"die", unhinted, dieTakes, "dies: before-effect, after-effect, after-answer or mid-answer", (*call).die},
	{"die_read", readOnly, dieTakes, "dies as die does, but says it only reads", (*call).die},
	{"die_set", idempotent, dieTakes, "dies as die does, but says it is idempotent", (*call).die},

	{"sleep", readOnly, "ms:integer!", "answers after ms, unless cancelled", (*call).sleep},
	{"late", readOnly, "ms:integer!", "answers after ms even if cancelled", (*call).late},
	{"busy", readOnly, "ms:integer!", "burns CPU for ms", (*call).busy},
	{"hang", readOnly, "", "never answers", (*call).hang},
	{"hang_unsafe", unhinted, "key:string", "adds to the ledger, never answers", (*call).hangUnsafe},

	{"ask", unhinted, askTakes, "sends a request to the client and returns its answer", (*call).ask},
	{"ask_read", readOnly, askTakes, "asks as ask does, but says it only reads", (*call).ask},
}

const (
	dieTakes = "when:string signal:string code:integer key:string times:integer"
	askTakes = "method:string params:object id:any die:boolean times:integer"
)

func (s *server) tool(name string) (tool, bool) {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.name == name })
	if i < 0 {
		return tool{}, false
	}
	return tools[i], true
}

func (s *server) listTools(_ context.Context, m *message, modern bool) (string, *refusal) {
	if no := s.missing("tools"); no != nil {
		return "", no
	}
	var items []string
	for _, t := range tools {
		items = append(items, t.describe())
	}
	return s.page(m, modern, "tools", items)
}

func (t *tool) describe() string {
	hint := ""
	if t.hint != "" {
		hint = fmt.Sprintf(`,"annotations":{"%sHint":true}`, t.hint)
	}
	return fmt.Sprintf(`{"name":%s,"description":%s,"inputSchema":%s%s}`, quote(t.name), quote(t.about), schemaOf(t.takes), hint)
}

// schemaOf writes the JSON schema of "key:string! ms:integer".
func schemaOf(takes string) string {
	var properties, required []string
	for field := range strings.FieldsSeq(takes) {
		name, kind, _ := strings.Cut(field, ":")
		if k, must := strings.CutSuffix(kind, "!"); must {
			kind = k
			required = append(required, quote(name))
		}
		schema := `{}`
		switch kind {
		case "any":
		case "strings":
			schema = `{"type":"array","items":{"type":"string"}}`
		default:
			schema = `{"type":` + quote(kind) + `}`
		}
		properties = append(properties, quote(name)+":"+schema)
	}
	text := `{"type":"object","properties":{` + strings.Join(properties, ",") + `}`
	if required != nil {
		text += `,"required":[` + strings.Join(required, ",") + `]`
	}
	return text + `}`
}
