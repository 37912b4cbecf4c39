package gauze_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/internal/agent/agenttools"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// The schemas of the tools in gateCalls.
const (
	closedSchema = `{"type":"object","additionalProperties":false,"required":["city"],"properties":{
		"city":{"type":"string","minLength":2},
		"days":{"type":"integer","minimum":1,"maximum":14},
		"units":{"enum":["celsius","fahrenheit"]},
		"tags":{"type":"array","items":{"type":"string"},"maxItems":2},
		"when":{"type":"string","format":"date"},
		"place":{"type":"object","required":["lat"],"properties":{"lat":{"type":"number"},"lon":{"type":"number"}}},
		"verbose":{"type":"boolean"},
		"cursor":{"type":"string","minLength":1},
		"zip":{"type":"string"},
		"apiKey":{"type":"string"},
		"login":{"type":"object","properties":{"user":{"type":"string"},"password":{"type":"string"},"retries":{"type":"integer"}}}}}`
	openSchema  = `{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"},"max_results":{"type":"integer"}}}`
	emptySchema = `{"type":"object"}`
)

// gateTools are book, which changes something, forecast, which only reads, and two more.
var gateTools = map[string]struct {
	schema string
	safe   bool
}{
	"book": {closedSchema, false}, "forecast": {closedSchema, true}, "open": {openSchema, false}, "ping": {emptySchema, true},
}

// secretValue must not appear in anything Gauze adds to a response.
const secretValue = "sk-live-0123456789abcdefXYZ"

const refused = "" // the tool must not run

