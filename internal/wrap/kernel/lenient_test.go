package kernel_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
)

// beginListed starts a session with a plain server whose tools are listed.
func beginListed(t *testing.T, kind string, o Options) *story {
	t.Helper()
	o.Spec = plainServer(kind, t.TempDir())
	return (&story{t: t, ended: make(chan error, 1)}).run(o).initialize()
}

// oddArguments do not fit lenientSchema, or only after a change that a server that does not validate
// could notice.
var oddArguments = []string{
	`{"city":"Oslo","verbose":true}`,
	`{"city":"Oslo","x":1,"y":{"z":[1,2]}}`,
	`{"city":"Oslo","limit":null}`,
	`{"city":"Oslo","cursor":""}`,
	`{"city":"Oslo","days":0}`,
	`{"city":"Oslo","days":15}`,
	`{"city":"Oslo","days":-1}`,
	`{"city":"Oslo","days":2.5}`,
	`{"city":"Oslo","days":"five"}`,
	`{"city":"Oslo","days":"five days"}`,
	`{"city":"Oslo","days":"3 days"}`,
	`{"city":"Oslo","days":"007"}`,
	`{"city":"Oslo","days":null}`,
	`{"city":"Oslo","days":[5]}`,
	`{"city":"Oslo","days":{"value":5}}`,
	`{"city":"Oslo","days":""}`,
	`{"city":"Oslo","days":"99"}`,
	`{"city":"Oslo","days":true}`,
	`{"city":"Oslo","units":"kelvin"}`,
	`{"city":"Oslo","units":"Celcius"}`,
	`{"city":"Oslo","units":"degree days"}`,
	`{"city":"Oslo","units":"degree/days"}`,
	`{"city":"Oslo","units":""}`,
	`{"city":"Oslo","units":null}`,
	`{"city":"Oslo","units":"none"}`,
	`{"city":"Oslo","units":["celsius"]}`,
	`{"city":"Oslo","tags":"a"}`,
	`{"city":"Oslo","tags":"a, b"}`,
	`{"city":"Oslo","tags":"['a']"}`,
	`{"city":"Oslo","tags":["a","b","c"]}`,
	`{"city":"Oslo","tags":null}`,
	`{"city":"Oslo","tags":[1,null]}`,
	`{"city":"Oslo","when":7}`,
	`{"city":"Oslo","place":{"lat":1,"lon":2}}`,
	`{"city":"Oslo","place":"home"}`,
	`{"city":"Oslo","place":{"lat":null}}`,
	`{"city":"O"}`,
	`{"city":"a very long name that is not a city"}`,
	`{"city":"São Paulo"}`,
	`{"city":null}`,
	`{"city":["Oslo"]}`,
	`{"town":"Oslo"}`,
	`{"city":"Oslo","days":"5","verbose":true}`,
	`{}`,
	`[]`,
	`"Oslo"`,
	`7`,
}

// direct returns the responses of a plain server to these lines, without gauze.
func direct(serve func(in *bytes.Reader, out *bytes.Buffer), lines []string) []string {
	var out bytes.Buffer
	serve(bytes.NewReader([]byte(strings.Join(lines, "\n")+"\n")), &out)
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// If a server accepts what its schema does not allow, its responses are the same as without gauze.
func TestACallTheServerAcceptsIsNotRefused(t *testing.T) {
	t.Parallel()
	s := beginListed(t, "lenient", quick())
	var params []string
	for _, arguments := range oddArguments {
		params = append(params, `{"name":"read","arguments":`+arguments+`}`, `{ "name" : "write", "arguments": `+arguments+` ,"x":1}`)
	}
	for _, name := range []string{"hidden", "Read", "read_", "server.read", "reed", ""} {
		params = append(params, `{"name":"`+name+`","arguments":{"city":"Oslo"}}`)
	}
	params = append(params, `{"name":"read"}`, `{"name":"hidden"}`)
	var ids, lines []string
	for _, p := range params {
		ids = append(ids, s.request("tools/call", p))
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":%s}`, ids[len(ids)-1], p))
	}
	want := direct(func(in *bytes.Reader, out *bytes.Buffer) { serveLenient(in, out, "") }, lines)
	for i, id := range ids {
		if got := s.answer(id).raw; got != want[i] {
			t.Errorf("%s\nwrapped %s\ndirect  %s", params[i], got, want[i])
		}
	}
	s.want(event.Repaired, 0)
	s.want(event.Failed, 0)
}

// A string in the wrong format is sent as it is, and the model reads a note after the result.
func TestAWrongFormatIsNoted(t *testing.T) {
	t.Parallel()
	s := beginListed(t, "lenient", quick())
	const arguments = `{"city":"Oslo","when":"tomorrow"}`
	got := s.answer(s.request("tools/call", `{"name":"write","arguments":`+arguments+`}`)).raw
	for _, part := range []string{strings.ReplaceAll(arguments, `"`, `\"`), "when is not in the format date"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in %s", part, got)
		}
	}
	s.want(event.Repaired, 0)
	s.want(event.Failed, 0)
}

