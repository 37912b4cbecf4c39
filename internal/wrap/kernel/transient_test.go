package kernel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/mend/correct"
	"github.com/gauze-mcp/gauze/llm"
)

const flakyTools = `{"tools":[{"name":"read","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},` +
	`{"name":"set","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}},` +
	`{"name":"write","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}}]}`

// flakyAnswers are what serveFlaky answers, by the argument "as": an argument that contains the same
// words would be no evidence.
var flakyAnswers = map[string]string{
	"python-timeout":    flakyFailure(`TimeoutError: the upstream service did not reply in time`),
	"fastmcp-timeout":   flakyFailure(`Error executing tool read: asyncio.exceptions.TimeoutError`),
	"http-client":       flakyFailure(`httpx.ReadTimeout: The read operation timed out`),
	"deadline":          flakyFailure(`rpc error: code = DeadlineExceeded desc = context deadline exceeded`),
	"connection-error":  flakyFailure(`ConnectionError: lost the upstream`),
	"sdk-connection":    flakyFailure(`openai.APIConnectionError: Connection error.`),
	"reset":             flakyFailure(`Error: read ECONNRESET`),
	"gateway":           flakyFailure(`Request failed with status code 503`),
	"database":          flakyFailure(`ConnectionError: the database is down`),
	"closed":            `"error":{"code":-32000,"message":"Connection closed"}`,
	"closed-by-mcp":     `"error":{"code":-32000,"message":"MCP error -32000: Connection closed"}`,
	"request-timeout":   `"error":{"code":-32001,"message":"Request timed out"}`,
	"llm":               flakyFailure(`LLMError: the completion failed`),
	"overloaded":        flakyFailure(`anthropic.APIStatusError: overloaded_error`),
	"another-32000":     `"error":{"code":-32000,"message":"Server error: the index is missing"}`,
	"another-32001":     `"error":{"code":-32001,"message":"Session not found"}`,
	"no-host":           flakyFailure(`ConnectionError: [Errno -2] Name or service not known`),
	"denied":            flakyFailure(`ConnectionError: 403 Forbidden`),
	"limited":           flakyFailure(`429 Too Many Requests: the last one timed out`),
	"wrong":             flakyFailure(`1 validation error for readArguments\ntimeout\n  Input should be a valid integer`),
	"plain":             flakyFailure(`the disk is full`),
	"output":            flakyFailure(`TimeoutError in test_a\n` + strings.Repeat("x", 4000)),
	"repeated-upstream": flakyFailure(`TimeoutError\n[gauze] ` + correct.Repeated(correct.Timeout, "TimeoutError", true)),
}

func flakyFailure(text string) string {
	return `"result":{"content":[{"type":"text","text":"` + text + `"}],"isError":true}`
}

