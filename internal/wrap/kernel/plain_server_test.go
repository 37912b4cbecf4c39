package kernel_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// A second server of the tests, for what the faulty one does not have: tasks,
// and a flood of generated messages. It reads with encoding/json, so that it
// shares no code with what is tested.

const plainServerEnv = "GAUZE_PLAIN_SERVER"

// plainServer is how it is started: kind is one of plainServers, dir is where
// it keeps files.
func plainServer(kind, dir string) launch.Spec {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	return launch.Spec{Command: path, Env: append(os.Environ(), plainServerEnv+"="+kind, "PLAIN_DIR="+dir,
		"GORACE=atexit_sleep_ms=0")} // see faultyserver
}

// runPlainServerIfAsked turns this process into the server and never returns.
func runPlainServerIfAsked() {
	kind := os.Getenv(plainServerEnv)
	if kind == "" {
		return
	}
	plainServers[kind](os.Stdin, os.Stdout, os.Getenv("PLAIN_DIR"))
	os.Exit(0)
}

var plainServers = map[string]func(in io.Reader, out io.Writer, dir string){
	"tasks":               func(in io.Reader, out io.Writer, dir string) { serveTasks(in, out, dir, false) },
	"durable-tasks":       func(in io.Reader, out io.Writer, dir string) { serveTasks(in, out, dir, true) },
	"10000-tools":         serveTools(10_000),
	"picky":               servePicky,
	"lenient":             serveLenient,
	"checking":            serveChecking,
	"integers":            serveIntegers(`%d`),
	"integers-as-strings": serveIntegers(`"%d"`),
	"integers-as-floats":  serveIntegers(`%d.0`),

	"booking":        serveBooking,
	"deaf":           serveDeaf,
	"finishing":      serveFinishing,
	"keyless":        serveKeyless,
	"dying":          serveDying,
	"parrot":         serveParrot,
	"users":          serveUsers,
	"too-many-tools": serveTools(150_000),
	"flood-legacy":   func(in io.Reader, out io.Writer, dir string) { serveFlood(in, out, dir, false) },
	"flood-modern":   func(in io.Reader, out io.Writer, dir string) { serveFlood(in, out, dir, true) },
}

// serveDeaf answers initialize, closes its stdin and stays.
func serveDeaf(in io.Reader, out io.Writer, _ string) {
	bufio.NewReader(in).ReadString('\n')
	fmt.Fprintln(out, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`)
	os.Stdin.Close()
	time.Sleep(time.Minute)
}

// serveFinishing answers the calls that it has read after the end of its input, once the file "go" is there.
func serveFinishing(in io.Reader, out io.Writer, dir string) {
	var calls []json.RawMessage
	eachLine(in, func(_ []byte, m plainMessage) {
		switch m.Method {
		case "initialize":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`+"\n", m.ID)
		case "tools/call":
			calls = append(calls, m.ID)
		}
	})
	os.WriteFile(filepath.Join(dir, "eof"), nil, 0o600)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go")); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for _, id := range calls {
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"finished"}]}}`+"\n", id)
	}
}

// serveDying answers the calls that it has read after the end of its input, except when it is started
// first, and exits with an error.
func serveDying(in io.Reader, out io.Writer, dir string) {
	var calls []json.RawMessage
	eachLine(in, func(_ []byte, m plainMessage) {
		switch m.Method {
		case "initialize":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`+"\n", m.ID)
		case "tools/list":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"get","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}}`+"\n", m.ID)
		case "tools/call":
			calls = append(calls, m.ID)
		}
	})
	if first := os.Mkdir(filepath.Join(dir, "started"), 0o700) == nil; !first {
		for _, id := range calls {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"finished"}]}}`+"\n", id)
		}
	}
	os.Exit(3)
}

// serveKeyless answers nothing and exits with an error.
func serveKeyless(in io.Reader, _ io.Writer, _ string) {
	io.Copy(io.Discard, in)
	fmt.Fprintln(os.Stderr, "API_KEY is required")
	os.Exit(1)
}

// plainMessage keeps the bytes of its parts.
type plainMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// eachLine calls f with every line, as it came.
func eachLine(in io.Reader, f func(line []byte, m plainMessage)) {
	r := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var m plainMessage
		if json.Unmarshal(line, &m) != nil {
			fmt.Fprintf(os.Stderr, "no message: %q\n", line)
			continue
		}
		f(line, m)
	}
}

// serveTools has n tools, of which two have a name of their own. Only a process that replaces another answers calls: it
// is told by the id of its first request.
func serveTools(n int) func(in io.Reader, out io.Writer, dir string) {
	return func(in io.Reader, out io.Writer, _ string) {
		const kind = `","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}},"annotations":{"readOnlyHint":true}}`
		tools := strings.Repeat(`{"name":"tool`+kind+`,`, n-1) + `{"name":"the last` + kind
		first := false
		eachLine(in, func(_ []byte, m plainMessage) {
			answer := func(result string) { fmt.Fprintf(out, `{"result":%s,"jsonrpc":"2.0","id":%s}`+"\n", result, m.ID) }
			switch m.Method {
			case "initialize":
				first = string(m.ID) == "1"
				answer(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"tools","version":"1"}}`)
			case "tools/list":
				answer(`{"tools":[` + tools + `]}`)
			case "tools/call":
				if !first {
					answer(`{"content":[{"type":"text","text":"done"}]}`)
				}
			case "ping":
				answer(`{}`)
			}
		})
	}
}

