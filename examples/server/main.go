// Command server is an MCP server that keeps notes in a file. Its middleware repairs tool calls that
// do not match the tools' input schemas, and explains to the model what cannot be repaired.
//
//	go run ./examples/server notes.txt
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
)

func main() {
	log.SetFlags(0)
	crash := flag.Bool("crash", false, "exit after writing the first note and before answering the call")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: server [-crash] FILE")
	}
	notes := &notes{file: flag.Arg(0)}
	if _, err := os.Stat(notes.file); errors.Is(err, fs.ErrNotExist) {
		notes.crash = *crash // not after the restart
	}

	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	server.AddReceivingMiddleware(gauze.Middleware(gauze.MiddlewareOptions{}))
	mcp.AddTool(server, &mcp.Tool{
		Name:        "add_note",
		Description: "Adds a note. Adding the same note twice stores two copies.",
	}, notes.add)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "list_notes",
		Description: "Lists all notes.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, notes.list)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

// notes is a file with one note on each line.
type notes struct {
	file  string
	crash bool
	mu    sync.Mutex
}

type note struct {
	Text  string `json:"text" jsonschema:"one line of text"`
	Stars int    `json:"stars,omitempty" jsonschema:"how important the note is"`
}

func (n *notes) add(_ context.Context, _ *mcp.CallToolRequest, in note) (*mcp.CallToolResult, any, error) {
	if in.Text == "" || strings.ContainsAny(in.Text, "\r\n") {
		return nil, nil, errors.New("a note must be one line of text")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	f, err := os.OpenFile(n.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	_, err = fmt.Fprintln(f, in.Text+strings.Repeat(" *", in.Stars))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, nil, err
	}
	if n.crash {
		os.Exit(1)
	}
	return text("added"), nil, nil
}

func (n *notes) list(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f, err := os.Open(n.file)
	if errors.Is(err, fs.ErrNotExist) {
		return text(""), nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	var all []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		all = append(all, lines.Text())
	}
	return text(strings.Join(all, "\n")), nil, lines.Err()
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
