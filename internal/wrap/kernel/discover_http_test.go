package kernel_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// discoverer answers server/discover as a test says; the request's body has been read.
func discoverer(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, id string)) Options {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m, _, err := wire.Scan(body)
		if err != nil || m.Method != "server/discover" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		answer(w, r, string(m.ID))
	}))
	t.Cleanup(server.Close)
	o := unprobed()
	o.Timing.DiscoverWait = 20 * time.Millisecond
	o.Spec.URL = server.URL
	return o
}

// Before a server behind a URL has begun to respond, nothing says that it is a legacy one: it may be cold. One that has begun and
// says no more ignores the request.
func TestASlowServerBehindAURLIsNotALegacyOne(t *testing.T) {
	t.Parallel()
	asked, warm := make(chan struct{}), make(chan struct{})
	cold := beginWeb(t, stateful, discoverer(t, func(w http.ResponseWriter, _ *http.Request, id string) {
		close(asked)
		<-warm
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"cold","version":"1"}}}`, id)
	}))
	id := cold.request("server/discover", "{"+modernMeta+"}")
	<-asked
	ignores := beginWeb(t, faultyhttp.Config{}, discoverer(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	if m := ignores.wantFault(ignores.request("server/discover", "{"+modernMeta+"}"), fault.DiscoverUnanswered); m.Error == nil || m.Error.Code != -32601 {
		t.Errorf("%s", m.raw)
	}
	close(warm) // the other, which was asked later, has had its time
	if m := cold.answer(id); m.Error != nil {
		t.Errorf("%s", m.raw)
	}
}