// servePicky has tools with a schema and answers a call with the params it
// got. It complains in the words of its city: error, result, or not at all.
func servePicky(in io.Reader, out io.Writer, _ string) {
	schema := func(days string) string {
		return `{"type":"object","properties":{"city":{"type":"string","x-mcp-header":"City"},"days":{"type":"` + days + `","minimum":1,"maximum":14},` +
			`"units":{"type":"string","enum":["celsius","fahrenheit"]},"tags":{"type":"array","items":{"type":"string"}}},"required":["city"]`
	}
	days, twice := "integer", false
	eachLine(in, func(_ []byte, m plainMessage) {
		say := func(text string) { fmt.Fprintf(out, `{"jsonrpc":"2.0",%s}`+"\n", text) }
		answer := func(text string) { say(`"id":` + string(m.ID) + `,` + text) }
		switch m.Method {
		case "initialize":
			answer(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"picky","version":"1"}}`)
		case "ping":
			answer(`"result":{}`)
		case "tools/list":
			if twice {
				twice = false
				say(`"method":"notifications/tools/list_changed"`)
			}
			answer(`"result":{"tools":[{"name":"weather.get_forecast","inputSchema":` + schema(days) + `,"additionalProperties":false},"annotations":{"readOnlyHint":true}},` +
				`{"name":"book","inputSchema":` + schema(days) + `,"additionalProperties":false}},` +
				`{"name":"open","inputSchema":` + schema(days) + `},"annotations":{"readOnlyHint":true}},` +
				`{"name":"change","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			params := string(m.Params)
			var called struct{ Name string }
			json.Unmarshal(m.Params, &called)
			switch {
			case strings.Contains(params, `"name":"change"`):
				days, twice = "string", strings.Contains(params, `"twice"`)
				say(`"method":"notifications/tools/list_changed"`)
				answer(`"result":{"content":[]}`)
			case strings.Contains(params, `"complain-error"`):
				answer(`"error":{"code":-32602,"message":"MCP error -32602: Invalid arguments for tool ` + called.Name + `: [{\"code\":\"invalid_type\",\"expected\":\"number\",\"received\":\"string\",\"path\":[\"days\"]}]"}`)
			case strings.Contains(params, `"complain-result"`):
				answer(`"result":{"content":[{"type":"text","text":"1 validation error for call[book]\ndays\n  Input should be a valid integer"}],"isError":true}`)
			case strings.Contains(params, `"fail"`):
				answer(`"result":{"content":[{"type":"text","text":"no such city"}],"isError":true}`)
			case strings.Contains(params, `"with-meta"`):
				answer(`"result":{"content":[],"_meta":{"a":1}}`)
			case strings.Contains(params, `"empty"`):
				answer(`"result":{}`)
			default:
				text, _ := json.Marshal(params)
				answer(`"result":{"content":[{"type":"text","text":` + string(text) + `}]}`)
			}
		}
	})
}

