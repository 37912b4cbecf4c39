package gauze_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

// A client of the official SDK does not notice that its server crashes.
func ExampleTransport() {
	ctx := context.Background()
	state, err := os.CreateTemp("", "gauze-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(state.Name())
	program, args, env := faultyserver.Command("-state", state.Name()) // stands for: npx -y some-server
	client := mcp.NewClient(&mcp.Implementation{Name: "my-agent", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &gauze.Transport{
		Command: append([]string{program}, args...),
		Env:     append(os.Environ(), env...),
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if _, err := session.ListTools(ctx, nil); err != nil { // the list says which tools only read
		log.Fatal(err)
	}

	// This tool declares that it only reads. It makes its server crash, once.
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "die_read", Arguments: map[string]any{"times": 1}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output: survived
}

// A call that was in flight when the server crashed may have taken effect. Gauze does not repeat it,
// and says so.
func ExampleFaultOf() {
	ctx := context.Background()
	program, args, env := faultyserver.Command() // stands for: npx -y some-server
	client := mcp.NewClient(&mcp.Implementation{Name: "my-agent", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &gauze.Transport{
		Command: append([]string{program}, args...),
		Env:     append(os.Environ(), env...),
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	// This tool makes its server crash.
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "die", Arguments: map[string]any{"when": "after-effect"}})
	if err != nil {
		log.Fatal(err)
	}
	if f := gauze.FaultOf(result); f != nil {
		fmt.Println(f.Code, f.Delivery, f.Retry)
	}
	// Output: outcome-unknown unknown verify-first
}

// A program can show how its server is doing.
func ExampleTransport_Health() {
	ctx := context.Background()
	program, args, env := faultyserver.Command() // stands for: npx -y some-server
	transport := &gauze.Transport{
		Command: append([]string{program}, args...),
		Env:     append(os.Environ(), env...),
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "my-agent", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		log.Fatal(err)
	}
	health := transport.Health()
	fmt.Println(health.State, health.Restarts)
	session.Close()
	fmt.Println(transport.Health().State)
	// Output:
	// healthy 0
	// dead
}

// OnEvent receives what happens to the server and its calls.
func ExampleTransport_events() {
	ctx := context.Background()
	program, args, env := faultyserver.Command()
	pids := make(chan int, 10)
	restored := make(chan int, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "my-agent", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &gauze.Transport{
		Command: append([]string{program}, args...),
		Env:     append(os.Environ(), env...),
		OnEvent: func(e gauze.Event) {
			switch e.Kind {
			case gauze.EventStarted:
				pids <- e.PID
			case gauze.EventRestored:
				restored <- e.Generation
			}
		},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	kill(<-pids)
	fmt.Println("session restored on generation", <-restored)
	// Output: session restored on generation 2
}

// A model sent a string for a number, and a different spelling of a choice.
func ExampleRepairArguments() {
	schema := json.RawMessage(`{"type":"object","required":["city","days"],"properties":{
		"city":{"type":"string"},"days":{"type":"integer"},"units":{"enum":["celsius","fahrenheit"]}}}`)
	result := gauze.RepairArguments(schema, json.RawMessage(`{"city":"Oslo","days":"5","units":"Celsius"}`))
	fmt.Println(result.Outcome, string(result.Arguments))
	for _, change := range result.Changes {
		fmt.Printf("%s: %s became %s (%s)\n", change.Path, change.Before, change.After, change.Rule)
	}
	// Output:
	// repaired {"city":"Oslo","days":5,"units":"celsius"}
	// days: "5" became 5 (string to number)
	// units: "Celsius" became "celsius" (spelling of a choice)
}

// A server of the official SDK repairs tool calls with one line.
func ExampleMiddleware() {
	type forecast struct {
		City string `json:"city"`
		Days int    `json:"days"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_weather"}, func(_ context.Context, _ *mcp.CallToolRequest, in forecast) (*mcp.CallToolResult, any, error) {
		text := fmt.Sprintf("%s: sun for %d days", in.City, in.Days)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	server.AddReceivingMiddleware(gauze.Middleware(gauze.MiddlewareOptions{}))

	ctx := context.Background()
	near, far := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, far, nil); err != nil {
		log.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "my-agent", Version: "1.0.0"}, nil).Connect(ctx, near, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	result, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "get_weather", Arguments: map[string]any{"city": "Oslo", "days": "5"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output: Oslo: sun for 5 days
}

// A tool of an agent rejects its arguments. The model of the Executor corrects them, and the tool is
// called once more.
func ExampleExecute() {
	search := func(_ context.Context, arguments json.RawMessage) (string, error) { // stands for any tool
		var in struct{ Limit any }
		if err := json.Unmarshal(arguments, &in); err != nil {
			return "", gauze.ArgumentError(err)
		}
		if _, ok := in.Limit.(float64); !ok {
			return "", gauze.ArgumentError(fmt.Errorf("limit must be a number, not %v", in.Limit))
		}
		return fmt.Sprintf("%v results", in.Limit), nil
	}
	executor := &gauze.Executor{
		Model:   &oracle{answer: `{"arguments":{"limit":5}}`}, // stands for llm.OpenAI, llm.Anthropic or llm.Gemini
		OnEvent: func(e gauze.Event) { fmt.Println(e.Kind, e.Detail) },
	}
	tool := gauze.Tool{Name: "search", ReadOnly: true}
	result, err := gauze.Execute(context.Background(), executor, tool, json.RawMessage(`{"limit":"2 + 3"}`), search)
	fmt.Println(result, err)
	// Output:
	// corrected limit: "2 + 3" became 5
	// 5 results <nil>
}
