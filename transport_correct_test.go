package gauze_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/repair"
)

// A Transport hands its model to the wrap, and each tool gets the policy and the model that the
// options specify for it.
func TestTransportCorrectsRejectedCalls(t *testing.T) {
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
		for _, name := range []string{"get", "off", "own"} {
			mcp.AddTool(server, &mcp.Tool{Name: name}, func(_ context.Context, _ *mcp.CallToolRequest, in forecast) (*mcp.CallToolResult, any, error) {
				if in.Days != 5 {
					return nil, nil, errors.New("no")
				}
				return text("sunny"), nil, nil
			})
		}
		return server
	}, nil))
	t.Cleanup(web.Close)
	for _, mode := range []gauze.RepairMode{gauze.RepairDefault, gauze.RepairStrict} {
		var mu sync.Mutex
		var kinds []event.Kind
		model, own := &oracle{answer: fixed}, &oracle{answer: fixed}
		client := connectClient(t, newTransport(t, gauze.Options{
			URL: web.URL, Repair: mode, Model: model,
			Tools: map[string]gauze.Policy{
				"off": {Correct: &repair.Policy{Enabled: new(false)}},
				"own": {Correct: &repair.Policy{Model: own}},
			},
			OnEvent: func(e event.Event) {
				if e.Model != nil {
					mu.Lock()
					defer mu.Unlock()
					kinds = append(kinds, e.Kind)
				}
			},
		}))
		if _, err := client.ListTools(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for tool, isError := range map[string]bool{"get": false, "off": true, "own": false} {
			result, texts := callTool(t, client, tool, inWords)
			if result.IsError != isError {
				t.Errorf("%q, %s: %q", mode, tool, texts)
			}
		}
		if model.asked.Load() != 1 || own.asked.Load() != 1 {
			t.Errorf("%q: asked %d and %d times", mode, model.asked.Load(), own.asked.Load())
		}
		client.Close() // after which all events have been reported
		if !slices.Equal(kinds, []event.Kind{event.Corrected, event.Corrected}) {
			t.Errorf("%q: %q", mode, kinds)
		}
	}
}
