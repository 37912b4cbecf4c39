//go:build linux

package realtest

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

type mcpGoSession struct {
	client     *mcpgo.Client
	process    *exec.Cmd
	progress   *progressBoard
	negotiated string
}

func mcpGoClient(t *testing.T, ctx context.Context, env, argv []string) client {
	s := &mcpGoSession{progress: &progressBoard{}}
	start := func(context.Context, string, []string, []string) (*exec.Cmd, error) {
		s.process = exec.Command(argv[0], argv[1:]...)
		s.process.Env = environment(env)
		return s.process, nil
	}
	stdio := transport.NewStdioWithOptions(argv[0], env, argv[1:],
		transport.WithCommandFunc(start), transport.WithCommandStderrWriter(stderrOf(t)))
	s.client = mcpgo.NewClient(stdio, mcpgo.WithDiscoverTimeout(testPatience))
	s.client.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == "notifications/progress" {
			s.progress.heard(n.Params.AdditionalFields["progressToken"])
		}
	})
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

func (s *mcpGoSession) pid() int        { return s.process.Process.Pid }
func (s *mcpGoSession) version() string { return s.negotiated }
func (s *mcpGoSession) close() error    { return s.client.Close() }
