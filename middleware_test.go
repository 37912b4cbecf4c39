package gauze_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
)

const weatherSchema = `{"type":"object","required":["city","days"],"properties":{
	"city":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":14},"units":{"enum":["celsius","fahrenheit"]}}}`

// bureau is a server with weather tools, and what they were called with.
type bureau struct {
	t      *testing.T
	server *mcp.Server
	ran    atomic.Int64
	mu     sync.Mutex
	got    json.RawMessage
}

type forecast struct {
	City string `json:"city"`
	Days int    `json:"days"`
}

func newBureau(t *testing.T, o gauze.MiddlewareOptions) *bureau {
	b := &bureau{t: t, server: mcp.NewServer(&mcp.Implementation{Name: "bureau", Version: "1"}, nil)}
	b.addRaw("raw", weatherSchema, nil)
	b.addRaw("read", weatherSchema, &mcp.ToolAnnotations{ReadOnlyHint: true})
	mcp.AddTool(b.server, &mcp.Tool{Name: "typed"}, func(_ context.Context, req *mcp.CallToolRequest, in forecast) (*mcp.CallToolResult, any, error) {
		b.note(req)
		return text(fmt.Sprint(in.City, " ", in.Days)), nil, nil
	})
	b.server.AddReceivingMiddleware(gauze.Middleware(o))
	return b
}

func (b *bureau) addRaw(name, schema string, hints *mcp.ToolAnnotations) {
	b.server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(schema), Annotations: hints},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			b.note(req)
			return text("sunny"), nil
		})
}