// lenientTools declare far more than serveLenient checks.
const lenientSchema = `{"type":"object","properties":{"city":{"type":"string","minLength":2,"maxLength":20,"pattern":"^[A-Za-z]+$"},` +
	`"days":{"type":"integer","minimum":1,"maximum":14},"units":{"type":"string","enum":["celsius","fahrenheit","degree-days"]},` +
	`"tags":{"type":"array","items":{"type":"string"},"maxItems":2},"when":{"type":"string","format":"date"},` +
	`"place":{"type":"object","properties":{"lat":{"type":"number"}},"additionalProperties":false}},` +
	`"required":["city"],"additionalProperties":false}`

const lenientTools = `{"tools":[{"name":"read","inputSchema":` + lenientSchema + `,"annotations":{"readOnlyHint":true}},` +
	`{"name":"write","inputSchema":` + lenientSchema + `}]}`

// serveLenient declares schemas and checks nothing: it answers every call, also of tools it does not
// list, with the params it got.
func serveLenient(in io.Reader, out io.Writer, _ string) {
	eachLine(in, func(_ []byte, m plainMessage) {
		answer := func(members string) { fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, members) }
		switch m.Method {
		case "initialize":
			answer(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"lenient","version":"1"}}`)
		case "tools/list":
			answer(`"result":` + lenientTools)
		case "ping":
			answer(`"result":{}`)
		case "tools/call":
			text, _ := json.Marshal(string(m.Params))
			answer(`"result":{"content":[{"type":"text","text":` + string(text) + `}], "_meta":{"a":1}}`)
		}
	})
}

// serveChecking declares the same and checks it, in the words of the library that city names. It
// answers calls that it accepts with the params it got.
func serveChecking(in io.Reader, out io.Writer, _ string) {
	eachLine(in, func(_ []byte, m plainMessage) {
		answer := func(members string) { fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, members) }
		switch m.Method {
		case "initialize":
			answer(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"checking","version":"1"}}`)
		case "tools/list":
			answer(`"result":` + lenientTools)
		case "ping":
			answer(`"result":{}`)
		case "tools/call":
			answer(checked(m.Params))
		}
	})
}

func checked(params json.RawMessage) string {
	var p struct {
		Name      string
		Arguments struct {
			City string
			Days json.RawMessage
			Tags json.RawMessage
		}
	}
	json.Unmarshal(params, &p)
	if p.Name != "read" && p.Name != "write" {
		return `"error":{"code":-32602,"message":"Unknown tool: ` + p.Name + `"}`
	}
	var days int
	var tags []string
	wrongDays, wrongTags := json.Unmarshal(p.Arguments.Days, &days), json.Unmarshal(p.Arguments.Tags, &tags)
	if (p.Arguments.Days == nil || wrongDays == nil) && (p.Arguments.Tags == nil || wrongTags == nil && string(p.Arguments.Tags) != "null") {
		text, _ := json.Marshal(string(params))
		return `"result":{"content":[{"type":"text","text":` + string(text) + `}]}`
	}
	return checkingText(p.Arguments.City, p.Name)
}

// checkingText returns checkingWords about a tool.
func checkingText(library, tool string) string {
	return strings.ReplaceAll(checkingWords[library], "TOOL", tool)
}

