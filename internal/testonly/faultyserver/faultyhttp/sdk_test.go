package faultyhttp

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// start runs a server for one test.
func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	s := New(cfg)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// connections returns a new HTTP client, so that tests do not share connections.
func connections(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// sdkClient connects an unmodified go-sdk client.
func sdkClient(t *testing.T, s *Server, opts *mcp.ClientOptions, version string) (context.Context, *mcp.ClientSession) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience.Limit())
	t.Cleanup(cancel)
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: s.URL(), HTTPClient: connections(t)}
	if s.cfg.Transport == OldSSE {
		transport = &mcp.SSEClientTransport{Endpoint: s.URL(), HTTPClient: connections(t)}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	cs, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	return ctx, cs
}

func sdkText(t *testing.T, ctx context.Context, cs *mcp.ClientSession, name string, args any) string {
	t.Helper()
	res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if res.IsError {
		t.Fatalf("%s: error result %v", name, res.Content[0].(*mcp.TextContent).Text)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

var sdkCases = []struct {
	name    string
	cfg     Config
	version string
	want    string
}{
	{"modern client, server of both eras", Config{}, "", "2026-07-28"},
	{"modern client, modern server, JSON", Config{Era: Modern, Answers: JSON}, "", "2026-07-28"},
	{"modern client, legacy server", Config{Era: Legacy, Stateful: true, EventIDs: true}, "", "2025-11-25"},
	{"modern client, legacy server, stateless", Config{Era: Legacy}, "", "2025-11-25"},
	{"old client, server of both eras", Config{Stateful: true}, "2025-06-18", "2025-06-18"},
	{"old client, legacy server, JSON", Config{Era: Legacy, Stateful: true, Answers: JSON}, "2025-03-26", "2025-03-26"},
	{"old transport", Config{Transport: OldSSE, Era: Legacy}, "2024-11-05", "2024-11-05"},
}

func TestUnmodifiedSDKClientListsAndCalls(t *testing.T) {
	for _, tt := range sdkCases {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, tt.cfg)
			ctx, cs := sdkClient(t, s, nil, tt.version)
			if got := cs.InitializeResult().ProtocolVersion; got != tt.want {
				t.Fatalf("negotiated %s, want %s", got, tt.want)
			}
			n := 0
			for _, err := range cs.Tools(ctx, nil) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n != len(tools) {
				t.Errorf("listed %d tools, want %d", n, len(tools))
			}
			if got := sdkText(t, ctx, cs, "echo", map[string]any{"text": "héllo"}); got != "héllo" {
				t.Errorf("echo: %q", got)
			}
			sdkText(t, ctx, cs, "append", map[string]any{"key": "k1"})
			sdkText(t, ctx, cs, "put", map[string]any{"key": "a", "value": "1"})
			if got := sdkText(t, ctx, cs, "get", map[string]any{"key": "a"}); got != "1" {
				t.Errorf("get: %q", got)
			}
			if got := s.Effects(); got["k1"] != 1 || got["a"] != 1 || len(got) != 2 {
				t.Errorf("effects: %v", got)
			}
			if got := sdkText(t, ctx, cs, "log", map[string]any{"text": "x"}); got != "logged" {
				t.Errorf("log: %q", got)
			}
			var state State
			if err := json.Unmarshal([]byte(sdkText(t, ctx, cs, "state", nil)), &state); err != nil || len(state.Seen) < 5 {
				t.Errorf("state: %v, %v", state, err)
			}
			if _, err := cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: "mem://1"}); err != nil {
				t.Error(err)
			}
			if _, err := cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "you"}}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSDKClientHearsOfChanges(t *testing.T) {
	for _, tt := range sdkCases {
		if tt.cfg.Era == Legacy && !tt.cfg.Stateful && tt.cfg.Transport == Streamable {
			continue // there is nothing to notify
		}
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, tt.cfg)
			updated, changed := make(chan string, 8), make(chan bool, 8)
			ctx, cs := sdkClient(t, s, &mcp.ClientOptions{
				ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- true },
			}, tt.version)
			if err := cs.Subscribe(ctx, &mcp.SubscribeParams{URI: "mem://1"}); err != nil {
				t.Fatal(err)
			}
			sdkText(t, ctx, cs, "touch", map[string]any{"uri": "mem://1"})
			sdkText(t, ctx, cs, "change_tools", nil)
			select {
			case uri := <-updated:
				if uri != "mem://1" {
					t.Errorf("updated %s", uri)
				}
			case <-ctx.Done():
				t.Fatal("no resources/updated")
			}
			select {
			case <-changed:
			case <-ctx.Done():
				t.Fatal("no tools/list_changed")
			}
			found := map[string]bool{}
			for tool, err := range cs.Tools(ctx, nil) {
				if err != nil {
					t.Fatal(err)
				}
				found[tool.Name] = true
			}
			if !found["extra"] {
				t.Errorf("tools did not change: %v", found)
			}
		})
	}
}

func TestSDKClientAnswersQuestionsAndGetsProgress(t *testing.T) {
	for _, tt := range sdkCases {
		t.Run(tt.name, func(t *testing.T) {
			steps := make(chan float64, 8)
			ctx, cs := sdkClient(t, start(t, tt.cfg), &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
				},
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { steps <- r.Params.Progress },
			}, tt.version)
			contains(t, sdkText(t, ctx, cs, "ask", nil), `"action":"accept"`, `"name":"Ada"`)
			params := &mcp.CallToolParams{Name: "progress", Arguments: map[string]any{"n": 3}}
			params.SetProgressToken("tok")
			if _, err := cs.CallTool(ctx, params); err != nil {
				t.Fatal(err)
			}
			for want := 1.0; want <= 3; want++ {
				select {
				case got := <-steps:
					if got != want {
						t.Errorf("step %v, want %v", got, want)
					}
				case <-ctx.Done():
					t.Fatalf("no step %v", want)
				}
			}
		})
	}
}

// The SDK resumes a broken stream: the response arrives and the effect happened once.
func TestSDKClientResumesAStreamThatBroke(t *testing.T) {
	for _, f := range []Fault{CutSSE, EndSSE} {
		s := start(t, Config{Era: Legacy, Stateful: true, EventIDs: true})
		ctx, cs := sdkClient(t, s, nil, "")
		s.Arm(f, 1)
		if got := sdkText(t, ctx, cs, "append", map[string]any{"key": "k"}); got != "appended k" {
			t.Errorf("%s: %q", f, got)
		}
		if got := s.Effects()["k"]; got != 1 {
			t.Errorf("%s: %d effects", f, got)
		}
	}
}