func (b *bureau) note(req *mcp.CallToolRequest) {
	b.ran.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = req.Params.Arguments
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// connect returns a client of the bureau that does not list its tools.
func (b *bureau) connect() *mcp.ClientSession {
	b.t.Helper()
	near, far := mcp.NewInMemoryTransports()
	if _, err := b.server.Connect(b.t.Context(), far, nil); err != nil {
		b.t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(b.t.Context(), near, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { client.Close() })
	return client
}

func (b *bureau) call(client *mcp.ClientSession, tool, arguments string) *mcp.CallToolResult {
	b.t.Helper()
	result, err := client.CallTool(b.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

// refused checks that the call was refused with a message and did not run, and returns the message.
func (b *bureau) refused(client *mcp.ClientSession, tool, arguments string) string {
	b.t.Helper()
	before := b.ran.Load()
	result := b.call(client, tool, arguments)
	said := said(result)
	if !result.IsError || b.ran.Load() != before {
		b.t.Fatalf("the call ran, or is not an error: %s", said)
	}
	if data, ok := result.Meta["io.github.gauze-mcp/arguments"].(map[string]any); !ok || data["summary"] == "" {
		b.t.Fatalf("no data: %v", result.Meta)
	}
	return said
}

// unknown checks that the call was answered with a protocol error and did not run, and returns the
// message.
func (b *bureau) unknown(client *mcp.ClientSession, tool, arguments string) string {
	b.t.Helper()
	before := b.ran.Load()
	result, err := client.CallTool(b.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeInvalidParams || b.ran.Load() != before {
		b.t.Fatalf("not a protocol error: %v, %v", err, result)
	}
	return rpc.Message
}

// passed checks that the call ran, and returns the arguments it ran with.
func (b *bureau) passed(client *mcp.ClientSession, tool, arguments string) (string, *mcp.CallToolResult) {
	b.t.Helper()
	before := b.ran.Load()
	result := b.call(client, tool, arguments)
	if result.IsError || b.ran.Load() != before+1 {
		b.t.Fatalf("the call did not run once: %s", said(result))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.got), result
}

func said(result *mcp.CallToolResult) string {
	var all []string
	for _, content := range result.Content {
		all = append(all, content.(*mcp.TextContent).Text)
	}
	return strings.Join(all, "\n")
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in: %s", part, text)
		}
	}
}

func TestMiddlewareExplainsWhatDoesNotFit(t *testing.T) {
	b := newBureau(t, gauze.MiddlewareOptions{Repair: gauze.RepairOff})
	client := b.connect()
	for _, tool := range []string{"raw", "read", "typed"} {
		contains(t, b.refused(client, tool, `{"city":5,"days":"2 + 3"}`), tool, "city", "days", "2 + 3")
	}
	contains(t, b.refused(client, "raw", `{"city":"Oslo","days":"5"}`), "days") // repair is off
	contains(t, b.unknown(client, "rew", `{}`), "rew", "raw")
	contains(t, b.unknown(client, "Raw", `{"city":"Oslo","days":5}`), "raw")
}

func TestMiddlewareLeavesAValidCallAlone(t *testing.T) {
	for _, o := range []gauze.MiddlewareOptions{{}, {Repair: gauze.RepairOff}} {
		b := newBureau(t, o)
		client := b.connect()
		const sent = `{"days":5,"city":"Oslo","more":[1.50,1e3]}`
		got, result := b.passed(client, "raw", sent)
		if got != sent || result.Meta["io.github.gauze-mcp/repair"] != nil || said(result) != "sunny" {
			t.Errorf("changed: %s, %v, %s", got, result.Meta, said(result))
		}
	}
}

func TestMiddlewareRepairsAndLeavesReceipts(t *testing.T) {
	b := newBureau(t, gauze.MiddlewareOptions{})
	client := b.connect()
	for _, tool := range []string{"raw", "read", "typed"} {
		got, result := b.passed(client, tool, `{"city":"Oslo","days":"5"}`)
		if got != `{"city":"Oslo","days":5}` {
			t.Errorf("%s got %s", tool, got)
		}
		receipt, _ := json.Marshal(result.Meta["io.github.gauze-mcp/repair"])
		contains(t, string(receipt), `"path":"days"`, `"before":"5"`, `"after":5`, `"rule":"string to number"`)
		if len(result.Content) != 1 {
			t.Errorf("a repair with a single reading is reported: %s", said(result))
		}
	}
}

func TestMiddlewareTellsWhatHasAnotherReadingAndNeverDoesItToUnsafeTools(t *testing.T) {
	b := newBureau(t, gauze.MiddlewareOptions{})
	client := b.connect()
	got, result := b.passed(client, "read", `{"city":"Oslo","days":[5]}`)
	if got != `{"city":"Oslo","days":5}` {
		t.Errorf("got %s", got)
	}
	contains(t, said(result), "sunny", "[gauze]", "days")
	contains(t, b.refused(client, "raw", `{"city":"Oslo","days":[5]}`), "days")
}

func TestMiddlewareMatchesOnlySafeNames(t *testing.T) {
	b := newBureau(t, gauze.MiddlewareOptions{})
	client := b.connect()
	_, result := b.passed(client, "weather.Raw", `{"city":"Oslo","days":5}`)
	receipt, _ := json.Marshal(result.Meta["io.github.gauze-mcp/repair"])
	contains(t, string(receipt), `"called":"weather.Raw"`, `"tool":"raw"`)
	contains(t, said(result), "sunny", "the tool is called raw, not weather.Raw")
	contains(t, b.unknown(client, "rav", `{"city":"Oslo","days":5}`), "rav", "raw")
}

// The client never lists the tools, and they change between calls.
func TestMiddlewareFollowsTheServersTools(t *testing.T) {
	b := newBureau(t, gauze.MiddlewareOptions{Repair: gauze.RepairOff})
	client := b.connect()
	b.passed(client, "raw", `{"city":"Oslo","days":5}`)
	b.refused(client, "raw", `{"city":"Oslo","days":[1]}`)

	b.addRaw("raw", `{"type":"object","properties":{"days":{"type":"array"}}}`, nil) // accepts different arguments now
	b.passed(client, "raw", `{"city":"Oslo","days":[1]}`)
	b.refused(client, "raw", `{"city":"Oslo","days":5}`)

	b.passed(client, "typed", `{"city":"Oslo","days":5}`) // a typed one that accepts less
	mcp.AddTool(b.server, &mcp.Tool{Name: "typed"}, func(_ context.Context, req *mcp.CallToolRequest, _ struct {
		Days string `json:"days"`
	}) (*mcp.CallToolResult, any, error) {
		b.note(req)
		return text("ok"), nil, nil
	})
	contains(t, b.refused(client, "typed", `{"city":"Oslo","days":5}`), "days")

	b.passed(client, "read", `{"city":"Oslo","days":5}`) // one that is removed
	b.server.RemoveTools("read")
	contains(t, b.unknown(client, "read", `{"city":"Oslo","days":5}`), "read", "raw")

	b.addRaw("new", weatherSchema, nil) // one that is added
	b.passed(client, "new", `{"city":"Oslo","days":5}`)
}

// Middleware learns from every page that a client lists.
func TestMiddlewareLearnsFromLists(t *testing.T) {
	var asked atomic.Int64
	server := mcp.NewServer(&mcp.Implementation{Name: "pages", Version: "1"}, &mcp.ServerOptions{PageSize: 2})
	b := &bureau{t: t, server: server}
	for i := range 5 {
		b.addRaw(fmt.Sprint("tool", i), weatherSchema, nil)
	}
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				asked.Add(1)
			}
			return next(ctx, method, req)
		}
	})
	server.AddReceivingMiddleware(gauze.Middleware(gauze.MiddlewareOptions{Repair: gauze.RepairOff}))
	client := b.connect()
	for _, err := range client.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if b.passed(client, "tool4", `{"city":"Oslo","days":5}`); asked.Load() != 3 {
		t.Errorf("%d lists for three pages", asked.Load())
	}
	contains(t, b.unknown(client, "tool9", `{}`), "tool0", "tool4")
	if asked.Load() != 6 {
		t.Errorf("%d lists after a doubt", asked.Load())
	}
}