// Several arguments that do not match are sent as they are, and the model reads a note after the result.
func TestSeveralViolationsAreNoted(t *testing.T) {
	t.Parallel()
	s := beginListed(t, "lenient", quick())
	const arguments = `{"days":"many","when":"tomorrow"}`
	r := s.result(s.request("tools/call", `{"name":"write","arguments":`+arguments+`}`))
	if len(r.Content) != 2 || !strings.Contains(r.Content[0].Text, arguments) || len(r.Meta.Repair.Notes) != 3 {
		t.Fatalf("%+v", r)
	}
	for _, part := range []string{"city is missing", "days is a string, not an integer", "when is not in the format date"} {
		if !strings.Contains(r.Content[1].Text, part) || strings.Contains(r.Content[1].Text, "many") {
			t.Errorf("no %q in %s", part, r.Content[1].Text)
		}
	}
	s.want(event.Repaired, 0)
}

// Repairs that mean the same to a server that does not validate are made before any rejection.
func TestHarmlessRepairsNeedNoProof(t *testing.T) {
	t.Parallel()
	s := beginListed(t, "lenient", quick())
	for sent, want := range map[string]string{
		`{"city":"Oslo","days":"5"}`:                `{"city":"Oslo","days":5}`,
		`{"city":"Oslo","units":" Celsius"}`:        `{"city":"Oslo","units":"celsius"}`,
		`{"arguments":{"city":"Oslo","days":3}}`:    `{"city":"Oslo","days":3}`,
		`{"City":"Oslo"}`:                           `{"city":"Oslo"}`,
		`{"city":"Oslo","tags":"[\"a\",\"b\"]"}`:    `{"city":"Oslo","tags":["a","b"]}`,
		`{"city":"Oslo","place":"{\"lat\": 59.9}"}`: `{"city":"Oslo","place":{"lat":59.9}}`,
	} {
		for _, tool := range []string{"read", "write"} {
			r := s.result(s.start(tool, sent))
			if got := `{"name":"` + tool + `","arguments":` + want + `}`; r.Content[0].Text != got || len(r.Meta.Repair.Changes) == 0 {
				t.Errorf("%s became %s, want %s", sent, r.Content[0].Text, got)
			}
		}
	}
}

