package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/modeltest"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// A server at a URL rejects a call, and the configured model corrects it.
func TestRunCorrectsARejectedCall(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(body, &m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		members := `"result":{}`
		switch m.Method {
		case "initialize":
			members = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`
		case "tools/list":
			members = `"result":{"tools":[{"name":"book","inputSchema":{"type":"object","properties":{"days":{"type":"integer"}},"required":["days"]}}]}`
		case "tools/call":
			members = `"error":{"code":-32602,"message":"Invalid arguments for tool book: days must be an integer"}`
			if strings.Contains(string(body), `"days":3`) {
				ran.Add(1)
				members = `"result":{"content":[{"type":"text","text":"booked"}]}`
			}
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, members)
	}))
	defer server.Close()
	model := modeltest.OpenAI(t, modeltest.Says(`{"arguments":{"days":3}}`))
	dir := t.TempDir()
	w := startRun(t, []string{"GAUZE_MODEL_URL=" + model.URL, "GAUZE_STATE_DIR=" + dir, "XDG_CONFIG_HOME=" + filepath.Join(dir, "config")},
		"--url", server.URL, "--model", "openai:oracle")
	w.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	w.response()
	w.request("tools/list", `{}`)
	w.response()
	w.call("book", `{"days":"1 + 2"}`)
	if _, got := w.response(); !strings.Contains(got, "booked") || !strings.Contains(got, "The arguments were adjusted: days") || ran.Load() != 1 {
		t.Errorf("%s\nran %d times\n%s", got, ran.Load(), w.stderr)
	}
	w.in.Close()
	w.cmd.Wait()
	if got := w.stderr.String(); !strings.Contains(got, "corrected tools/call book: days") || !strings.Contains(got, ", 100+20 tokens)") || len(model.Requests()) != 1 {
		t.Errorf("%d questions\n%s", len(model.Requests()), got)
	}
}

func TestTheServerDoesNotGetTheKeyOfTheModel(t *testing.T) {
	t.Setenv("GAUZE_MODEL_KEY", "hunter2")
	t.Setenv("GAUZE_MODEL", "")
	o := proxy.Options{Spec: launch.Spec{Command: "x"}}
	if err := setModels(&o, "", io.Discard); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(o.Spec.Environment(), func(pair string) bool { return strings.Contains(pair, "hunter2") }) {
		t.Error("the key is in the environment of the server")
	}
}