// gateCalls are calls and the arguments that their tool receives.
var gateCalls = []struct{ tool, arguments, want string }{
	{"book", `{"city":"Oslo"}`, `{"city":"Oslo"}`},
	{"book", `{ "days" : 5,"city":"Os\u006co" }`, `{"city":"Oslo","days":5}`},
	{"book", `{"city":"Oslo","days":"5"}`, `{"city":"Oslo","days":5}`},
	{"book", `{"city":"Oslo","days":"005"}`, refused},
	{"book", `{"city":"Oslo","days":5.0}`, `{"city":"Oslo","days":5.0}`},
	{"book", `{"city":"Oslo","days":"5.0"}`, `{"city":"Oslo","days":5}`},
	{"book", `{"city":"Oslo","days":2.5}`, refused},
	{"book", `{"city":"Oslo","days":"2 + 3"}`, refused},
	{"book", `{"city":"Oslo","days":0}`, refused},
	{"book", `{"city":"Oslo","days":99}`, refused},
	{"book", `{"city":"Oslo","days":"99"}`, refused},
	{"book", `{"city":"Oslo","days":null}`, `{"city":"Oslo"}`},
	{"book", `{"city":"Oslo","days":""}`, refused},
	{"forecast", `{"city":"Oslo","days":""}`, `{"city":"Oslo"}`},
	{"forecast", `{"city":"Oslo","days":"none"}`, `{"city":"Oslo"}`},
	{"book", `{"city":"Oslo","days":[5]}`, refused},
	{"forecast", `{"city":"Oslo","days":[5]}`, `{"city":"Oslo","days":5}`},
	{"forecast", `{"city":"Oslo","days":{"type":"integer","value":5}}`, `{"city":"Oslo","days":5}`},
	{"book", `{"city":"Oslo","days":true}`, refused},
	{"book", `{"City":"Oslo"}`, `{"city":"Oslo"}`},
	{"book", `{"CITY":"Oslo","Days":"3"}`, `{"city":"Oslo","days":3}`},
	{"book", `{"town":"Oslo"}`, refused},
	{"book", `{"citty":"Oslo"}`, refused},
	{"book", `{}`, refused},
	{"book", ``, refused},
	{"book", `null`, refused},
	{"ping", ``, `{}`},
	{"ping", `null`, `{}`},
	{"ping", `{}`, `{}`},
	{"ping", `{"x":1}`, `{"x":1}`},
	{"book", `[]`, refused},
	{"book", `7`, refused},
	{"forecast", `[{"city":"Oslo"}]`, `{"city":"Oslo"}`},
	{"book", `[{"city":"Oslo"}]`, refused},
	{"book", `"{\"city\":\"Oslo\"}"`, `{"city":"Oslo"}`},
	{"book", `"{'city': 'Oslo', 'verbose': True,}"`, `{"city":"Oslo","verbose":true}`},
	{"book", `"Oslo"`, refused},
	{"book", `{"arguments":{"city":"Oslo"}}`, `{"city":"Oslo"}`},
	{"book", `{"book":{"city":"Oslo"}}`, `{"city":"Oslo"}`},
	{"forecast", `{"payload":{"city":"Oslo"}}`, `{"city":"Oslo"}`},
	{"book", `{"payload":{"city":"Oslo"}}`, refused},
	{"book", `{"city":"Oslo","units":"Celsius"}`, `{"city":"Oslo","units":"celsius"}`},
	{"book", `{"city":"Oslo","units":" CELSIUS "}`, `{"city":"Oslo","units":"celsius"}`},
	{"book", `{"city":"Oslo","units":"kelvin"}`, refused},
	{"book", `{"city":"Oslo","units":null}`, `{"city":"Oslo"}`},
	{"forecast", `{"city":"Oslo","units":["celsius"]}`, `{"city":"Oslo","units":"celsius"}`},
	{"book", `{"city":"Oslo","tags":"a"}`, refused},
	{"forecast", `{"city":"Oslo","tags":"a"}`, `{"city":"Oslo","tags":["a"]}`},
	{"book", `{"city":"Oslo","tags":"[\"a\",\"b\"]"}`, `{"city":"Oslo","tags":["a","b"]}`},
	{"book", `{"city":"Oslo","tags":"['a']"}`, refused},
	{"book", `{"city":"Oslo","tags":["a","b","c"]}`, refused},
	{"book", `{"city":"Oslo","tags":[1,2]}`, `{"city":"Oslo","tags":["1","2"]}`},
	{"book", `{"city":"Oslo","when":"2026-05-17"}`, `{"city":"Oslo","when":"2026-05-17"}`},
	{"book", `{"city":"Oslo","when":"tomorrow"}`, refused},
	{"book", `{"city":"Oslo","when":"tomorrow","days":"x"}`, refused},
	{"book", `{"city":"Oslo","place":{"lat":1,"lon":"2"}}`, `{"city":"Oslo","place":{"lat":1,"lon":2}}`},
	{"book", `{"city":"Oslo","place":"{\"lat\": 59.9}"}`, `{"city":"Oslo","place":{"lat":59.9}}`},
	{"book", `{"city":"Oslo","place":{"lon":2}}`, refused},
	{"book", `{"city":"Oslo","place":"home"}`, refused},
	{"book", `{"city":"Oslo","verbose":"true"}`, `{"city":"Oslo","verbose":true}`},
	{"book", `{"city":"Oslo","verbose":"yes"}`, refused},
	{"book", `{"city":"Oslo","verbose":1}`, refused},
	{"book", `{"city":"Oslo","cursor":""}`, refused},
	{"forecast", `{"city":"Oslo","cursor":""}`, `{"city":"Oslo"}`},
	{"book", `{"city":"Oslo","zip":12345}`, `{"city":"Oslo","zip":"12345"}`},
	{"book", `{"city":"O"}`, refused},
	{"book", `{"city":"Oslo","unknown":1}`, refused},
	{"forecast", `{"city":"Oslo","unknown":""}`, `{"city":"Oslo"}`},
	{"book", `{"city":"Oslo","days":"5","apiKey":"` + secretValue + `"}`, `{"apiKey":"` + secretValue + `","city":"Oslo","days":5}`},
	{"book", `{"city":"Oslo","api_key":"` + secretValue + `"}`, `{"apiKey":"` + secretValue + `","city":"Oslo"}`},
	{"forecast", `{"city":"Oslo","apiKey":["` + secretValue + `"]}`, `{"apiKey":"` + secretValue + `","city":"Oslo"}`},
	{"book", `{"city":"Oslo","days":"2 + 3","apiKey":"` + secretValue + `"}`, refused},
	{"book", `{"city":"Oslo","login":"{\"password\":\"` + secretValue + `\",\"retries\":1,\"user\":\"me\"}"}`, `{"city":"Oslo","login":{"password":"` + secretValue + `","retries":1,"user":"me"}}`},
	{"book", `{"city":"Oslo","login":{"user":"me","password":"` + secretValue + `","retries":"x"}}`, refused},
	{"open", `{"query":"x","limt":3}`, `{"limt":3,"query":"x"}`},
	{"open", `{"query":"x","maxResults":3}`, `{"maxResults":3,"query":"x"}`},
	{"open", `{"query":"x","else":3}`, `{"else":3,"query":"x"}`},
	{"open", `{"qurey":"x","limit":"3"}`, `{"limit":3,"qurey":"x"}`},
	{"open", `{"limit":12345678901234567890}`, `{"limit":12345678901234567890}`},
	{"open", `{"query":{"nested":[1,{"deep":null}]}}`, refused},
}