func TestMiddlewareNamesNoToolTheCallerCannotSee(t *testing.T) {
	b := &bureau{t: t, server: mcp.NewServer(&mcp.Implementation{Name: "hides", Version: "1"}, nil)}
	b.addRaw("open", weatherSchema, nil)
	b.addRaw("secret_tool", weatherSchema, nil)
	b.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			if list, ok := result.(*mcp.ListToolsResult); ok {
				list.Tools = list.Tools[:1]
			}
			return result, err
		}
	})
	b.server.AddReceivingMiddleware(gauze.Middleware(gauze.MiddlewareOptions{}))
	message := b.unknown(b.connect(), "secret", `{}`)
	if contains(t, message, "open"); strings.Contains(message, "secret_tool") {
		t.Errorf("told: %s", message)
	}
}

// A repeated mistake gets a shorter message, then one that says to stop. The count starts again for a
// different client and after a right call.
func TestMiddlewareCountsRepetitions(t *testing.T) {
	b := newBureau(t, gauze.MiddlewareOptions{Repair: gauze.RepairOff})
	one, other := b.connect(), b.connect()
	const wrong, right = `{"city":"Oslo","days":"2 + 3"}`, `{"city":"Oslo","days":5}`
	first, second, third := b.refused(one, "raw", wrong), b.refused(one, "raw", wrong), b.refused(one, "raw", wrong)
	if len(second) >= len(first) || first == second || second == third {
		t.Errorf("first:\n%s\nsecond:\n%s\nthird:\n%s", first, second, third)
	}
	if again := b.refused(other, "raw", wrong); again != first {
		t.Errorf("a different client reads\n%s", again)
	}
	b.passed(one, "raw", right)
	if again := b.refused(one, "raw", wrong); again != first {
		t.Errorf("after a right call it reads\n%s", again)
	}
	for i := range 1000 { // invented tools do not fill the memory
		b.unknown(one, fmt.Sprint("invented", i), `{}`)
	}
	if again := b.refused(one, "raw", wrong); again != first {
		t.Errorf("after a thousand others it reads\n%s", again)
	}
}

// A result of the middleware has the same form as one of the SDK.
func TestMiddlewareAnswersAsTheEraWants(t *testing.T) {
	b := newBureau(t, gauze.MiddlewareOptions{})
	client := b.connect()
	kind := func(result *mcp.CallToolResult) any {
		var fields map[string]any
		raw, err := json.Marshal(result)
		if err == nil {
			err = json.Unmarshal(raw, &fields)
		}
		if err != nil {
			t.Fatal(err)
		}
		return fields["resultType"]
	}
	want := kind(b.call(client, "raw", `{"city":"Oslo","days":5}`))
	for _, arguments := range []string{`{}`, `{"city":"Oslo","days":"5"}`} {
		if got := kind(b.call(client, "raw", arguments)); got != want {
			t.Errorf("%s: resultType %v, want %v", arguments, got, want)
		}
	}
}

// The tool's own result is not modified.
func TestMiddlewareCopiesWhatItStamps(t *testing.T) {
	shared := text("shared")
	shared.Meta = mcp.Meta{"mine": 1}
	b := newBureau(t, gauze.MiddlewareOptions{})
	b.server.AddTool(&mcp.Tool{Name: "shares", InputSchema: json.RawMessage(weatherSchema), Annotations: &mcp.ToolAnnotations{IdempotentHint: true}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return shared, nil })
	result := b.call(b.connect(), "shares", `{"city":"Oslo","days":["5"]}`)
	if result.Meta["mine"] == nil || result.Meta["io.github.gauze-mcp/repair"] == nil {
		t.Errorf("%v", result.Meta)
	}
	if len(shared.Meta) != 1 || len(shared.Content) != 1 {
		t.Errorf("%v, %v", shared.Meta, shared.Content)
	}
}

