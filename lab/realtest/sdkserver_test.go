//go:build linux

package realtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server written with the official Go SDK, at a URL, that dies at exact moments. It is this test binary, started
// again with envSDKServer set.
const (
	envSDKServer = "REALTEST_SDK_SERVER" // its address
	envStateless = "REALTEST_STATELESS"  // set: no sessions, both eras
	envCrowd     = "REALTEST_CROWD"      // how many callers must be at the same moment for it to die
	envFolder    = "REALTEST_FOLDER"     // where it writes what it did
)

// sdkAt is that server for so many callers.
func sdkAt(name string, callers int, more ...string) webKind {
	return webKind{
		name: name, path: "/mcp", ready: "listening on",
		command: func(t *testing.T, at workplace, port int) (argv, env []string) {
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			env = append(os.Environ(), fmt.Sprintf("%s=127.0.0.1:%d", envSDKServer, port),
				fmt.Sprintf("%s=%d", envCrowd, callers), envFolder+"="+at.dir)
			return []string{self}, append(env, more...)
		},
		read: call{tool: "echo", args: map[string]any{"text": knownText}},
		want: knownText,
		slow: func(who string) call { return call{tool: "wait", args: map[string]any{"text": who}} },
		touch: func(uri string) call {
			return call{tool: "touch", args: map[string]any{"text": uri}}
		},
	}
}

func sdkStateful(callers int) webKind { return sdkAt("go-sdk-stateful", callers) }
func sdkModern(callers int) webKind   { return sdkAt("go-sdk-modern", callers, envStateless+"=1") }

// beTheSDKServer never returns if this process was started to be the server.
func beTheSDKServer() {
	address := os.Getenv(envSDKServer)
	if address == "" {
		return
	}
	accept := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	release := func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
	s := &sdkServer{
		Server: mcp.NewServer(&mcp.Implementation{Name: "realtest-sdk", Version: "1"}, &mcp.ServerOptions{
			SubscribeHandler: accept, UnsubscribeHandler: release,
			Capabilities: &mcp.ServerCapabilities{Resources: &mcp.ResourceCapabilities{Subscribe: true}},
		}),
		dir: workplace{os.Getenv(envFolder)},
	}
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(s.Server, &mcp.Tool{Name: "echo", Annotations: reads}, s.echo)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "wait", Annotations: reads}, s.wait)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "touch", Annotations: reads}, s.touch)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "keep"}, s.keep)

	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.Server },
		&mcp.StreamableHTTPOptions{Stateless: os.Getenv(envStateless) != ""})
	listener, err := net.Listen("tcp", address)
	if err == nil {
		fmt.Fprintln(os.Stderr, "listening on", address)
		err = http.Serve(listener, mortal{handler})
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

type sdkServer struct {
	*mcp.Server
	dir workplace
}

type textInput struct {
	Text string `json:"text"`
}

func saying(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func (s *sdkServer) echo(_ context.Context, _ *mcp.CallToolRequest, in textInput) (*mcp.CallToolResult, any, error) {
	return saying(in.Text), nil, nil
}

// touch says that the resource of that URI changed.
func (s *sdkServer) touch(ctx context.Context, _ *mcp.CallToolRequest, in textInput) (*mcp.CallToolResult, any, error) {
	return saying("touched"), nil, s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: in.Text})
}

// wait is in flight until the server dies, the first time it is called with a text, and answers from then on.
func (s *sdkServer) wait(ctx context.Context, r *mcp.CallToolRequest, in textInput) (*mcp.CallToolResult, any, error) {
	if s.arrived("wait", in.Text) > 1 {
		return saying("waited"), nil, nil
	}
	err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
	if err != nil {
		return nil, nil, err
	}
	<-ctx.Done()
	return nil, nil, ctx.Err()
}

// keep changes something, once for each call.
func (s *sdkServer) keep(_ context.Context, _ *mcp.CallToolRequest, in textInput) (*mcp.CallToolResult, any, error) {
	s.arrived("keep", in.Text)
	meet(dieOnReceipt, in.Text)
	appendLine(s.dir.path("kept.jsonl"), in.Text)
	meet(dieBeforeAnswer, in.Text)
	return saying("kept"), nil, nil
}

// arrived writes a call into the ledger, and returns how often it has been called with that text.
func (s *sdkServer) arrived(tool, text string) int {
	args, _ := json.Marshal(text)
	return appendLine(s.dir.path("ledger.jsonl"), map[string]string{"tool": tool, "args": string(args)})
}
