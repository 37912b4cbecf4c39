package differential

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// recipe is what a generated server is like. It depends on the seed alone.
type recipe struct {
	seed         uint64
	integerIDs   bool // any other id is an invalid request
	spacing      int
	bom          bool // before every line
	version      string
	pageSize     int
	lists        bool // otherwise tools/list is an unknown method
	noise        bool // on stderr
	listsWhen    int  // when the client asks for the tools: 0 first, 1 in the middle, 2 never
	declares     bool // the capability tools
	tools        []tool
	unknownTools bool // a tool it never named works
}

// tool is one tool of a generated server.
type tool struct {
	name        string
	schema      json.RawMessage
	annotations string
	behaviour   string
	enforces    string // "", or how a missing or an extra key is refused: "result" or "error"
}

var behaviours = []string{"echo", "fail", "refuse", "big", "slow", "progress", "log", "changed", "ask", "count", "odd", "meta",
	"empty", "append", "read", "late", "hangup"}

func newRecipe(seed uint64) recipe {
	r := sample.Random(seed, 7)
	chance := func(oneIn int) bool { return r.IntN(oneIn) == 0 }
	s := recipe{
		seed: seed, integerIDs: chance(8), spacing: r.IntN(6), bom: chance(10), lists: !chance(8), noise: chance(4),
		listsWhen: []int{0, 0, 0, 1, 2}[r.IntN(5)], declares: !chance(8), unknownTools: chance(3),
		version:  []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}[r.IntN(4)],
		pageSize: []int{0, 0, 1, 3}[r.IntN(4)],
	}
	for n := range 3 + r.IntN(12) {
		s.tools = append(s.tools, newTool(r, n))
	}
	return s
}

func newTool(r *rand.Rand, n int) tool {
	name := fmt.Sprintf([]string{"tool_%d", "tool-%d", "werkzeug_ü%d", "ns/tool.%d", "T %d"}[r.IntN(5)], n)
	t := tool{name: name, schema: newSchema(r), behaviour: behaviours[r.IntN(len(behaviours))]}
	t.enforces = []string{"", "", "result", "error"}[r.IntN(4)]
	if slices.Contains([]string{"append", "ask", "changed", "log", "progress", "late"}, t.behaviour) {
		t.enforces = "" // a healed call would have effects that show in later answers
	}
	t.annotations = []string{"", `{}`, `{"readOnlyHint":true}`, `{"idempotentHint":true}`, `{"destructiveHint":false}`,
		`{"readOnlyHint":true,"title":"é"}`, `{"readOnlyHint":"yes"}`}[r.IntN(7)]
	return t
}

// newSchema makes an input schema. The server does not check what it declares, except for keys, and
// those only if the tool enforces them.
func newSchema(r *rand.Rand) json.RawMessage {
	switch r.IntN(10) {
	case 0:
		return json.RawMessage(`{"type":"object"}`)
	case 1:
		return json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/x"}]}},"required":["a"]}`)
	case 2:
		return json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!x)"},"n":{"type":"wrong"}},"required":["a","missing"]}`)
	}
	var properties, required []string
	for i := range 1 + r.IntN(4) {
		name := fmt.Sprintf([]string{"p%d", "snake_case_%d", "camelCase%d", "ключ%d"}[r.IntN(4)], i)
		properties = append(properties, quote(name)+":"+[]string{
			`{"type":"string"}`, `{"type":"integer","minimum":1,"maximum":5}`, `{"type":"number"}`, `{"type":"boolean","default":false}`,
			`{"type":"array","items":{"type":"string"}}`, `{"type":"string","enum":["a","b"]}`, `{"type":"object","properties":{"x":{"type":"integer"}}}`,
			`{"type":["string","null"]}`, `{"type":"string","format":"date-time"}`, `{"anyOf":[{"type":"integer"},{"type":"null"}]}`,
		}[r.IntN(10)])
		if r.IntN(2) == 0 {
			required = append(required, quote(name))
		}
	}
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s]%s}`, strings.Join(properties, ","),
		strings.Join(required, ","), []string{"", `,"additionalProperties":false`, `,"additionalProperties":true`}[r.IntN(3)]))
}

// generated is a running server of a recipe. It reads and answers one message after the other.
type generated struct {
	recipe
	lines    *bufio.Reader
	out      io.Writer
	stderr   io.Writer
	appended int
	notified int
	asked    int
	late     []string // answers that are held back until the next call is answered
	queued   []string // lines that came while an answer to a question was awaited
}

func (s recipe) serve(in io.Reader, out, stderr io.Writer) {
	g := &generated{recipe: s, lines: bufio.NewReaderSize(in, 1<<16), out: out, stderr: stderr}
	for {
		line, ok := g.next()
		if !ok {
			return
		}
		g.take(line)
	}
}

func (g *generated) next() (string, bool) {
	if len(g.queued) > 0 {
		line := g.queued[0]
		g.queued = g.queued[1:]
		return line, true
	}
	line, err := g.lines.ReadString('\n')
	return line, err == nil
}

func (g *generated) take(line string) {
	var m message
	if json.Unmarshal([]byte(line), &m) != nil {
		return
	}
	switch {
	case m.ID == nil:
		// Not counted is a cancellation: gauze drops those of calls that are no longer in flight.
		if m.Method == "notifications/roots/list_changed" {
			g.notified++
		}
	case m.Method == "":
	case g.integerIDs && (m.ID[0] == '"'):
		g.write(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: id must be an integer"}}`)
	default:
		g.answer(m)
	}
}

