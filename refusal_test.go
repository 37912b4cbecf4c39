package gauze_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/repair"
)

var updateGoldens = flag.Bool("update", false, "rewrite the golden messages")

// refusalTools are tools whose schemas use most constraints.
var refusalTools = map[string]struct{ about, schema string }{
	"create-user": {"Create a user account.", `{"type":"object","required":["username","email","age","role"],"properties":{
		"username":{"type":"string","description":"Login name, 3 to 20 letters, digits or underscores","minLength":3,"maxLength":20,"pattern":"^[a-zA-Z0-9_]+$"},
		"email":{"type":"string","description":"Where to reach the user","format":"email"},
		"age":{"type":"integer","description":"Age in years","minimum":18,"maximum":120},
		"role":{"type":"string","description":"What the user may do","enum":["admin","moderator","user","guest"]},
		"tags":{"type":"array","description":"1 to 5 labels","items":{"type":"string","minLength":1,"maxLength":50},"minItems":1,"maxItems":5,"uniqueItems":true}}}`},
	"set-temperature": {"Set the target temperature.", `{"type":"object","required":["temperature","unit"],"properties":{
		"temperature":{"type":"number","description":"Target, above absolute zero","exclusiveMinimum":-273.15,"maximum":1000},
		"unit":{"type":"string","description":"Unit of the temperature","enum":["celsius","fahrenheit","kelvin"]}}}`},
	"schedule-event": {"Add an event to the calendar.", `{"type":"object","required":["eventName","date","startTime"],"properties":{
		"eventName":{"type":"string","description":"Title of the event","minLength":1,"maxLength":100},
		"date":{"type":"string","description":"Day of the event","format":"date"},
		"startTime":{"type":"string","description":"When it begins","format":"time"},
		"priority":{"type":"integer","description":"From 1, the highest","enum":[1,2,3,4,5]}}}`},
}

// refusedCalls are calls that no repair can make fit. Each has a golden file with what the model and
// what a program reads.
var refusedCalls = []struct{ name, tool, arguments string }{
	{"several-errors", "create-user", `{"username":"ab","email":"not-an-email","age":15,"role":"superadmin","tags":[]}`},
	{"missing", "create-user", `{"username":"a","email":"invalid","age":5}`},
	{"wrong-type", "set-temperature", `{"temperature":"hot","unit":"celsius"}`},
	{"out-of-range", "set-temperature", `{"temperature":-400,"unit":"celsius"}`},
	{"enum", "set-temperature", `{"temperature":21,"unit":"rankine"}`},
	{"wrong-format", "create-user", `{"username":"ada","email":"ada at example.org","age":36,"role":"user"}`},
	{"dates", "schedule-event", `{"eventName":"Review","date":"tomorrow","startTime":"noon","priority":9}`},
}

func refusalServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "refusals", Version: "1"}, nil)
	for name, tool := range refusalTools {
		server.AddTool(&mcp.Tool{Name: name, Description: tool.about, InputSchema: json.RawMessage(tool.schema)},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return text("received " + string(req.Params.Arguments)), nil
			})
	}
	return server
}

// A refused call gets the same answer from the middleware and from a strict wrap, and the call it
// offers is accepted.
func TestRefusals(t *testing.T) {
	server := refusalServer()
	server.AddReceivingMiddleware(gauze.Middleware(gauze.MiddlewareOptions{}))
	near, far := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), far, nil); err != nil {
		t.Fatal(err)
	}
	middleware := connectClient(t, near)
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return refusalServer() }, nil))
	t.Cleanup(web.Close)
	strict := connectClient(t, newTransport(t, gauze.Options{URL: web.URL, Repair: gauze.RepairStrict}))
	for _, c := range refusedCalls {
		result, texts := callTool(t, middleware, c.tool, c.arguments)
		if !result.IsError || len(texts) != 1 {
			t.Fatalf("%s was not refused: %q", c.name, texts)
		}
		if _, other := callTool(t, strict, c.tool, c.arguments); strings.Join(other, "\n") != texts[0] {
			t.Errorf("%s: the strict wrap answers\n%s", c.name, strings.Join(other, "\n"))
		}
		report := reportOf(t, result)
		compareGolden(t, c.name, texts[0]+"\n\n"+report+"\n")
		var details struct{ ValidExample json.RawMessage }
		if err := json.Unmarshal([]byte(report), &details); err != nil {
			t.Fatal(err)
		}
		if again, texts := callTool(t, middleware, c.tool, string(details.ValidExample)); again.IsError {
			t.Errorf("%s: the offered call %s is refused: %q", c.name, details.ValidExample, texts)
		}
	}
}

// The wrap sends a string in the wrong format, because many servers do not check it, and tells the
// model.
func TestWrongFormatsInTheWrap(t *testing.T) {
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return refusalServer() }, nil))
	t.Cleanup(web.Close)
	for mode, told := range map[gauze.RepairMode]bool{gauze.RepairDefault: true, gauze.RepairReport: true, gauze.RepairSilent: false} {
		client := connectClient(t, newTransport(t, gauze.Options{URL: web.URL, Repair: mode}))
		result, texts := callTool(t, client, "create-user", `{"username":"ada","email":"ada at example.org","age":36,"role":"user"}`)
		if result.IsError || !strings.HasPrefix(texts[0], "received ") {
			t.Fatalf("%q: not sent: %q", mode, texts)
		}
		if added := strings.Join(texts[1:], "\n"); strings.Contains(added, "email is not in the format email") != told {
			t.Errorf("%q: the model reads %q", mode, added)
		}
	}
}

// The library refuses a wrong format as the middleware does.
func TestWrongFormatsInTheLibrary(t *testing.T) {
	for _, c := range []struct{ format, value string }{{"email", "ada"}, {"uri", "example dot org"}, {"date-time", "at noon"}} {
		schema := `{"type":"object","properties":{"x":{"type":"string","format":"` + c.format + `"}}}`
		got := repair.Arguments(json.RawMessage(schema), json.RawMessage(`{"x":"`+c.value+`"}`), repair.Options{})
		if got.Outcome != repair.Refused || !strings.Contains(got.Message, "in the format "+c.format) {
			t.Errorf("%s: %+v", c.format, got)
		}
	}
}

// reportOf returns the part of a refusal that is for programs, indented.
func reportOf(t *testing.T, result *mcp.CallToolResult) string {
	t.Helper()
	raw, err := json.Marshal(result.Meta)
	if err != nil {
		t.Fatal(err)
	}
	var meta map[string]json.RawMessage
	if err := json.Unmarshal(raw, &meta); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, meta["io.github.gauze-mcp/arguments"], "", "  "); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return unescape.Replace(out.String())
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "refusals", name+".golden")
	if *updateGoldens {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has changed; go test -run TestRefusals -update accepts:\n%s", name, got)
	}
}