// serveFlaky answers the first calls, as many as the argument "times" says, with a failure. Every
// call is in the file ledger. A call with "ask" first asks the user, and one with "progress" reports
// its progress as it begins. After a call with "then":"deploy", the server lists its tools without hints,
// and after "mute" it does not list them.
func serveFlaky(in io.Reader, out io.Writer, dir string) {
	seen := map[string]int{}
	var asking []byte
	deployed := ""
	eachLine(in, func(line []byte, m plainMessage) {
		say := func(line string) { fmt.Fprintln(out, `{"jsonrpc":"2.0",`+line+`}`) }
		answer := func(members string) { say(`"id":` + string(m.ID) + `,` + members) }
		switch {
		case m.Method == "initialize":
			answer(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"flaky","version":"1"}}`)
		case m.Method == "ping":
			answer(`"result":{}`)
		case m.Method == "tools/list" && deployed == "deploy":
			answer(`"result":` + strings.ReplaceAll(flakyTools, "Hint", ""))
		case m.Method == "tools/list" && deployed == "mute":
			answer(`"error":{"code":-32603,"message":"not now"}`)
		case m.Method == "tools/list":
			answer(`"result":` + flakyTools)
		case m.Method == "tools/call":
			var p struct {
				Name      string
				Arguments struct {
					As, Then string
					Times    int
					Ask      bool
					Progress int
				}
			}
			json.Unmarshal(m.Params, &p)
			if p.Name == "die" {
				os.Exit(3)
			}
			file, _ := os.OpenFile(filepath.Join(dir, "ledger"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			fmt.Fprintln(file, p.Name, p.Arguments.As)
			file.Close()
			if p.Arguments.Progress > 0 {
				say(fmt.Sprintf(`"method":"notifications/progress","params":{"progressToken":"p","progress":%d}`, p.Arguments.Progress))
			}
			if p.Arguments.Ask {
				asking = slices.Clone(m.ID)
				say(`"id":77,"method":"elicitation/create","params":{"message":"sure?","requestedSchema":{"type":"object","properties":{}}}`)
				return
			}
			seen[p.Arguments.As]++
			deployed = p.Arguments.Then
			switch {
			case seen[p.Arguments.As] <= p.Arguments.Times:
				answer(flakyAnswers[p.Arguments.As])
			case p.Arguments.Then != "":
				answer(flakyAnswers[p.Arguments.Then])
			default:
				answer(`"result":{"content":[{"type":"text","text":"done"}]}`)
			}
		case m.Method == "" && string(m.ID) == "77":
			say(`"id":` + string(asking) + `,` + flakyAnswers["python-timeout"])
		}
	})
}

func init() { plainServers["flaky"] = serveFlaky }

// openFlaky begins a session with the flaky server. Calls are sent again without a pause, unless o
// has one.
func openFlaky(t *testing.T, o Options) *inn {
	t.Helper()
	dir := t.TempDir()
	o.Spec = plainServer("flaky", dir)
	if o.Waits.Pause == nil {
		o.Waits.Pause = func(context.Context) {}
	}
	return &inn{(&story{t: t, ended: make(chan error, 1)}).run(o).initialize(), dir, nil}
}

// once is the arguments of a call that fails once in this way.
func once(as string) string { return `{"as":"` + as + `","times":1}` }

func TestATransientErrorOfAReadIsRepeatedOnce(t *testing.T) {
	t.Parallel()
	i := openFlaky(t, quick())
	ran := ""
	for as, kind := range map[string]string{
		"python-timeout": "a timeout", "fastmcp-timeout": "a timeout", "http-client": "a timeout", "deadline": "a timeout", "request-timeout": "a timeout",
		"connection-error": "a connection error", "sdk-connection": "a connection error", "reset": "a connection error", "gateway": "a connection error",
		"closed": "a connection error", "closed-by-mcp": "a connection error",
		"llm": "a model error", "overloaded": "a model error",
	} {
		got := i.answer(i.start("read", once(as)))
		if text := i.text(got); text != "done" || !strings.Contains(got.raw, "[gauze] The first attempt failed with "+kind) {
			t.Errorf("%s: %s", as, got.raw)
		}
		ran += "read " + as + ", read " + as + ", "
	}
	if got := i.ran(); got != strings.TrimSuffix(ran, ", ") {
		t.Errorf("ran %q\nwant %q", got, ran)
	}
	if e := i.await(event.Replayed, 1); !strings.Contains(e.Detail, "the tool reported ") {
		t.Errorf("%+v", e)
	}
	if e := i.await(event.Saved, 1); e.Detail != kernel.SavedReplayed || e.Without <= 0 {
		t.Errorf("%+v", e)
	}
	if n := i.session.Counters(); n.Replayed != 13 {
		t.Errorf("%+v", n)
	}
}

func TestTheSecondFailureIsTheAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ as, then, second, note string }{
		{"python-timeout", "python-timeout", "did not reply in time", "The call failed twice. "},
		{"closed", "closed", "Connection closed", "The call failed twice. "},
		{"reset", "plain", "the disk is full", `The first attempt failed with a connection error: \"Error: read ECONNRESET\"`},
		{"llm", "closed", "Connection closed", `The first attempt failed with a model error: \"LLMError: the completion failed\"`},
	} {
		t.Run(c.as+" "+c.then, func(t *testing.T) {
			i := openFlaky(t, quick())
			got := i.answer(i.start("read", `{"as":"`+c.as+`","times":1,"then":"`+c.then+`"}`)).raw
			if !strings.Contains(got, c.second) || !strings.Contains(got, "[gauze] The call failed twice. ") || !strings.Contains(got, c.note) {
				t.Error(got)
			}
			if i.ran() != "read "+c.as+", read "+c.as {
				t.Errorf("ran %q", i.ran())
			}
			i.want(event.Saved, 0)
		})
	}
}

func TestOnlyReadsAreRepeated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool, as, params string
		policy           string
		repair           string
	}{
		"idempotent":             {tool: "set", as: "closed"},
		"writes":                 {tool: "write", as: "closed"},
		"never":                  {tool: "read", as: "closed", policy: "read:replay=never"},
		"user says idempotent":   {tool: "read", as: "closed", policy: "read:replay=idempotent"},
		"off":                    {tool: "read", as: "closed", policy: "read:correct.enabled=false"},
		"off for all":            {tool: "read", as: "closed", policy: "*:correct.enabled=false"},
		"no retries":             {tool: "read", as: "closed", policy: "*:correct.max_retries=0"},
		"other kinds":            {tool: "read", as: "closed", policy: "*:correct.correctable_errors=timeout"},
		"no kinds":               {tool: "read", as: "python-timeout", policy: "*:correct.correctable_errors=wrong-type"},
		"repair off":             {tool: "read", as: "closed", repair: "off"},
		"a task":                 {tool: "read", as: "closed", params: `,"task":{}`},
		"a dialogue":             {tool: "read", as: "closed", params: `,"requestState":"x"`},
		"a code alone":           {tool: "read", as: "another-32000"},
		"another code alone":     {tool: "read", as: "another-32001"},
		"no such host":           {tool: "read", as: "no-host"},
		"forbidden":              {tool: "read", as: "denied"},
		"rate limit":             {tool: "read", as: "limited"},
		"invalid arguments":      {tool: "read", as: "wrong"},
		"any other":              {tool: "read", as: "plain"},
		"output":                 {tool: "read", as: "output"},
		"words of the caller":    {tool: "read", as: "python-timeout", params: `,"arguments":{"as":"python-timeout","times":1,"query":"TimeoutError"}`},
		"repeated by the server": {tool: "read", as: "repeated-upstream"},
	} {
		t.Run(name, func(t *testing.T) {
			o := quick()
			o.Repair = c.repair
			if c.policy != "" {
				tool, policy, err := proxy.ParsePolicy(c.policy)
				if err != nil {
					t.Fatal(err)
				}
				o.Tools = map[string]Policy{tool: policy}
			}
			i := openFlaky(t, o)
			if !strings.Contains(c.params, `"arguments"`) {
				c.params += `,"arguments":` + once(c.as)
			}
			id := i.request("tools/call", `{"name":"`+c.tool+`"`+c.params+`}`)
			untouched := c.as != "wrong" && c.as != "repeated-upstream" // those are explained, and disowned
			if got := i.answer(id).raw; untouched && got != `{"jsonrpc":"2.0","id":`+id+`,`+flakyAnswers[c.as]+`}` {
				t.Error(got)
			}
			if i.ran() != c.tool+" "+c.as {
				t.Errorf("ran %q", i.ran())
			}
			i.want(event.Replayed, 0)
		})
	}
}

