// Command sdkserver is an echo server written with the official Go SDK. It is the typical server of
// the overhead benchmark, on stdio or with -http over HTTP, as the SDK serves it by default.
//
// It is a separate binary so that the servers that are started by the thousand do not pay for the
// SDK's start-up.
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
	Text string `json:"text" jsonschema:"the text to return"`
}

func echo(_ context.Context, _ *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
}

func main() {
	overHTTP := flag.Bool("http", false, "serve HTTP on a free port and print the address to stderr")
	stateless := flag.Bool("stateless", false, "with -http: serve without sessions, as in the modern era")
	flag.Parse()
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk-echo", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "echo",
		Description: "Returns the text.",
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
