package faultyserver

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// toolRuns has one run per tool: it is called once, as request 7, in a legacy session.
var toolRuns = []struct {
	name, args string
	want       []string // lines after the handshake; a part of each
	signal     string
	code       int
	ledger     string // operations, joined with spaces
}{
	{name: "echo", args: `{"text":"<é>"}`, want: []string{`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"\u003cé\u003e"}]}}`}},
	{name: "forecast", args: `{"city":"Oslo","days":5}`, want: []string{"Oslo, 5 days, celsius: rain"}},
	{name: "forecast", args: `{"city":"Oslo","days":"5"}`, want: []string{"cannot unmarshal string"}},
	{name: "pid", want: []string{`"generation":1`}},
	{name: "state", want: []string{`"seen":[{"method":"initialize"`}},
	{name: "env", want: []string{`"cwd":` + quotedCwd() + `,`}},
	{name: "append", args: `{"key":"k"}`, want: []string{"appended k"}, ledger: "append"},
	{name: "set", args: `{"key":"k","value":"v"}`, want: []string{"k is v"}, ledger: "set"},
	{name: "get", args: `{"key":"k"}`, want: []string{`"isError":true`}},
	{name: "open_handle", want: []string{`"text":"h`}, ledger: "open"},
	{name: "use_handle", args: `{"key":"h1-1"}`, want: []string{"no such handle"}},
	{name: "die", signal: "KILL"},
	{name: "die", args: `{"when":"after-effect","code":12}`, code: 12, ledger: "die"},
	{name: "die", args: `{"when":"after-answer","signal":"TERM"}`, signal: "TERM", ledger: "die", want: []string{`"id":7,"result"`}},
	{name: "die", args: `{"when":"before-newline"}`, signal: "KILL", ledger: "die", want: []string{`"id":7,"result"`}},
	{name: "die_read", args: `{"when":"mid-answer"}`, signal: "KILL", ledger: "die", want: []string{`{"jsonrpc":"2.0","id":7,"result":{"conte`}},
	{name: "die_set", args: `{"when":"at noon"}`, want: []string{"must be before-effect, after-effect, after-answer, before-newline or mid-answer"}},
	{name: "die", args: `{"signal":"NOPE"}`, want: []string{"must be one of ABRT"}},
	{name: "spawn_child", args: `{"holds":["stderr"],"ms":10,"setsid":true}`, want: []string{`"text":"`}, ledger: "spawn"},
	{name: "sleep", args: `{"ms":1}`, want: []string{"slept"}},
	{name: "late", args: `{"ms":1}`, want: []string{`"late"`}},
	{name: "busy", args: `{"ms":1}`, want: []string{"no longer busy"}},
	{name: "progress", args: `{"n":2}`, want: []string{`{"progressToken":"tok","progress":1,"total":2,"message":"step 1"}`, `"progress":2`, "2 steps"}},
	{name: "progress", args: `{"n":2,"die":true}`, want: []string{`"progress":1`, `"progress":2`}, signal: "KILL"},
	{name: "stale_progress", want: []string{`"no-such-token"`, `"id":7`, `"progressToken":"tok"`}},
	{name: "ask", args: `{"die":true,"method":"roots/list"}`, want: []string{`{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}`}, signal: "KILL"},
	{name: "ask_rounds", want: []string{"requires a client of the modern era"}},
	{name: "notify", args: `{"message":"{\"a\": 1}"}`, want: []string{`{"a": 1}`, `"sent"`}},
	{name: "touch", args: `{"uri":"mem://9"}`, want: []string{"no such resource"}},
	{name: "raw", args: `{"result":"{\"z\":1, \"a\":12345678901234567890, \"a\":1e400}"}`, want: []string{`{"jsonrpc":"2.0","id":7,"result":{"z":1, "a":12345678901234567890, "a":1e400}}`}},
	{name: "unknown_fields", want: []string{`"big":12345678901234567890,"huge":1e400`}},
	{name: "invalid_utf8", want: []string{"\"caf\xff\""}},
	{name: "big", args: `{"n":5}`, want: []string{`"text":"xxxxx"`}},
	{name: "deep", args: `{"n":4}`, want: []string{`"deep":[[[[]]]]`}},
	{name: "wide", args: `{"n":2}`, want: []string{`{"last":0,"k0":0,"k1":1}`}},
	{name: "drip", args: `{"text":"drop","n":9}`, want: []string{`"text":"drop"`}},
	{name: "duplicate", want: []string{"answer 1", "answer 2"}},
	{name: "wrong_id", want: []string{`"id":999999`}},
	{name: "wrong_id", args: `{"kind":"string","then":true}`, want: []string{`"id":"7"`, `"id":7`}},
	{name: "wrong_id", args: `{"kind":"float"}`, want: []string{`"id":7.0,`}},
	{name: "wrong_id", args: `{"kind":"number"}`, want: []string{`"id":7,`}},
	{name: "wrong_id", args: `{"kind":"object"}`, want: []string{`"id":{"id":7},`}},
	{name: "wrong_id", args: `{"kind":"null"}`, want: []string{`"id":null`}},
	{name: "wrong_id", args: `{"kind":"missing"}`, want: []string{`{"jsonrpc":"2.0","result"`}},
	{name: "wrong_id", args: `{"kind":"?"}`, want: []string{"must be one of float, missing, null,"}},
	{name: "both", want: []string{`,"error":{"code":-32603`}},
	{name: "neither", want: []string{`{"jsonrpc":"2.0","id":7}`}},
	{name: "batch", want: []string{`[{"jsonrpc":"2.0","method"`}},
	{name: "stray", args: `{"kind":"jsonlog"}`, want: []string{`{"level":"info"`, "strayed"}},
	{name: "stderr", args: `{"message":"psst"}`, want: []string{"spoken"}},
	{name: "wedge"},
	{name: "change_tools", want: []string{"notifications/tools/list_changed", `"changed"`}},
	{name: "no_such_tool", want: []string{`"id":7,"error":{"code":-32602,"message":"unknown tool`}},
	{name: "sleep", args: `{"ms":"soon"}`, want: []string{`"isError":true`}},
}

