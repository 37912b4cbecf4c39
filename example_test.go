package gauze_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/internal/faultyserver"
)

// A client of the official SDK, and a server that is killed in the middle of
// its work: the client notices nothing.
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
	if _, err := session.ListTools(ctx, nil); err != nil { // clients do this; it tells which tools only read
		log.Fatal(err)
	}

	// This tool declares that it only reads. It kills its server, once.
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "die_read", Arguments: map[string]any{"times": 1}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output: survived
}

// What happened is told as it happens.
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
			case "started":
				pids <- e.PID
			case "restored":
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