// unescape undoes what the SDK's client does to a < when it decodes and encodes a result again.
var unescape = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">")

// gateResult is what became of a call, in a form that the three callers of the gate have in common.
type gateResult struct {
	Sent    string   // the arguments the tool received, as compact JSON; empty if the call was refused
	Changes []string // the receipts
	Notes   []string
	Refusal string // the message of a refused call
}

// echoServer is a server of the official SDK that answers with the arguments it received.
func echoServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	for name, tool := range gateTools {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(tool.schema), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: tool.safe}},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return text("received " + string(req.Params.Arguments)), nil
			})
	}
	return server
}

func connectClient(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if _, err := client.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return client
}

// throughProxy connects a client to echoServer through a wrap.
func throughProxy(t *testing.T, mode string) *mcp.ClientSession {
	t.Helper()
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return echoServer() }, nil))
	t.Cleanup(web.Close)
	return connectClient(t, newTransport(t, gauze.Options{URL: web.URL, Repair: gauze.RepairMode(mode)}))
}

// throughMiddleware connects a client to echoServer with the middleware.
func throughMiddleware(t *testing.T, o gauze.MiddlewareOptions) *mcp.ClientSession {
	t.Helper()
	server := echoServer()
	server.AddReceivingMiddleware(gauze.Middleware(o))
	near, far := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), far, nil); err != nil {
		t.Fatal(err)
	}
	return connectClient(t, near)
}

// throughAgentTools connects a client to gauze mcp.
func throughAgentTools(t *testing.T) *mcp.ClientSession {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- agenttools.Serve(ctx, toServer, fromServer, agenttools.Options{Fleet: &fleet.Fleet{Home: clientconfig.Home{Home: t.TempDir()}}})
	}()
	t.Cleanup(func() { stop(); fromClient.Close(); <-served })
	return connectClient(t, &mcp.IOTransport{Reader: toClient, Writer: fromClient})
}

