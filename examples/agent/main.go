// Command agent adds notes to the server of examples/server, each exactly once, whatever happens to
// the server. It shows how an agent loop reacts to the faults of gauze, and above all to
// outcome-unknown: a call that may have taken effect is checked before it is repeated.
//
//	go build -o server ./examples/server
//	go run ./examples/agent ./server -crash notes.txt
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/fault"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: agent COMMAND [ARGS...]")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, command []string) (err error) {
	transport, err := gauze.NewTransport(gauze.Options{Command: command})
	if err != nil {
		return err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	for _, text := range []string{"buy milk", "call the bank"} {
		if err := addNote(ctx, session, text); err != nil {
			return err
		}
	}
	notes, err := listNotes(ctx, session)
	if err != nil {
		return err
	}
	fmt.Println(strings.Join(notes, ", "))
	return nil
}

const (
	maxAttempts = 5
	maxWait     = 10 * time.Second
)

// addNote adds a note exactly once.
func addNote(ctx context.Context, session *mcp.ClientSession, text string) error {
	before, err := listNotes(ctx, session)
	if err != nil {
		return err
	}
	for range maxAttempts {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "add_note", Arguments: map[string]any{"text": text}})
		if err != nil {
			return err
		}
		f := gauze.FaultOf(result)
		if f == nil {
			return toolError(result)
		}
		switch f.Advice() {
		case fault.VerifyFirst: // CodeOutcomeUnknown, above all
			notes, err := listNotes(ctx, session)
			if err != nil {
				return err
			}
			if count(notes, text) > count(before, text) {
				fmt.Printf("%s: %q was added\n", f.Code, text)
				return nil
			}
			fmt.Printf("%s: %q was not added, trying again\n", f.Code, text)
		case fault.RetryNow, fault.RetryLater:
			if err := wait(ctx, f.NextTry); err != nil {
				return err
			}
		default: // AdviceChangeCall is for the model, AdviceTellUser for the user.
			return f
		}
	}
	return fmt.Errorf("%q was not added in %d attempts", text, maxAttempts)
}

func listNotes(ctx context.Context, session *mcp.ClientSession) ([]string, error) {
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "list_notes"})
	if err != nil {
		return nil, err
	}
	if f := gauze.FaultOf(result); f != nil {
		return nil, f
	}
	if err := toolError(result); err != nil {
		return nil, err
	}
	return strings.Split(result.Content[0].(*mcp.TextContent).Text, "\n"), nil
}

// toolError returns the error that the tool itself reported.
func toolError(result *mcp.CallToolResult) error {
	if !result.IsError {
		return nil
	}
	return fmt.Errorf("the tool failed: %v", result.GetError())
}

func count(notes []string, text string) (n int) {
	for _, note := range notes {
		if note == text {
			n++
		}
	}
	return n
}

// wait waits until the server is expected to be back.
func wait(ctx context.Context, until time.Time) error {
	select {
	case <-time.After(min(max(time.Until(until), time.Second), maxWait)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