func quotedCwd() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	quoted, _ := json.Marshal(dir)
	return string(quoted)
}

func TestToolsDoAsTheirNameSays(t *testing.T) {
	for _, tt := range toolRuns {
		t.Run(tt.name+" "+tt.args, func(t *testing.T) {
			t.Parallel()
			ledger := filepath.Join(t.TempDir(), "ledger")
			args := tt.args
			if args == "" {
				args = "{}"
			}
			call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"progressToken":"tok"},"name":"` + tt.name + `","arguments":` + args + `}}`
			got := run(t, "-serial -ledger="+ledger, hello, helloDone, call)
			got.wantEnd(t, tt.code, tt.signal)
			lines := got.lines()[1:]
			if len(lines) != len(tt.want) {
				t.Fatalf("got %d lines, want %d: %q", len(lines), len(tt.want), lines)
			}
			for i, want := range tt.want {
				contains(t, "line "+strconv.Itoa(i), lines[i], want)
			}
			entries, torn, err := ReadLedger(ledger)
			if err != nil || torn != 0 {
				t.Errorf("ledger: torn %d, %v", torn, err)
			}
			var ops []string
			for _, e := range entries {
				ops = append(ops, e.Op)
			}
			if strings.Join(ops, " ") != tt.ledger {
				t.Errorf("ledger has %v, want %q", ops, tt.ledger)
			}
		})
	}
}

func TestEveryToolHasAStory(t *testing.T) {
	told := map[string]bool{ // tested separately below
		"echo_raw_params": true, "hang": true, "hang_unsafe": true, "stop": true, "ask_read": true, "endless": true,
	}
	for _, r := range toolRuns {
		told[r.name] = true
	}
	for _, x := range tools {
		if !told[x.name] {
			t.Errorf("%s has no story", x.name)
		}
		if !json.Valid([]byte(x.describe())) {
			t.Errorf("%s describes itself as %s", x.name, x.describe())
		}
	}
	for kind, schema := range costlySchemas {
		if !json.Valid([]byte(schema())) {
			t.Errorf("schema %s is not JSON", kind)
		}
	}
	for method, params := range questions {
		if !json.Valid([]byte(params)) {
			t.Errorf("question %s is not JSON", method)
		}
	}
}

func TestParamsComeBackByteForByte(t *testing.T) {
	p := greeted(t, "")
	params := `{ "name" : "echo_raw_params",  "arguments":{"n":1e400,"b":12345678901234567890,"u":"\u00e9\/"} , "x":[ ] }`
	p.write(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`)
	var answer struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(p.read()), &answer); err != nil || answer.Result.Content[0].Text != params {
		t.Errorf("got %+v, %v", answer, err)
	}
}

