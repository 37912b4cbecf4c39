package kernel_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// A server behind a URL that keeps ids as strings, and begins its answers with
// a byte order mark, is read as JavaScript clients read it.
func TestAnOddlyEncodedAnswerOverHTTP(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m plainMessage
		if r.Method != http.MethodPost || json.Unmarshal(body, &m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		result := `{}`
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			result = `{"content":[{"type":"text","text":"went"}]}`
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "\xef\xbb\xbf"+`{"jsonrpc":"2.0","id":"%s","result":%s}`, m.ID, result)
	}))
	t.Cleanup(server.Close)
	o := unprobed()
	o.Spec = launch.Spec{URL: server.URL}
	s := (&story{t: t, ended: make(chan error, 1)}).run(o).initialize()
	if got := s.call("go", ""); got != "went" {
		t.Errorf("answered %q", got)
	}
}