// callTool calls a tool and returns the response with what a model reads of it.
func callTool(t *testing.T, client *mcp.ClientSession, tool, arguments string) (*mcp.CallToolResult, []string) {
	t.Helper()
	params := &mcp.CallToolParams{Name: tool}
	if arguments != "" {
		params.Arguments = json.RawMessage(arguments)
	}
	result, err := client.CallTool(t.Context(), params)
	if err != nil {
		t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	var texts []string
	for _, content := range result.Content {
		texts = append(texts, content.(*mcp.TextContent).Text)
	}
	return result, texts
}

// wrapped reads the response to a call that went through the proxy or the middleware, and returns
// what was added to it for the model.
func wrapped(t *testing.T, client *mcp.ClientSession, tool, arguments string) (r gateResult, added string) {
	t.Helper()
	result, texts := callTool(t, client, tool, arguments)
	var meta struct {
		Repair struct {
			Changes []repair.Change
			Notes   []string
		} `json:"io.github.gauze-mcp/repair"`
	}
	raw, err := json.Marshal(result.Meta)
	if err == nil {
		err = json.Unmarshal(raw, &meta)
	}
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), secretValue) {
		t.Errorf("%s %s: the metadata shows a secret: %s", tool, arguments, raw)
	}
	if result.IsError {
		r.Refusal = texts[0]
		return r, ""
	}
	sent, ok := strings.CutPrefix(texts[0], "received ")
	if !ok {
		t.Fatalf("%s %s: %v", tool, arguments, texts)
	}
	r.Sent, r.Notes = compact(t, sent), meta.Repair.Notes
	for _, change := range meta.Repair.Changes {
		r.Changes = append(r.Changes, unescape.Replace(change.String()))
	}
	return r, strings.Join(texts[1:], "\n")
}

// proposed reads what gauze mcp proposes for a call.
func proposed(t *testing.T, client *mcp.ClientSession, tool, arguments string) (r gateResult) {
	t.Helper()
	params := map[string]any{"schema": json.RawMessage(gateTools[tool].schema), "tool": tool, "silent_only": !gateTools[tool].safe}
	if arguments != "" {
		params["arguments"] = arguments
	}
	raw, _ := json.Marshal(params)
	result, texts := callTool(t, client, "repair_arguments", string(raw))
	if result.IsError {
		t.Fatalf("%s %s: %v", tool, arguments, texts)
	}
	var out agenttools.Repaired
	raw, err := json.Marshal(result.StructuredContent)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	r = gateResult{Changes: out.Changes, Notes: out.Notes, Refusal: out.Message}
	if out.Message == "" {
		_, sent, _ := strings.Cut(texts[0], "\n") // the SDK's client rounds the numbers of structured content
		sent, _, _ = strings.Cut(sent, "\n")
		r.Sent = compact(t, sent)
	}
	return r
}

