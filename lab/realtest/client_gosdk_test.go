//go:build linux

package realtest

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type goSDKSession struct {
	session  *mcp.ClientSession
	process  *exec.Cmd // nil over HTTP
	progress *progressBoard
	updated  updateBox
}

// goSDKClient connects with the given protocol version, or with the library's own choice.
func goSDKClient(version string) func(*testing.T, context.Context, []string, []string) client {
	return func(t *testing.T, ctx context.Context, env, at []string) client {
		s, err := dialGoSDK(t, ctx, version, env, at)
		if err != nil {
			t.Fatalf("go-sdk cannot connect: %v", err)
		}
		return s
	}
}

// dialGoSDK returns what the SDK says if it cannot connect.
func dialGoSDK(t *testing.T, ctx context.Context, version string, env, at []string) (*goSDKSession, error) {
	t.Helper()
	s := &goSDKSession{progress: &progressBoard{}, updated: newUpdateBox()}
	var transport mcp.Transport
	if isURL(at) {
		transport = &mcp.StreamableClientTransport{Endpoint: at[0], HTTPClient: ownHTTP(t)}
	} else {
		s.process = exec.Command(at[0], at[1:]...)
		s.process.Env = environment(env)
		s.process.Stderr = stderrOf(t)
		transport = &mcp.CommandTransport{Command: s.process}
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "realtest", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			s.progress.heard(r.Params.ProgressToken)
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			s.updated.put(r.Params.URI)
		},
	})
	var err error
	s.session, err = c.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	return s, err
}

func (s *goSDKSession) tools(ctx context.Context) ([]string, error) {
	listed, err := s.session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (s *goSDKSession) call(ctx context.Context, c call) (answer, error) {
	params := &mcp.CallToolParams{Name: c.tool, Arguments: c.args}
	if c.progressed != nil {
		params.Meta = mcp.Meta{}
		params.SetProgressToken(s.progress.token(c.progressed))
	}
	result, err := s.session.CallTool(ctx, params)
	if err != nil {
		return answer{}, err
	}
	a := answer{IsError: result.IsError, Meta: map[string]json.RawMessage{}}
	var text strings.Builder
	for _, content := range result.Content {
		if c, ok := content.(*mcp.TextContent); ok {
			text.WriteString(c.Text)
		}
	}
	a.Text = text.String()
	for key, value := range result.Meta {
		if a.Meta[key], err = json.Marshal(value); err != nil {
			return answer{}, err
		}
	}
	return a, nil
}

func (s *goSDKSession) subscribe(ctx context.Context, uri string) error {
	return s.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
}

func (s *goSDKSession) pid() int {
	if s.process == nil {
		return 0
	}
	return s.process.Process.Pid
}

func (s *goSDKSession) updates() <-chan string { return s.updated }
func (s *goSDKSession) version() string        { return s.session.InitializeResult().ProtocolVersion }
func (s *goSDKSession) close() error           { return s.session.Close() }
