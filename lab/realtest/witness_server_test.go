//go:build linux

package realtest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A witness is a server with one tool. As a program it is this test binary, started again with envWitness set.
const (
	envWitness  = "REALTEST_WITNESS"
	witnessTool = "testify"
)

func newWitness() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "witness", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: witnessTool, Description: "says nothing"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return saying("nothing"), nil, nil
	})
	return s
}

// beTheWitness never returns if this process was started to be one.
func beTheWitness() {
	if os.Getenv(envWitness) == "" {
		return
	}
	if err := newWitness().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// webWitness is a server behind URLs, a name each, that remembers the headers of what came.
type webWitness struct {
	*httptest.Server
	mu   sync.Mutex
	came map[string]map[string]string
}

func newWebWitness(t *testing.T) *webWitness {
	w := &webWitness{came: map[string]map[string]string{}}
	serve := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newWitness() }, nil)
	w.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if name, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/"), "/mcp"); ok {
			headers := map[string]string{}
			for header := range r.Header {
				headers[header] = r.Header.Get(header)
			}
			w.mu.Lock()
			w.came[name] = headers
			w.mu.Unlock()
			serve.ServeHTTP(out, r)
			return
		}
		http.NotFound(out, r)
	}))
	t.Cleanup(w.CloseClientConnections)
	t.Cleanup(w.Close)
	return w
}

func (w *webWitness) at(name string) string { return w.URL + "/" + name + "/mcp" }

// take returns the headers that came for a name, and forgets them.
func (w *webWitness) take(name string) (map[string]string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	headers, ok := w.came[name]
	delete(w.came, name)
	return headers, ok
}
