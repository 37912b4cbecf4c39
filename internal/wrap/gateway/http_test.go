package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// HTTP on both sides.

func TestTheGoSDKKeepsWorkingThroughRestartsOfAnHTTPServer(t *testing.T) {
	t.Parallel()
	for _, era := range []faultyhttp.Era{faultyhttp.Legacy, faultyhttp.Modern} {
		t.Run(string(era), func(t *testing.T) {
			server := faultyhttp.New(faultyhttp.Config{Era: era, Stateful: true})
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { server.Close() })
			f := serveURL(t, quickly(), server.URL())
			ctx := patience.Context(t)
			session, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).
				Connect(ctx, &mcp.StreamableClientTransport{Endpoint: "http://" + f.addr + Path}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			for i := range 3 {
				result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": fmt.Sprint("call ", i)}})
				if err != nil || result.IsError {
					t.Fatalf("call %d: %v, %+v", i, err, result)
				}
				if err := server.Restart(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// marked is a modern server with a tool that wants an argument repeated in a
// header.
func marked(t *testing.T) (address string, calls func() int) {
	t.Helper()
	done := make(chan struct{}, 100)
	server := mcp.NewServer(&mcp.Implementation{Name: "marked", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "put", InputSchema: map[string]any{
		"type": "object",
		"properties": map[string]any{
			"region": map[string]any{"type": "string", "x-mcp-header": "Region"},
			"count":  map[string]any{"type": "integer", "x-mcp-header": "Count"},
		},
	}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		done <- struct{}{}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "put"}}}, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	listening := httptest.NewServer(handler)
	t.Cleanup(listening.Close)
	return listening.URL, func() int { return len(done) }
}

func TestArgumentsInHeadersMustEqualTheBody(t *testing.T) {
	t.Parallel()
	address, calls := marked(t)
	f := serveURL(t, quickly(), address)
	c := f.client()
	c.modern("0", "tools/list", "{}").want(200).result().wantText(t, "x-mcp-header")
	const region, count = paramHeader + "Region", paramHeader + "Count"
	for _, test := range []struct {
		name, arguments string
		headers         []string
		status          int
	}{
		{"equal", `{"region":"eu"}`, []string{region, "eu"}, 200},
		{"equal and encoded", `{"region":"Zürich"}`, []string{region, "=?base64?WsO8cmljaA==?="}, 200},
		{"equal numbers", `{"region":"eu","count":3.0}`, []string{region, "eu", count, "3"}, 200},
		{"absent on both sides", `{}`, nil, 200},
		{"different", `{"region":"eu"}`, []string{region, "us"}, 400},
		{"different numbers", `{"region":"eu","count":4}`, []string{region, "eu", count, "3"}, 400},
		{"missing", `{"region":"eu"}`, nil, 400},
		{"without an argument", `{}`, []string{region, "eu"}, 400},
		{"with null", `{"region":null}`, []string{region, "eu"}, 400},
		{"broken base64", `{"region":"Hello"}`, []string{region, "=?base64?SGVsbG8?="}, 400},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := calls()
			m := c.modern("7", "tools/call", `{"name":"put","arguments":`+test.arguments+`}`, test.headers...).want(test.status).result()
			if test.status == 200 {
				m.wantText(t, "put")
			} else if m.Error == nil || m.Error.Code != codeHeaderMismatch || string(m.ID) != "7" || calls() != before {
				t.Errorf("told %s, after %d calls", m.raw, calls()-before)
			}
		})
	}
}

func TestAnHTTPServersLogGoesToTheOneWhoCaused(t *testing.T) {
	t.Parallel()
	server := faultyhttp.New(faultyhttp.Config{Era: faultyhttp.Modern})
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	f := serveURL(t, quickly(), server.URL())
	waiting := make(chan *answer)
	go func() {
		body, headers := modernRequest("1", "tools/call", `{"name":"slow","arguments":{"key":"k"}}`, `"io.modelcontextprotocol/logLevel":"debug"`)
		a, err := f.client().try("POST", body, headers...)
		if err != nil {
			t.Error(err)
		}
		waiting <- a
	}()
	<-server.Reached("k")
	body, headers := modernRequest("1", "tools/call", `{"name":"log","arguments":{"text":"mine"}}`, `"io.modelcontextprotocol/logLevel":"debug"`)
	a := f.client().request("POST", body, headers...).want(200)
	if m := a.next(); m.Method != "notifications/message" || !strings.Contains(m.raw, "mine") {
		t.Errorf("told %s", m.raw)
	}
	a.result()
	server.Release("k")
	if m := (<-waiting).next(); m == nil || m.Method != "" {
		t.Errorf("the other client was told %+v", m)
	}
}