func (g *generated) answer(m message) {
	if g.noise {
		fmt.Fprintf(g.stderr, "WARN handling %s {\"id\":1}\n", m.Method)
	}
	switch m.Method {
	case "initialize":
		capabilities := `{"logging":{},"prompts":{},"resources":{"subscribe":true}}`
		if g.declares {
			capabilities = `{"logging":{},"prompts":{},"tools":{"listChanged":true}}`
		}
		g.result(m, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"gen-%d","version":"1"},"instructions":"Ü \u00fc"}`, g.version, capabilities, g.seed))
	case "ping", "logging/setLevel":
		g.result(m, "{}")
	case "tools/list":
		g.list(m)
	case "prompts/list":
		g.result(m, `{ "prompts" : [ {"name":"p","arguments":[]} ] }`)
	case "resources/read":
		g.result(m, `{"contents":[{"uri":"mem://x","text":"`+strings.Repeat("r", 3000)+`"}]}`)
	case "tools/call":
		g.call(m)
	default:
		g.fail(m, -32601, "Method not found: "+m.Method)
	}
}

func (g *generated) list(m message) {
	if !g.lists {
		g.fail(m, -32601, "Method not found")
		return
	}
	var params struct{ Cursor string }
	json.Unmarshal(m.Params, &params)
	from := 0
	fmt.Sscan(params.Cursor, &from)
	to, next := len(g.tools), ""
	if g.pageSize > 0 && from+g.pageSize < to {
		to = from + g.pageSize
		next = fmt.Sprintf(`,"nextCursor":"%d"`, to)
	}
	var tools []string
	for _, t := range g.tools[min(from, to):to] {
		annotations := ""
		if t.annotations != "" {
			annotations = `,"annotations":` + t.annotations
		}
		tools = append(tools, fmt.Sprintf(`{"name":%s,"description":"d é","inputSchema":%s%s,"x-own":[1.0]}`, quote(t.name), t.schema, annotations))
	}
	g.result(m, `{"tools":[`+strings.Join(tools, ",")+`]`+next+`}`)
}

// inOwnWords begins a rejection of arguments that is not in the words of a library, which would check values, too.
const inOwnWords = "Invalid arguments: "

func (g *generated) call(m message) {
	var params struct {
		Name      string
		Arguments json.RawMessage
		Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	json.Unmarshal(m.Params, &params)
	late := g.late
	g.late = nil
	t, ok := g.tool(params.Name)
	why := t.refuses(params.Arguments)
	switch {
	case !ok && !g.unknownTools:
		g.fail(m, -32602, "Unknown tool: "+params.Name)
	case why != "" && t.enforces == "error":
		g.fail(m, -32602, "Invalid arguments for tool "+t.name+": "+why)
	case why != "":
		g.text(m, inOwnWords+why, true)
	default:
		g.run(m, t.behaviour, string(params.Arguments), params.Meta.ProgressToken)
	}
	for _, line := range late {
		g.write(line)
	}
}

func (g *generated) tool(name string) (tool, bool) {
	for _, t := range g.tools {
		if t.name == name {
			return t, true
		}
	}
	return tool{name: name, behaviour: "echo"}, false
}

// refuses says what is wrong with the keys of arguments, if the tool enforces them.
func (t tool) refuses(arguments json.RawMessage) string {
	if t.enforces == "" {
		return ""
	}
	var given map[string]json.RawMessage
	json.Unmarshal(arguments, &given)
	known := map[string]bool{}
	for _, p := range propertiesOf(t.schema) {
		known[p.name] = true
		if p.required && given[p.name] == nil {
			return quote(p.name) + " is a required property"
		}
	}
	if strings.Contains(string(t.schema), `"additionalProperties":false`) {
		for name := range given {
			if !known[name] {
				return "Additional properties are not allowed (" + quote(name) + " was unexpected)"
			}
		}
	}
	return ""
}

func (g *generated) run(m message, behaviour, arguments string, token json.RawMessage) {
	switch behaviour {
	case "fail":
		g.text(m, "it failed: "+arguments, true)
	case "refuse":
		g.fail(m, -32602, "I do not like it")
	case "hangup":
		g.fail(m, -32000, "Connection closed")
	case "big":
		g.text(m, strings.Repeat("0123456789abcdef", 4<<10*int(1+g.seed%4)), false)
	case "slow":
		time.Sleep(time.Duration(1+g.seed%8) * time.Millisecond)
		g.text(m, arguments, false)
	case "progress":
		for i := range 3 {
			if token != nil {
				g.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total": 3.0}}`, token, i))
			}
		}
		g.text(m, arguments, false)
	case "log":
		for i := range 5 {
			g.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"n":%d,"é":"\u00e9"}}}`, i))
		}
		g.text(m, arguments, false)
	case "changed":
		for range 1 + g.seed%5 {
			g.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			g.write(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"mem://x"}}`)
		}
		g.text(m, arguments, false)
	case "ask":
		g.text(m, g.ask(), false)
	case "count":
		g.text(m, fmt.Sprint(g.notified), false)
	case "odd":
		g.result(m, `{"content":[],"structuredContent":{"f":1.0,"e":1E5,"big":12345678901234567890,"esc":"\/\u00e9\ud83d\ude00","null":null , "deep":`+
			strings.Repeat("[", 60)+strings.Repeat("]", 60)+`}}`)
	case "meta":
		g.result(m, `{"_meta":{"example.com/own":{"a":1.0}},"content":[{"type":"text","text":"m","annotations":{"audience":["user"]}}],"isError":false}`)
	case "empty":
		g.result(m, `{}`)
	case "append":
		g.appended++
		g.text(m, fmt.Sprint(g.appended), false)
	case "read":
		g.text(m, fmt.Sprint(g.appended), false)
	case "late":
		g.late = append(g.late, g.envelope(m, `"result":{"content":[{"type":"text","text":"late"}]}`))
	default:
		g.text(m, arguments, false)
	}
}