// compact writes JSON in one form: no blanks, sorted keys. No arguments and null are {}.
func compact(t *testing.T, raw string) string {
	t.Helper()
	if raw == "" || raw == "null" {
		return "{}"
	}
	var value any
	decoder := json.NewDecoder(strings.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	text, _ := json.Marshal(value)
	return string(text)
}

// The proxy, the middleware and gauze mcp decide by the same gate.
func TestOneGateForProxyMiddlewareAndAgentTools(t *testing.T) {
	agent := throughAgentTools(t)
	proxy, middleware := throughProxy(t, "strict"), throughMiddleware(t, gauze.MiddlewareOptions{})
	for i, c := range gateCalls {
		// One right call before each ends a row of equal mistakes.
		wrapped(t, proxy, c.tool, `{"city":"Oslo"}`)
		wrapped(t, middleware, c.tool, `{"city":"Oslo"}`)
		p, toldByProxy := wrapped(t, proxy, c.tool, c.arguments)
		m, toldByMiddleware := wrapped(t, middleware, c.tool, c.arguments)
		a := proposed(t, agent, c.tool, c.arguments)
		if !reflect.DeepEqual(p, m) || toldByProxy != toldByMiddleware {
			t.Errorf("%d: %s %s\nproxy      %+v %q\nmiddleware %+v %q", i, c.tool, c.arguments, p, toldByProxy, m, toldByMiddleware)
		}
		if !reflect.DeepEqual(p, a) {
			t.Errorf("%d: %s %s\nproxy     %+v\ngauze mcp %+v", i, c.tool, c.arguments, p, a)
		}
		if all := toldByProxy + toldByMiddleware + p.Refusal + m.Refusal + a.Refusal + strings.Join(a.Changes, ""); strings.Contains(all, secretValue) {
			t.Errorf("%d: %s %s: a secret is shown: %s", i, c.tool, c.arguments, all)
		}
		if p.Sent != c.want || (p.Refusal == "") == (c.want == refused) {
			t.Errorf("%d: %s %s\nsent %s\nwant %s\n%s", i, c.tool, c.arguments, p.Sent, c.want, p.Refusal)
		}
	}
}

// The modes mean the same to a model in the proxy and in the middleware.
func TestModesInProxyAndMiddleware(t *testing.T) {
	for _, mode := range []gauze.RepairMode{gauze.RepairDefault, gauze.RepairSilent, gauze.RepairReport, gauze.RepairStrict} {
		proxy, middleware := throughProxy(t, string(mode)), throughMiddleware(t, gauze.MiddlewareOptions{Repair: mode})
		for _, c := range []struct{ tool, arguments string }{
			{"book", `{"city":"Oslo","days":"5"}`},
			{"forecast", `{"City":"Oslo","units":"CELSIUS"}`},
			{"book", `{"arguments":{"city":"Oslo"}}`},
			{"book", `{"city":"Oslo","api_key":"` + secretValue + `"}`},
			{"open", `{"query":"x","limt":3}`},
		} {
			p, toldByProxy := wrapped(t, proxy, c.tool, c.arguments)
			m, toldByMiddleware := wrapped(t, middleware, c.tool, c.arguments)
			if !reflect.DeepEqual(p, m) || toldByProxy != toldByMiddleware {
				t.Errorf("%q, %s %s\nproxy      %+v %q\nmiddleware %+v %q", mode, c.tool, c.arguments, p, toldByProxy, m, toldByMiddleware)
			}
			if told := toldByProxy != ""; told != (mode == gauze.RepairReport || c.tool == "open" && mode != gauze.RepairSilent) {
				t.Errorf("%q, %s %s: the model reads %q", mode, c.tool, c.arguments, toldByProxy)
			}
		}
	}
}

// What the gate cannot check is up to the checks of the server's SDK in every mode of the middleware.
func TestTheMiddlewarePassesWhatCannotBeChecked(t *testing.T) {
	for _, mode := range []gauze.RepairMode{gauze.RepairDefault, gauze.RepairStrict} {
		r, _ := wrapped(t, throughMiddleware(t, gauze.MiddlewareOptions{Repair: mode}), "open", `{"query":"x","query":"y"}`)
		if r.Sent != `{"query":"y"}` {
			t.Errorf("%q: %+v", mode, r)
		}
	}
}

// Tool names are resolved and rejected in the same way, and an unknown tool is a protocol error.
func TestToolNamesInProxyAndMiddleware(t *testing.T) {
	proxy, middleware := throughProxy(t, "strict"), throughMiddleware(t, gauze.MiddlewareOptions{})
	for _, name := range []string{"Book", "weather.book", "mcp__weather__forecast", "FORE_CAST"} {
		p, toldByProxy := wrapped(t, proxy, name, `{"city":"Oslo"}`)
		m, toldByMiddleware := wrapped(t, middleware, name, `{"city":"Oslo"}`)
		if !reflect.DeepEqual(p, m) || toldByProxy != toldByMiddleware || !strings.Contains(toldByProxy, "The call was adjusted: the tool is called ") {
			t.Errorf("%s\nproxy      %+v %q\nmiddleware %+v %q", name, p, toldByProxy, m, toldByMiddleware)
		}
	}
	for _, name := range []string{"boook", "delete_book", "nothing"} {
		var errs [2]*jsonrpc.Error
		for i, client := range []*mcp.ClientSession{proxy, middleware} {
			result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(`{"city":"Oslo"}`)})
			if !errors.As(err, &errs[i]) {
				t.Fatalf("%s: not a protocol error: %v, %v", name, err, result)
			}
		}
		if errs[0].Code != errs[1].Code || errs[0].Message != errs[1].Message {
			t.Errorf("%s\nproxy      %v\nmiddleware %v", name, errs[0], errs[1])
		}
	}
}