// splitError returns what was added to an error of the server.
func splitError(t *testing.T, m message, original string) (ours string) {
	t.Helper()
	var direct struct {
		Error struct {
			Code    int
			Message string
			Data    json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte("{"+original+"}"), &direct); err != nil {
		t.Fatal(err)
	}
	if m.Error == nil || m.Error.Code != direct.Error.Code {
		t.Fatalf("the error is not the server's: %s", m.raw)
	}
	ours, ok := strings.CutPrefix(m.Error.Message, direct.Error.Message)
	if !ok {
		t.Errorf("the server's words are gone: %s", m.raw)
	}
	if direct.Error.Data != nil && string(m.Error.Data) != string(direct.Error.Data) {
		t.Errorf("the server's data is gone: %s", m.raw)
	}
	return ours
}

func TestARejectedCallIsExplainedAfterTheServersWords(t *testing.T) {
	t.Parallel()
	for _, library := range []string{"zod", "data", "bare"} {
		t.Run(library, func(t *testing.T) {
			s := beginListed(t, "checking", quick())
			m := s.answer(s.start("write", `{"city":"`+library+`","days":"2 + 3"}`))
			ours := splitError(t, m, checkingText(library, "write"))
			if !strings.HasPrefix(ours, "\n\n[gauze] The server rejected the call to `write`: ") || !strings.Contains(ours, "expected integer 1..14") ||
				strings.Contains(ours, "was not run") {
				t.Errorf("%s", ours)
			}
			if library == "zod" && !strings.Contains(string(m.Error.Data), `"io.github.gauze-mcp/arguments":{"type":"invalid_arguments"`) {
				t.Errorf("no report: %s", m.raw)
			}
			again := splitError(t, s.answer(s.start("write", `{"city":"`+library+`","days":"2 + 3"}`)), checkingText(library, "write"))
			if len(again) >= len(ours) {
				t.Errorf("the second explanation is not shorter: %s", again)
			}
		})
	}
	for _, library := range []string{"pydantic", "go", "decoder", "sdk"} {
		t.Run(library, func(t *testing.T) {
			s := beginListed(t, "checking", quick())
			m := s.answer(s.start("write", `{"city":"`+library+`","days":"2 + 3"}`))
			var r, direct result
			json.Unmarshal(m.Result, &r)
			json.Unmarshal([]byte(strings.TrimPrefix(checkingText(library, "write"), `"result":`)), &direct)
			if !r.IsError || len(r.Content) != 2 || r.Content[0] != direct.Content[0] {
				t.Fatalf("the server's words are not first: %s", m.raw)
			}
			if ours := r.Content[1].Text; !strings.HasPrefix(ours, "[gauze] The server rejected the call to `write`: ") || !strings.Contains(ours, "expected integer 1..14") {
				t.Errorf("%s", ours)
			}
			if !strings.Contains(string(r.Meta.Report), `"days"`) {
				t.Errorf("no report: %s", m.raw)
			}
		})
	}
}

// Nothing is added to a failure that is not about arguments.
func TestAFailureOfAnotherKindIsNotExplained(t *testing.T) {
	t.Parallel()
	s := beginListed(t, "checking", quick())
	for _, city := range []string{"internal", "failing"} {
		id := s.start("read", `{"city":"`+city+`","days":"2 + 3"}`)
		if got, want := s.answer(id).raw, `{"jsonrpc":"2.0","id":`+id+`,`+checkingWords[city]+`}`; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// After the server has rejected a call for its values, its schema is enforced for that tool: repairs
// with two readings are made for safe tools.
func TestARejectionProvesThatTheSchemaCounts(t *testing.T) {
	t.Parallel()
	s := beginListed(t, "checking", quick())
	const single, null = `{"city":"zod","tags":"a"}`, `{"city":"zod","tags":null}`
	for _, tool := range []string{"read", "write"} {
		if m := s.answer(s.start(tool, single)); m.Error == nil {
			t.Fatalf("repaired without proof: %s", m.raw)
		}
	}
	if r := s.result(s.start("read", single)); len(r.Content) != 2 || !strings.Contains(r.Content[0].Text, `"tags":["a"]`) {
		t.Errorf("not repaired, or not reported: %+v", r)
	}
	if m := s.answer(s.start("write", single)); m.Error == nil {
		t.Errorf("a call that may do harm was repaired by a guess: %s", m.raw)
	}
	if r := s.result(s.start("write", null)); !strings.Contains(r.Content[0].Text, `"arguments":{"city":"zod"}`) {
		t.Errorf("null of an optional: %+v", r)
	}
}

// A rejection by a different tool, or one that is not about values, proves nothing.
func TestARejectionProvesNoMoreThanItSays(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]repair.Aspect{
		`MCP error -32602: Invalid arguments for tool x: [{"code":"invalid_type","expected":"string","received":"undefined","path":["city"]}]`: repair.Keys | repair.Values,
		`1 validation error for call[x]` + "\n" + `days` + "\n" + `  Input should be a valid integer`:                                          repair.Values,
		`1 validation error for call[x]` + "\n" + `city` + "\n" + `  Field required`:                                                           repair.Keys,
		`Missing required arguments: city`: repair.Keys,
		`days: nope`:                       0,
	} {
		if got := repair.Enforced(said); got != want {
			t.Errorf("%q: %v, want %v", said, got, want)
		}
	}
	s := beginListed(t, "checking", quick())
	s.answer(s.start("write", `{"city":"zod","tags":"a"}`))
	if m := s.answer(s.start("read", `{"city":"zod","tags":"a"}`)); m.Error == nil {
		t.Errorf("repaired because of a different tool: %s", m.raw)
	}
	s.answer(s.start("read", `{"city":"bare","days":"2 + 3"}`))
}

// A call of a tool that is not listed is sent. After the server has rejected it, the only tool that can
// be meant is called instead.
func TestAToolNameIsCorrectedAfterTheServerRejectedIt(t *testing.T) {
	t.Parallel()
	s := beginListed(t, "checking", quick())
	ours := splitError(t, s.answer(s.start("mcp.read", `{"city":"Oslo"}`)), `"error":{"code":-32602,"message":"Unknown tool: mcp.read"}`)
	if !strings.Contains(ours, "[gauze] The server rejected the call: it does not list a tool named `mcp.read`") || !strings.Contains(ours, "`read`") {
		t.Errorf("%s", ours)
	}
	r := s.result(s.start("mcp.read", `{"city":"Oslo"}`))
	if !strings.Contains(r.Content[0].Text, `"name":"read"`) || r.Meta.Repair.Called != "mcp.read" {
		t.Errorf("%+v", r)
	}
	for range 2 { // a similar name is not enough
		splitError(t, s.answer(s.start("reed", `{"city":"Oslo"}`)), `"error":{"code":-32602,"message":"Unknown tool: reed"}`)
	}
}

func TestStrictRefusesBeforeTheServerSeesIt(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Tools = map[string]Policy{"write": {Repair: "strict"}}
	s := beginListed(t, "lenient", o)
	m := s.wantFault(s.start("write", `{"city":"Oslo","days":15}`), fault.ArgumentsInvalid)
	if _, delivery := s.faultOf(m); delivery != "unsent" || !strings.Contains(string(m.Result), "was not run") {
		t.Errorf("%s", m.raw)
	}
	if got := s.call("write", `{"city":"Oslo","tags":null}`); !strings.Contains(got, `{"city":"Oslo"}`) {
		t.Errorf("strict needs no proof: %s", got)
	}
	if got := s.call("read", `{"city":"Oslo","days":15}`); !strings.Contains(got, "15") {
		t.Errorf("%s", got)
	}
}
