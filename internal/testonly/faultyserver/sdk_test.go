package faultyserver

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// sdkClient connects an unmodified go-sdk client to the server.
func sdkClient(t *testing.T, opts *mcp.ClientOptions, version string, flags ...string) (context.Context, *mcp.ClientSession) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience.Limit())
	t.Cleanup(cancel)
	path, args, env := Command(flags...)
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	cs, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
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

var sdkEras = []struct{ name, flag, version, want string }{
	{"modern client, server of both eras", "both", "", "2026-07-28"},
	{"modern client, modern server", "modern", "", "2026-07-28"},
	{"modern client, legacy server", "legacy", "", "2025-11-25"},
	{"old client, server of both eras", "both", "2025-06-18", "2025-06-18"},
	{"old client, legacy server", "legacy", "2024-11-05", "2024-11-05"},
}

func TestUnmodifiedSDKClientListsAndCalls(t *testing.T) {
	for _, tt := range sdkEras {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger")
			ctx, cs := sdkClient(t, nil, tt.version, "-era", tt.flag, "-ledger", path, "-page-size", "7")
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
			sdkText(t, ctx, cs, "set", map[string]any{"key": "a", "value": "1"})
			if got := sdkText(t, ctx, cs, "get", map[string]any{"key": "a"}); got != "1" {
				t.Errorf("get: %q", got)
			}
			entries, torn, err := ReadLedger(path)
			if err != nil || torn != 0 || len(entries) != 2 || entries[0].Op != "append" || entries[0].Key != "k1" {
				t.Errorf("ledger: %v torn %d err %v", entries, torn, err)
			}
			var state struct{ Seen []seen }
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

func TestSDKClientHearsOfChangesInBothEras(t *testing.T) {
	for _, tt := range sdkEras {
		t.Run(tt.name, func(t *testing.T) {
			updated, changed := make(chan string, 8), make(chan bool, 8)
			ctx, cs := sdkClient(t, &mcp.ClientOptions{
				ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- true },
			}, tt.version, "-era", tt.flag)
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
			if !found["extra"] || found["get"] {
				t.Errorf("tools did not change: %v", found)
			}
		})
	}
}

func TestSDKClientAnswersQuestionsInBothEras(t *testing.T) {
	opts := &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
	}
	ctx, cs := sdkClient(t, opts, "2025-11-25")
	contains(t, "legacy answer", sdkText(t, ctx, cs, "ask", nil), `"action":"accept"`, `"name":"Ada"`)
	ctx, cs = sdkClient(t, opts, "")
	contains(t, "modern answer", sdkText(t, ctx, cs, "ask_rounds", nil), `"action":"accept"`, `"name":"Ada"`)
}

func TestSDKClientGetsProgressInBothEras(t *testing.T) {
	for _, version := range []string{"", "2025-06-18"} {
		steps := make(chan float64, 8)
		ctx, cs := sdkClient(t, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { steps <- r.Params.Progress },
		}, version)
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
	}
}
