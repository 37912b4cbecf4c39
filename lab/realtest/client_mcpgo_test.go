//go:build linux

package realtest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os/exec"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

type mcpGoSession struct {
	client     *mcpgo.Client
	process    *exec.Cmd // nil over HTTP
	progress   *progressBoard
	updated    updateBox
	listens    chan error // the modern stream was acknowledged, or failed
	life       context.Context
	negotiated string
}

// mcpGoClient takes options for the case that it is given a URL.
func mcpGoClient(overHTTP ...transport.StreamableHTTPCOption) func(*testing.T, context.Context, []string, []string) client {
	return func(t *testing.T, ctx context.Context, env, at []string) client {
		s := &mcpGoSession{progress: &progressBoard{}, updated: newUpdateBox(), listens: make(chan error, 8), life: ctx}
		s.client = mcpgo.NewClient(s.transport(t, env, at, overHTTP), mcpgo.WithDiscoverTimeout(testPatience))
		s.client.OnNotification(s.notified)
		if err := s.client.Start(ctx); err != nil {
			t.Fatalf("mcp-go cannot start gauze: %v", err)
		}
		hello := mcp.InitializeRequest{}
		hello.Params.ClientInfo = mcp.Implementation{Name: "realtest", Version: "1"}
		result, err := s.client.Initialize(ctx, hello)
		if err != nil {
			t.Fatalf("mcp-go cannot connect: %v", errors.Join(err, s.client.Close()))
		}
		s.negotiated = result.ProtocolVersion
		return s
	}
}

func (s *mcpGoSession) transport(t *testing.T, env, at []string, overHTTP []transport.StreamableHTTPCOption) transport.Interface {
	if isURL(at) {
		quiet := slog.New(slog.DiscardHandler) // the tests break its connections on purpose
		options := append(overHTTP, transport.WithHTTPBasicClient(ownHTTP(t)), transport.WithHTTPLogger(quiet))
		http, err := transport.NewStreamableHTTP(at[0], options...)
		if err != nil {
			t.Fatal(err)
		}
		return http
	}
	start := func(context.Context, string, []string, []string) (*exec.Cmd, error) {
		s.process = exec.Command(at[0], at[1:]...)
		s.process.Env = environment(env)
		return s.process, nil
	}
	return transport.NewStdioWithOptions(at[0], env, at[1:],
		transport.WithCommandFunc(start), transport.WithCommandStderrWriter(stderrOf(t)))
}

func (s *mcpGoSession) notified(n mcp.JSONRPCNotification) {
	switch n.Method {
	case "notifications/progress":
		s.progress.heard(n.Params.AdditionalFields["progressToken"])
	case "notifications/resources/updated":
		if uri, ok := n.Params.AdditionalFields["uri"].(string); ok {
			s.updated.put(uri)
		}
	case "notifications/subscriptions/acknowledged":
		s.listens <- nil
	}
}

// subscribe opens a stream of its own in the modern era; the library leaves that to its caller.
func (s *mcpGoSession) subscribe(ctx context.Context, uri string) error {
	if s.negotiated < modern {
		//lint:ignore SA1019 the legacy era has nothing else
		return s.client.Subscribe(ctx, mcp.SubscribeRequest{Params: mcp.SubscribeParams{URI: uri}})
	}
	go func() {
		s.listens <- s.client.Listen(s.life, mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}})
	}()
	select {
	case err := <-s.listens:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *mcpGoSession) tools(ctx context.Context) ([]string, error) {
	listed, err := s.client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (s *mcpGoSession) call(ctx context.Context, c call) (answer, error) {
	request := mcp.CallToolRequest{}
	request.Params.Name = c.tool
	request.Params.Arguments = c.args
	if c.progressed != nil {
		request.Params.Meta = &mcp.Meta{ProgressToken: s.progress.token(c.progressed)}
	}
	result, err := s.client.CallTool(ctx, request)
	if err != nil {
		return answer{}, err
	}
	a := answer{IsError: result.IsError, Meta: map[string]json.RawMessage{}}
	var text strings.Builder
	for _, content := range result.Content {
		if c, ok := content.(mcp.TextContent); ok {
			text.WriteString(c.Text)
		}
	}
	a.Text = text.String()
	if result.Meta != nil {
		for key, value := range result.Meta.AdditionalFields {
			if a.Meta[key], err = json.Marshal(value); err != nil {
				return answer{}, err
			}
		}
	}
	return a, nil
}

func (s *mcpGoSession) pid() int {
	if s.process == nil {
		return 0
	}
	return s.process.Process.Pid
}

func (s *mcpGoSession) updates() <-chan string { return s.updated }
func (s *mcpGoSession) version() string        { return s.negotiated }
func (s *mcpGoSession) close() error           { return s.client.Close() }