func TestAReadByPolicyIsRepeated(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Tools = map[string]Policy{"write": {Replay: "safe"}}
	i := openFlaky(t, o)
	if i.text(i.answer(i.start("write", once("closed")))); i.ran() != "write closed, write closed" {
		t.Errorf("ran %q", i.ran())
	}
}

func TestNothingIsSaidInSilentMode(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Repair = "silent"
	i := openFlaky(t, o)
	if got := i.answer(i.start("read", once("closed"))).raw; strings.Contains(got, "[gauze]") || !strings.Contains(got, "done") {
		t.Error(got)
	}
}

// What a call failed with may be the end of the version that listed its tool as one that reads.
func TestACallIsRepeatedOnlyIfItsToolIsListedAgain(t *testing.T) {
	t.Parallel()
	for _, then := range []string{"deploy", "mute"} {
		i := openFlaky(t, quick())
		id := i.start("read", `{"as":"closed","times":1,"then":"`+then+`"}`)
		if got := i.answer(id).raw; got != `{"jsonrpc":"2.0","id":`+id+`,`+flakyAnswers["closed"]+`}` || i.ran() != "read closed" {
			t.Errorf("%s: %s\nran %q", then, got, i.ran())
		}
	}
}

// paused is a session whose calls are sent again once resume is called.
func paused(t *testing.T, o Options) (i *inn, resume func()) {
	t.Helper()
	wait := make(chan struct{})
	o.Waits.Pause = func(ctx context.Context) {
		select {
		case <-wait:
		case <-ctx.Done():
		}
	}
	return openFlaky(t, o), func() { close(wait) }
}

// pausing starts a call that waits to be sent again.
func (i *inn) pausing(as string) (id string) {
	i.t.Helper()
	id = i.start("read", once(as))
	i.until("the call waits to be sent again", func() bool { return i.session.Inside().Held > 0 })
	return id
}

