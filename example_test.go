package gauze_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/event"
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
	transport, err := gauze.NewTransport(gauze.Options{
		Command: append([]string{program}, args...),
		Env:     append(os.Environ(), env...),
	})
	if err != nil {
		log.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "my-agent", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, transport, nil)
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
	transport, err := gauze.NewTransport(gauze.Options{
		Command: append([]string{program}, args...),
		Env:     append(os.Environ(), env...),
	})
	if err != nil {
		log.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "my-agent", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, transport, nil)
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
		fmt.Println(f.Code, f.Delivery, f.Advice())
	}
	// Output: outcome-unknown unknown verify-first
}

// A program can show how its server is doing.
func ExampleTransport_Health() {
	ctx := context.Background()
	program, args, env := faultyserver.Command() // stands for: npx -y some-server
	transport, err := gauze.NewTransport(gauze.Options{
		Command: append([]string{program}, args...),
		Env:     append(os.Environ(), env...),
	})
	if err != nil {
		log.Fatal(err)
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
	transport, err := gauze.NewTransport(gauze.Options{
		Command: append([]string{program}, args...),
		Env:     append(os.Environ(), env...),
		OnEvent: func(e event.Event) {
			switch e.Kind {
			case event.Started:
				pids <- e.PID
			case event.Restored:
				restored <- e.Generation
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "my-agent", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	kill(<-pids)
	fmt.Println("session restored on generation", <-restored)
	// Output: session restored on generation 2
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
