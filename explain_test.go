package gauze_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/repair"
)

// politely adds a line to every message, and counts them.
func politely(asked *[]string) func(repair.Explanation) string {
	return func(e repair.Explanation) string {
		*asked = append(*asked, e.Tool)
		return "Dear model,\n" + e.Message
	}
}

func TestMiddlewareExplains(t *testing.T) {
	var asked []string
	b := newBureau(t, gauze.MiddlewareOptions{Explain: politely(&asked), Model: &oracle{answer: fixed}, Correct: repair.Policy{MaxRetries: new(0)}})
	b.addTrip(nil, nil, errors.New("when must be a date"))
	client := b.connect()
	contains(t, b.refused(client, "raw", inWords), "Dear model,\nThe call to `raw` was not run", "A model proposed the call below.", inFives)
	contains(t, said(b.call(client, "trip", inProse)), "[gauze] Dear model,\nThe server rejected the call to `trip`")
	contains(t, b.unknown(client, "no_such_tool", inFives), "Dear model,")
	b.passed(client, "raw", inFives)
	if got := strings.Join(asked, " "); got != "raw trip no_such_tool" {
		t.Errorf("asked about %s", got)
	}
}

func TestAnExecutorExplains(t *testing.T) {
	var asked []string
	executor := repair.Executor{Strict: true, Explain: politely(&asked)}
	_, err := repair.Execute(t.Context(), &executor, bookTrip, json.RawMessage(inWords), (&stub{}).run)
	if err == nil || !strings.HasPrefix(err.Error(), "Dear model,\nThe call to `book_trip` was not run") || len(asked) != 1 {
		t.Errorf("%v, asked about %q", err, asked)
	}
}

func TestATransportExplains(t *testing.T) {
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "get"}, func(context.Context, *mcp.CallToolRequest, forecast) (*mcp.CallToolResult, any, error) {
			return text("sunny"), nil, nil
		})
		return server
	}, nil))
	t.Cleanup(web.Close)
	var asked []string
	client := connectClient(t, newTransport(t, gauze.Options{URL: web.URL, Explain: politely(&asked)}))
	if _, err := client.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	result, texts := callTool(t, client, "get", inWords)
	if !result.IsError || !strings.Contains(strings.Join(texts, "\n"), "[gauze] Dear model,\nThe server rejected the call") {
		t.Errorf("%q", texts)
	}
}
