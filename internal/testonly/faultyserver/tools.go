package faultyserver

import (
	"fmt"
	"strings"
)

// tool is one row of the table.
type tool struct {
	name  string
	hint  string // "", readOnly or idempotent; no hint means destructive and not idempotent in the protocol
	takes string // "name:type name:type!", with ! for required
	about string
	// schema replaces the schema that follows from takes.
	schema string
	run    func(*call)
}

const (
	readOnly   = "readOnly"
	idempotent = "idempotent"
)

var tools = []tool{
	{name: "echo", hint: readOnly, takes: "text:string", about: "returns text", run: (*call).echo},
	{name: "echo_raw_params", hint: readOnly, about: "returns the exact bytes of params as a string", run: (*call).echoRawParams},
	{name: "forecast", hint: readOnly, schema: forecastSchema, about: "returns the weather if the arguments match the schema exactly", run: (*call).forecast},
	{name: "pid", hint: readOnly, about: "returns pid and generation", run: (*call).pid},
	{name: "state", hint: readOnly, about: "returns what this generation has seen so far", run: (*call).state},
	{name: "env", hint: readOnly, about: "returns the environment, working directory and arguments", run: (*call).env},

	{name: "append", takes: "key:string! value:string ms:integer", about: "adds to the ledger, waits ms, responds", run: (*call).append},
	{name: "set", hint: idempotent, takes: "key:string! value:string! ms:integer", about: "sets key to value, waits ms, responds", run: (*call).set},
	{name: "get", hint: readOnly, takes: "key:string!", about: "returns the value of key", run: (*call).get},
	{name: "open_handle", takes: "key:string", about: "returns a handle that is valid until this process ends", run: (*call).openHandle},
	{name: "use_handle", hint: readOnly, takes: "key:string!", about: "fails if the handle is from a different process", run: (*call).useHandle},

	{name: "die", takes: dieTakes, about: dieAbout, run: (*call).die},
	{name: "die_read", hint: readOnly, takes: dieTakes, about: dieAbout + "; claims to be read-only", run: (*call).die},
	{name: "die_set", hint: idempotent, takes: dieTakes, about: dieAbout + "; claims to be idempotent", run: (*call).die},
	{name: "spawn_child", takes: "holds:strings setsid:boolean ms:integer!", about: "starts a child that holds stdin, stdout or stderr open for ms; returns its pid", run: (*call).spawnChild},

	{name: "sleep", hint: readOnly, takes: "ms:integer!", about: "responds after ms, unless cancelled", run: (*call).sleep},
	{name: "late", hint: readOnly, takes: "ms:integer!", about: "responds after ms even if cancelled", run: (*call).late},
	{name: "busy", hint: readOnly, takes: "ms:integer!", about: "keeps the CPU busy for `ms` milliseconds", run: (*call).busy},
	{name: "hang", hint: readOnly, about: "never responds", run: (*call).hang},
	{name: "hang_unsafe", takes: "key:string", about: "adds to the ledger, never responds", run: (*call).hangUnsafe},
	{name: "wedge", hint: readOnly, takes: "kind:string", about: "the server never responds again; kind spin also uses CPU", run: (*call).wedge},
	{name: "stop", hint: readOnly, takes: "ms:integer", about: "stops the process (SIGSTOP), continues it after ms if given, then responds", run: (*call).stop},
	{name: "progress", hint: readOnly, takes: "n:integer interval_ms:integer die:boolean times:integer", about: "reports n steps (3; endless if negative), then responds or dies", run: (*call).progress},
	{name: "stale_progress", hint: readOnly, about: "reports progress for an unknown token and after its own response", run: (*call).staleProgress},

	{name: "ask", takes: askTakes, about: "sends a request to the client and returns its response", run: (*call).ask},
	{name: "ask_read", hint: readOnly, takes: askTakes, about: "same as ask; claims to be read-only", run: (*call).ask},
	{name: "ask_rounds", hint: readOnly, takes: "method:string", about: "modern era: requires input, and returns it in the next round", run: (*call).askRounds},
	{name: "notify", hint: readOnly, takes: "message:string!", about: "writes message to stdout as a line, then responds", run: (*call).notifyRaw},
	{name: "touch", hint: readOnly, takes: "uri:string!", about: "notifies the subscribers of a resource that it changed", run: (*call).touch},
	{name: "change_tools", hint: readOnly, about: "changes the tool list as -tools-change does, or reverts it", run: (*call).changeTools},

	{name: "raw", hint: readOnly, takes: "result:string!", about: "responds with exactly this string as result", run: (*call).raw},
	{name: "unknown_fields", hint: readOnly, about: "responds with fields, numbers and escapes that must be preserved", run: (*call).unknownFields},
	{name: "invalid_utf8", hint: readOnly, about: "responds with a string that is not UTF-8", run: (*call).invalidUTF8},
	{name: "big", hint: readOnly, takes: "n:integer!", about: "responds with n bytes of text", run: (*call).big},
	{name: "deep", hint: readOnly, takes: "n:integer!", about: "responds with n nested arrays", run: (*call).deep},
	{name: "wide", hint: readOnly, takes: "n:integer!", about: "responds with an object of n keys", run: (*call).wide},
	{name: "endless", hint: readOnly, takes: "n:integer", about: "writes n bytes (or endlessly) without a newline, never responds", run: (*call).endless},
	{name: "drip", hint: readOnly, takes: "text:string n:integer interval_ms:integer", about: "writes its response n bytes at a time", run: (*call).drip},
	{name: "duplicate", hint: readOnly, takes: "n:integer", about: "responds n times (2)", run: (*call).duplicate},
	{name: "wrong_id", hint: readOnly, takes: "kind:string then:boolean", about: "responds with a wrong id; with then, also with the right one", run: (*call).wrongID},
	{name: "both", hint: readOnly, about: "responds with result and error", run: (*call).both},
	{name: "neither", hint: readOnly, about: "responds with neither result nor error", run: (*call).neither},
	{name: "batch", hint: readOnly, about: "responds in a JSON-RPC batch", run: (*call).batch},
	{name: "stray", hint: readOnly, takes: "kind:string!", about: "writes a stray line to stdout, then responds", run: (*call).stray},
	{name: "stderr", hint: readOnly, takes: "message:string!", about: "writes message to stderr, then responds", run: (*call).writeStderr},
}

// forecastSchema is a strict schema, which models get wrong in many ways.
const forecastSchema = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":14},` +
	`"units":{"type":"string","enum":["celsius","fahrenheit"]},"tags":{"type":"array","items":{"type":"string"}}},` +
	`"required":["city","days"],"additionalProperties":false}`

const (
	dieAbout = "dies at when: before-effect (default), after-effect, after-answer, before-newline (after its answer, without a newline) or mid-answer; at most times times"
	dieTakes = "when:string signal:string code:integer key:string times:integer"
	askTakes = "method:string params:object id:any die:boolean times:integer"
)

func (t *tool) describe() string {
	hint := ""
	if t.hint != "" {
		hint = fmt.Sprintf(`,"annotations":{"%sHint":true}`, t.hint)
	}
	schema := t.schema
	if schema == "" {
		schema = schemaOf(t.takes)
	}
	return fmt.Sprintf(`{"name":%s,"description":%s,"inputSchema":%s%s}`, quote(t.name), quote(t.about), schema, hint)
}

// schemaOf returns the JSON schema of parameters such as "key:string! ms:integer".
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