// ask puts a question to the client and returns the bytes of its answer. What else comes meanwhile
// is handled afterwards.
func (g *generated) ask() string {
	questions := []string{
		`"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`,
		`"method":"sampling/createMessage","params":{"messages":[],"maxTokens":10}`,
		`"method":"roots/list"`, `"method":"ping"`,
	}
	g.asked++
	id := fmt.Sprint(g.asked)
	if g.seed%2 == 0 {
		id = fmt.Sprintf(`"q-%d"`, g.asked)
	}
	g.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, questions[g.asked%len(questions)]))
	for {
		line, err := g.lines.ReadString('\n')
		if err != nil {
			return "gone"
		}
		var m message
		if json.Unmarshal([]byte(line), &m) == nil && m.Method == "" && string(m.ID) == id {
			return string(m.Result)
		}
		g.queued = append(g.queued, line)
	}
}

func (g *generated) text(m message, text string, isError bool) {
	result := `{"content":[{"type":"text","text":` + quote(text) + `}]`
	if isError {
		result += `,"isError":true`
	}
	g.result(m, result+"}")
}

func (g *generated) result(m message, result string) {
	g.write(g.envelope(m, `"result":`+result))
}

func (g *generated) fail(m message, code int, text string) {
	g.write(g.envelope(m, fmt.Sprintf(`"error":{"code":%d,"message":%s,"data":{"own":[1.0]}}`, code, quote(text))))
}

// envelope puts an answer into one of the forms that JSON allows.
func (g *generated) envelope(m message, payload string) string {
	switch g.spacing {
	case 1:
		return fmt.Sprintf(`{ "jsonrpc" : "2.0" , "id" : %s , %s }`, m.ID, payload)
	case 2:
		return fmt.Sprintf(`{%s,"id":%s,"jsonrpc":"2.0"}`+"\r", payload, m.ID)
	case 3:
		return fmt.Sprintf("\n  {\"id\":%s,%s,\"jsonrpc\":\"2.0\",\"x-own\":[1.0]}  ", m.ID, payload)
	case 4:
		return fmt.Sprintf("{\t\"id\":%s,\"jsonrpc\":\"2.0\",%s}", m.ID, payload)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, payload)
}

func (g *generated) write(line string) {
	if g.bom {
		line = "\ufeff" + line
	}
	io.WriteString(g.out, line+"\n")
}
