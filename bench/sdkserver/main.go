// Command sdkserver is an echo server written with the official Go SDK, the
// typical server the overhead benchmark stands in front of: on stdio, or with
// -http behind a URL, as the SDK serves it by default.
//
// It is a binary of its own, so that the servers started by the thousand do not
// carry the SDK's start-up.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type echoInput struct {
	Text string `json:"text" jsonschema:"the text to send back"`
}

func echo(_ context.Context, _ *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
}

func main() {
	overHTTP := flag.Bool("http", false, "serve HTTP on a free port, and say on stderr which")
	stateless := flag.Bool("stateless", false, "with -http: without sessions, as the modern era is")
	flag.Parse()
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk-echo", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "echo",
		Description: "Sends the text back.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, echo)
	var err error
	if *overHTTP {
		err = serve(server, *stateless)
	} else {
		err = server.Run(context.Background(), &mcp.StdioTransport{})
	}
	if err != nil {
		log.Fatal(err)
	}
}

func serve(server *mcp.Server, stateless bool) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s/mcp\n", l.Addr())
	return http.Serve(l, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: stateless}))
}