func TestCallsRunConcurrently(t *testing.T) {
	p := greeted(t, "")
	p.write(toolCall("1", "hang", ""))
	p.write(toolCall("2", "hang_unsafe", `{"key":"k"}`))
	p.write(toolCall("3", "echo", `{"text":"still here"}`))
	p.want(`"id":3`, "still here")
}

func TestSerialServerKeepsOthersWaiting(t *testing.T) {
	p := greeted(t, "-serial")
	p.write(toolCall("1", "sleep", `{"ms":30}`))
	p.write(toolCall("2", "echo", `{"text":"after"}`))
	p.want(`"id":1`)
	p.want(`"id":2`)
}

func TestCancelledSleepIsNotAnsweredAndLateIs(t *testing.T) {
	p := greeted(t, "")
	p.write(toolCall("1", "sleep", `{"ms":60000}`))
	p.write(toolCall("2", "late", `{"ms":20}`))
	p.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	p.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	p.want(`"id":2`, "late")
	contains(t, "state", p.call("3", "state", ""), `"cancelled":["1","2"]`)
}

func TestAskUsesIDsTheClientUsesToo(t *testing.T) {
	p := greeted(t, "")
	p.write(toolCall("1", "ask_read", ""))
	p.want(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message"`)
	p.write(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`)
	p.want(`"id":1,"result":{"content":[{"type":"text","text":"{\"result\":{\"action\":\"accept\"}}"`)
	p.write(toolCall("2", "ask", `{"method":"roots/list","id":"own-7"}`))
	p.want(`"id":"own-7","method":"roots/list"`)
	p.write(`{"jsonrpc":"2.0","id":"own-7","error":{"code":-1,"message":"no"}}`)
	p.want(`"id":2`, `{\"error\":{\"code\":-1,\"message\":\"no\"}}`)
}

func TestDieWithTimesSurvivesTheReplay(t *testing.T) {
	dir := t.TempDir()
	flags := "-serial -state=" + filepath.Join(dir, "state") + " -ledger=" + filepath.Join(dir, "ledger")
	call := toolCall("1", "die_read", `{"key":"k","times":2}`)
	for range 2 {
		run(t, flags, hello, call).wantEnd(t, 0, "KILL")
	}
	contains(t, "the third time", run(t, flags, hello, call).stdout, "survived k")
	entries, _, err := ReadLedger(filepath.Join(dir, "ledger"))
	if err != nil || len(entries) != 1 || entries[0].Generation != 3 || entries[0].Request != "1" {
		t.Errorf("ledger: %v, %v", entries, err)
	}
}

func TestNextGenerationKnowsWhatWasSet(t *testing.T) {
	flags := "-serial -ledger=" + filepath.Join(t.TempDir(), "ledger")
	run(t, flags, hello, toolCall("1", "set", `{"key":"a","value":"1"}`), toolCall("2", "set", `{"key":"a","value":"2"}`))
	got := run(t, flags, hello, toolCall("1", "get", `{"key":"a"}`), toolCall("2", "set", `{"key":"a","value":"3"}`), toolCall("3", "get", `{"key":"a"}`))
	contains(t, "get", got.stdout, `"id":1,"result":{"content":[{"type":"text","text":"2"`, `"id":3,"result":{"content":[{"type":"text","text":"3"`)
}

func TestStateShowsARestoredSession(t *testing.T) {
	p := greeted(t, "")
	p.write(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`)
	p.want(`"id":1,"result":{}`)
	p.write(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"mem://1"}}`)
	p.want(`"id":2,"result":{}`)
	line := p.call("3", "state", "")
	contains(t, "state", line, `"initialized":true`, `"logLevel":"debug"`, `"subscriptions":["mem://1"]`, `"version":"2025-06-18"`)
	var methods []string
	var answer struct {
		Result struct {
			StructuredContent struct{ Seen []seen }
		}
	}
	if err := json.Unmarshal([]byte(line), &answer); err != nil {
		t.Fatal(err)
	}
	for _, s := range answer.Result.StructuredContent.Seen {
		methods = append(methods, s.Method)
	}
	want := "initialize notifications/initialized logging/setLevel resources/subscribe tools/call"
	if got := strings.Join(methods, " "); got != want {
		t.Errorf("seen %s, want %s", got, want)
	}
	p.write(toolCall("4", "touch", `{"uri":"mem://1"}`))
	p.want(`"method":"notifications/resources/updated","params":{"uri":"mem://1"}`)
	p.want(`"id":4`)
	p.write(`{"jsonrpc":"2.0","id":5,"method":"resources/unsubscribe","params":{"uri":"mem://1"}}`)
	p.want(`"id":5`)
	contains(t, "touch", p.call("6", "touch", `{"uri":"mem://1"}`), `"id":6`)
}

func TestHandleOfThisProcessWorks(t *testing.T) {
	p := greeted(t, "")
	handle := between(p.call("1", "open_handle", ""), `"text":"`, `"`)
	contains(t, "use", p.call("2", "use_handle", `{"key":"`+handle+`"}`), "used "+handle)
}

func TestDigitsOfAnID(t *testing.T) {
	for id, want := range map[string]string{`7`: "7", `"7"`: "7", `"g12-34"`: "34", `"x"`: "0", `"a007"`: "7", `""`: "0"} {
		if got := digitsOf(id); got != want {
			t.Errorf("digitsOf(%s) is %s, want %s", id, got, want)
		}
	}
}

func TestIDInUseTwiceIsAnsweredTwice(t *testing.T) {
	p := greeted(t, "")
	p.write(toolCall("1", "sleep", `{"ms":300}`))
	p.write(toolCall("1", "echo", `{"text":"quick"}`))
	p.want(`"id":1`, "quick")
	p.want(`"id":1`, "slept")
}

func TestEndlessLineHasNoEnd(t *testing.T) {
	got := run(t, "-serial=false", hello, toolCall("1", "endless", `{"n":10000}`))
	if strings.Count(got.stdout, "\n") != 1 || strings.Count(got.stdout, "x") < 10000 {
		t.Errorf("%d line ends, %d bytes", strings.Count(got.stdout, "\n"), len(got.stdout))
	}
}

func TestCursorOfADeadProcessIsRefused(t *testing.T) {
	list := `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`
	got := run(t, "-page-size=2", hello, list)
	cursor := between(got.stdout, `"nextCursor":"`, `"`)
	if cursor == "" {
		t.Fatalf("no cursor in %s", got.stdout)
	}
	next := `{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":"` + cursor + `"}}`
	contains(t, "page 2", run(t, "-page-size=2", hello, next).stdout, `"code":-32602`, "unknown cursor")
}