// checkingWords are how libraries reject days that are no integer.
var checkingWords = map[string]string{
	"zod":      `"error":{"code":-32602,"message":"MCP error -32602: Invalid arguments for tool TOOL: [{\"code\":\"invalid_type\",\"expected\":\"number\",\"received\":\"string\",\"path\":[\"days\"]}]"}`,
	"data":     `"error":{"data":{"mine":1},"message":"Invalid params: days must be an integer","code":-32602}`,
	"bare":     `"error":{"code":-32602,"message":"days: nope"}`,
	"internal": `"error":{"code":-32603,"message":"the disk is full"}`,
	"pydantic": `"result":{"content":[{"type":"text","text":"1 validation error for TOOLArguments\ndays\n  Input should be a valid integer, unable to parse string as an integer [type=int_parsing, input_value='five', input_type=str]"}],"isError":true}`,
	"go":       `"result":{"content":[{"type":"text","text":"validating \"arguments\": validating root: validating /properties/days: type: five has type \"string\", want \"integer\""}],"isError":true}`,
	"decoder":  `"result":{"content":[{"type":"text","text":"json: cannot unmarshal string into Go struct field .arguments.days of type int"}],"isError":true}`,
	"sdk":      `"result":{"content":[{"type":"text","text":"MCP error -32602: Input validation error: Invalid arguments for tool TOOL: Invalid input: expected number, received string at days"}],"isError":true}`,
	"failing":  `"result":{"content":[{"type":"text","text":"no such city"}],"isError":true}`,
}

// serveParrot answers a call with the members its arguments name, as they are written there; before
// that it says the line they name.
func serveParrot(in io.Reader, out io.Writer, _ string) {
	eachLine(in, func(_ []byte, m plainMessage) {
		answer := func(members string) { fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, members) }
		switch m.Method {
		case "initialize":
			answer(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"parrot","version":"1"}}`)
		case "tools/list":
			answer(`"result":{"tools":[{"name":"say","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			var p struct {
				Arguments struct{ Before, Answer string }
			}
			json.Unmarshal(m.Params, &p)
			if p.Arguments.Before != "" {
				fmt.Fprintln(out, p.Arguments.Before)
			}
			answer(p.Arguments.Answer)
		case "tasks/get", "tasks/result":
			var p struct{ Answer string }
			json.Unmarshal(m.Params, &p)
			answer(p.Answer)
		}
	})
}

// serveIntegers reads ids as a server does that declares them as integers: a
// message with another id is no message to it. echo writes ids back as told.
func serveIntegers(echo string) func(in io.Reader, out io.Writer, dir string) {
	return func(in io.Reader, out io.Writer, _ string) {
		eachLine(in, func(_ []byte, m plainMessage) {
			var n int64
			if m.ID == nil || json.Unmarshal(m.ID, &n) != nil {
				return
			}
			result := `{}`
			switch m.Method {
			case "initialize":
				result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"integers","version":"1"}}`
			case "tools/list":
				result = `{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}`
			case "tools/call":
				result = `{"content":[{"type":"text","text":"went"}]}`
			}
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":`+echo+`,"result":%s}`+"\n", n, result)
		})
	}
}

// serveTasks has one tool, work, that creates tasks. Every creation is noted
// in the file created; a file called die kills it once, at tasks/get.
func serveTasks(in io.Reader, out io.Writer, dir string, durable bool) {
	memory := map[string]bool{}
	file := func(name string) string { return filepath.Join(dir, name) }
	eachLine(in, func(_ []byte, m plainMessage) {
		answer := func(text string) { fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, text) }
		var p struct {
			Task   json.RawMessage `json:"task"`
			TaskID string          `json:"taskId"`
		}
		json.Unmarshal(m.Params, &p)
		switch m.Method {
		case "initialize":
			answer(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"tasks":{}},"serverInfo":{"name":"tasks","version":"1"}}`)
		case "tools/list":
			answer(`"result":{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			task := fmt.Sprintf("task-%d", os.Getpid())
			created, _ := os.OpenFile(file("created"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			fmt.Fprintln(created, task)
			created.Close()
			memory[task] = true
			answer(`"result":{"task":{"taskId":"` + task + `","status":"working"}}`)
		case "tasks/get":
			if os.Remove(file("die")) == nil {
				self, _ := os.FindProcess(os.Getpid())
				self.Kill()
				<-make(chan int)
			}
			if created, _ := os.ReadFile(file("created")); durable && strings.Contains(string(created), p.TaskID+"\n") {
				memory[p.TaskID] = true
			}
			if memory[p.TaskID] {
				answer(`"result":{"taskId":"` + p.TaskID + `","status":"working"}`)
			} else {
				answer(`"error":{"code":-32602,"message":"no such task"}`)
			}
		case "ping":
			answer(`"result":{}`)
		}
	})
}
