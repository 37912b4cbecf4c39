package fleet

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/refusing"
)

// A port that another entry of the user's shows to be right is suggested; a project's entry shows
// nothing.
func TestThePortOfAnotherEntryIsSuggested(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }))
	defer server.Close()
	refused := fmt.Sprintf("127.0.0.1:%d", refusing.Port(t))
	entry := func(name, address string) string {
		return fmt.Sprintf(`{"mcpServers": {%q: {"url": "http://%s/mcp"}}}`, name, address)
	}
	for file, suggested := range map[string]bool{".codeium/windsurf/mcp_config.json": true, "project/.mcp.json": false} {
		h := newHome(t)
		h.write(".cursor/mcp.json", entry("ledger", refused))
		h.write(file, strings.ReplaceAll(entry("other", server.Listener.Addr().String()), `"url"`, `"type": "http", "serverUrl": "http://`+server.Listener.Addr().String()+`/mcp", "url"`))
		view := h.fleet.Look()
		chosen, err := view.Choose(Choice{Names: []string{"ledger"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range h.fleet.Check(t.Context(), chosen, CheckOptions{}) {
			if got := strings.Contains(c.Report.Todo, "which another configured server uses"); got != suggested {
				t.Errorf("%s: %s", file, c.Report.Todo)
			}
		}
	}
}
