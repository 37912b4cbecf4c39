package gateway

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// A real client, through the gateway, to servers that die.
func TestTheGoSDKKeepsWorkingThroughDeaths(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"legacy", "modern"} {
		for _, resumable := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, resumable %v", era, resumable), func(t *testing.T) {
				o := quickly()
				o.Resumable = resumable
				f := serve(t, o, "-era", era)
				ctx := patience.Context(t)
				changed := make(chan struct{}, 10)
				client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ClientOptions{
					ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
				})
				session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: "http://" + f.addr + Path}, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				if _, err := session.ListTools(ctx, nil); err != nil {
					t.Fatal(err)
				}
				pids := map[string]bool{}
				for i := range 3 {
					result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "pid", Arguments: map[string]any{}})
					if err != nil || result.IsError {
						t.Fatalf("call %d: %v, %+v", i, err, result)
					}
					pids[fmt.Sprint(result.StructuredContent)] = true
					result, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "die", Arguments: map[string]any{}})
					if err != nil || !result.IsError {
						t.Fatalf("death %d: %v, %+v", i, err, result)
					}
				}
				if len(pids) != 3 {
					t.Errorf("the servers were %v", pids)
				}
				result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "append", Arguments: map[string]any{"key": "k", "value": "v"}})
				if err != nil || result.IsError {
					t.Fatalf("%v, %+v", err, result)
				}
				if era == "modern" {
					return // what is not asked for is not told
				}
				if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "change_tools", Arguments: map[string]any{}}); err != nil {
					t.Fatal(err)
				}
				select {
				case <-changed:
				case <-ctx.Done():
					t.Error("the client was not told that the list changed")
				}
			})
		}
	}
}
