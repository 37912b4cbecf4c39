// Command healedclient lists the tools of an MCP server over a transport that restarts the server when
// it exits.
//
//	go run ./examples/healedclient npx -y @modelcontextprotocol/server-everything
//	go run ./examples/healedclient https://example.com/mcp
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: healedclient COMMAND [ARGS...] | URL")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		// A fault says what failed and what to do about it. Other errors are the server's own.
		if f := gauze.FaultOf(err); f != nil {
			log.Fatalf("%s: %s (%s)", f.Code, f.Detail, f.Advice())
		}
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) (err error) {
	options := gauze.Options{
		Command: args,
		Logger:  slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if strings.Contains(args[0], "://") {
		options.Command, options.URL = nil, args[0]
	}
	transport, err := gauze.NewTransport(options)
	if err != nil {
		return err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "healedclient", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()

	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		fmt.Println(tool.Name)
	}
	health, counters := transport.Health(), transport.Counters()
	fmt.Printf("%s, %d restarts, %d of %d requests answered\n", health.State, health.Restarts, counters.Answered, counters.Calls)
	return nil
}