func TestACancelledCallIsNotRepeated(t *testing.T) {
	t.Parallel()
	i, resume := paused(t, quick())
	id := i.pausing("closed")
	i.withdraw(id)
	i.await(event.Cancelled, 1)
	resume()
	if i.call("read", `{"as":"other"}`); i.answers(id) != 0 || i.ran() != "read closed, read other" {
		t.Errorf("%d answers, ran %q", i.answers(id), i.ran())
	}
}

func TestTheFirstAnswerIsPassedOnIfTheServerDiesMeanwhile(t *testing.T) {
	t.Parallel()
	i, resume := paused(t, quick())
	id := i.pausing("closed")
	i.answer(i.start("die", ""))
	i.call("read", `{"as":"other"}`)
	resume()
	if got := i.answer(id).raw; got != `{"jsonrpc":"2.0","id":`+id+`,`+flakyAnswers["closed"]+`}` {
		t.Error(got)
	}
	if i.answers(id) != 1 || i.ran() != "read closed, read other" {
		t.Errorf("%d answers, ran %q", i.answers(id), i.ran())
	}
}

// An answer that is passed on because the call is not sent again has its cause, like every other.
func TestTheFirstAnswerHasItsCause(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Calls = &callQuack{}
	i, resume := paused(t, o)
	id := i.pausing("database")
	i.answer(i.start("die", ""))
	resume()
	if got := i.answer(id).raw; !strings.Contains(got, "The database is not running.") || i.answers(id) != 1 {
		t.Errorf("%d answers: %s", i.answers(id), got)
	}
}

func TestTheFirstAnswerIsPassedOnIfTheClientLeaves(t *testing.T) {
	t.Parallel()
	i, _ := paused(t, quick())
	id := i.pausing("closed")
	i.cancel()
	if got := i.answer(id).raw; !strings.Contains(got, `"Connection closed"`) {
		t.Error(got)
	}
	if i.end(); i.answers(id) != 1 || i.ran() != "read closed" {
		t.Errorf("%d answers, ran %q", i.answers(id), i.ran())
	}
}

// A client that closes its side still gets the second answer.
func TestACallIsRepeatedAfterTheEndOfInput(t *testing.T) {
	t.Parallel()
	i, resume := paused(t, quick())
	id := i.pausing("closed")
	i.in.Close()
	i.until("the session knows", func() bool {
		return i.session.Inside().Left
	})
	resume()
	if i.text(i.answer(id)); i.ran() != "read closed, read closed" {
		t.Errorf("ran %q", i.ran())
	}
}

func TestOtherCallsGoOnWhileACallWaitsToBeRepeated(t *testing.T) {
	t.Parallel()
	i, resume := paused(t, quick())
	id := i.pausing("closed")
	for range 20 {
		i.call("read", `{"as":"other"}`)
	}
	if i.answers(id) != 0 {
		t.Error("it was answered before it was sent again")
	}
	resume()
	i.text(i.answer(id))
}

// A user who was asked during the first attempt would be asked again.
func TestACallThatAskedTheUserIsNotRepeated(t *testing.T) {
	t.Parallel()
	i := openFlaky(t, quick())
	id := i.start("read", `{"as":"python-timeout","ask":true}`)
	i.reply(i.notice("elicitation/create", 1), `"result":{"action":"accept","content":{}}`)
	if got := i.answer(id).raw; strings.Contains(got, "[gauze]") || i.ran() != "read python-timeout" {
		t.Errorf("%s\nran %q", got, i.ran())
	}
}

func TestTheProgressOfARepeatedCallIncreases(t *testing.T) {
	t.Parallel()
	i := openFlaky(t, quick())
	id := i.request("tools/call", `{"name":"read","arguments":{"as":"closed","times":1,"progress":5},"_meta":{"progressToken":"p"}}`)
	if i.text(i.answer(id)); i.notices("notifications/progress") != 1 || i.ran() != "read closed, read closed" {
		t.Errorf("%d notifications, ran %q", i.notices("notifications/progress"), i.ran())
	}
}

func TestACallIsRepeatedWithoutAskingAModel(t *testing.T) {
	t.Parallel()
	o := quick()
	model := &scripted{json: `{"corrected":false}`}
	o.Models = func(string, Sampler) llm.Model { return model }
	i := openFlaky(t, o)
	if i.text(i.answer(i.start("read", once("llm")))); model.questions() != 0 {
		t.Errorf("%d questions", model.questions())
	}
}