func TestMiddlewareStandsManyCallersAndChanges(t *testing.T) {
	b := newBureau(t, gauze.MiddlewareOptions{})
	var callers sync.WaitGroup
	for i := range 4 {
		client := b.connect()
		callers.Go(func() {
			for j := range 25 {
				arguments := []string{`{"city":"Oslo","days":5}`, `{"city":"Oslo","days":"5"}`, `{"city":"Oslo","days":"x"}`, `{}`}[j%4]
				result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "raw", Arguments: json.RawMessage(arguments)})
				if err != nil || result.IsError != (j%4 > 1) {
					t.Errorf("%s: %v, %v", arguments, err, result)
				}
				if i == 0 {
					b.addRaw(fmt.Sprint("more", j), weatherSchema, nil)
				}
			}
		})
	}
	callers.Wait()
}

// A tool may reject more than its schema does, in its own words.
func TestMiddlewareClarifiesTheToolsOwnComplaint(t *testing.T) {
	b := newBureau(t, gauze.MiddlewareOptions{Repair: gauze.RepairOff})
	words := ""
	b.server.AddTool(&mcp.Tool{Name: "picky", InputSchema: json.RawMessage(weatherSchema)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			result := text(words)
			result.IsError = true
			return result, nil
		})
	client := b.connect()

	words = "Missing required arguments: units"
	result := b.call(client, "picky", `{"city":"Oslo","days":5}`)
	if len(result.Content) != 2 || result.Content[0].(*mcp.TextContent).Text != words {
		t.Errorf("the tool's own words: %v", result.Content)
	}
	contains(t, result.Content[1].(*mcp.TextContent).Text, "picky", "units", "celsius")
	ours, _ := json.Marshal(result.Meta["io.github.gauze-mcp/arguments"])
	contains(t, string(ours), `"type":"invalid_arguments"`, `"units"`)
	if result.Meta["io.github.gauze-mcp/fault"] != nil {
		t.Errorf("the tool's own error became a fault: %v", result.Meta)
	}
	if again := b.call(client, "picky", `{"city":"Oslo","days":5}`); again.Content[1].(*mcp.TextContent).Text == result.Content[1].(*mcp.TextContent).Text {
		t.Errorf("the second time it reads the same: %s", said(again))
	}

	words = "the weather service is down"
	if result := b.call(client, "picky", `{"city":"Oslo","days":5}`); said(result) != words || len(result.Meta) > 1 {
		t.Errorf("%s, %v", said(result), result.Meta)
	}
}

// The server's error stays an error, with the explanation after its message.
func TestMiddlewareKeepsTheServersError(t *testing.T) {
	b := newBureau(t, gauze.MiddlewareOptions{})
	const words = "Invalid params: parameter days must be integer"
	b.server.AddTool(&mcp.Tool{Name: "coded", InputSchema: json.RawMessage(weatherSchema)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: words}
		})
	_, err := b.connect().CallTool(t.Context(), &mcp.CallToolParams{Name: "coded", Arguments: json.RawMessage(`{"city":"Oslo","days":5}`)})
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeInvalidParams {
		t.Fatalf("not the server's error: %v", err)
	}
	if !strings.HasPrefix(rpc.Message, words+"\n\n[gauze] The server rejected the call to `coded`") {
		t.Errorf("%s", rpc.Message)
	}
	contains(t, string(rpc.Data), `"io.github.gauze-mcp/arguments":{"type":"invalid_arguments"`)
}

func TestMiddlewareModes(t *testing.T) {
	const number, list = `{"city":"Oslo","days":"5"}`, `{"city":"Oslo","days":[5]}`
	for _, c := range []struct {
		mode      gauze.RepairMode
		arguments string
		told      bool
	}{
		{gauze.RepairDefault, number, false}, {gauze.RepairDefault, list, true},
		{gauze.RepairStrict, number, false}, {gauze.RepairStrict, list, true},
		{gauze.RepairReport, number, true}, {gauze.RepairReport, list, true},
		{gauze.RepairSilent, number, false}, {gauze.RepairSilent, list, false},
	} {
		b := newBureau(t, gauze.MiddlewareOptions{Repair: c.mode})
		got, result := b.passed(b.connect(), "read", c.arguments)
		if got != `{"city":"Oslo","days":5}` || result.Meta["io.github.gauze-mcp/repair"] == nil || (len(result.Content) == 2) != c.told {
			t.Errorf("%q, %s: %s, %v, %s", c.mode, c.arguments, got, result.Meta, said(result))
		}
	}
}
