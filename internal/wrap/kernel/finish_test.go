package kernel_test

import (
	"bytes"
	"context"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// What becomes of the calls of a client that has closed its side, as in `printf ... | gauze run -- server`.

// patient are settings of a session that waits for answers as long as somebody reads them.
func patient() Options {
	o := unprobed()
	o.Timing.FinishGrace = -1
	return o
}

// The server reads the end of its input immediately, and finishes what it was asked.
func TestTheServerReadsTheEndOfTheInputAndFinishes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := quick()
	o.Timing.FinishGrace, o.Timing.Timeout, o.Timing.MaxTime = -1, 0, 0
	o.Spec = plainServer("finishing", dir)
	s := begin(t, o)
	s.answer(s.request("initialize", initializeParams))
	id := s.start("work", "")
	s.in.Close()
	s.until("the server has read the end", func() bool {
		_, err := os.Stat(filepath.Join(dir, "eof"))
		return err == nil
	})
	s.want(event.Stopping, 0)
	for hours := range 2 * kernel.MissesToKill { // a server that cannot be asked any more is not hung
		s.session.Tick(time.Now().Add(time.Duration(hours+1) * time.Hour))
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.text(s.answer(id)); got != "finished" {
		t.Errorf("answered %q", got)
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
	s.want(event.Started, 1)
	s.want(event.ProbeMissed, 0)
}

// A server that exits at the end of its input is not started again. What it left unanswered is answered
// for it.
func TestAServerThatExitsAtTheEndOfItsInputHasEnded(t *testing.T) {
	t.Parallel()
	s := begin(t, patient()).initialize()
	read, write := s.start("hang", ""), s.start("hang_unsafe", `{"key":"k"}`)
	s.untilEffect("k")
	if err := s.end(); err != nil {
		t.Error(err)
	}
	s.wantFault(read, fault.Stopping)
	s.wantFault(write, fault.OutcomeUnknown)
	s.want(event.Started, 1)
	s.wantEffect("k", 1)
}

// A server that dies before it has read everything is replaced, and the next one gets the rest.
func TestACrashAfterTheClientClosedIsHealed(t *testing.T) {
	t.Parallel()
	s := begin(t, patient(), "-serial", "-read-exact").initialize()
	s.lastID += 2
	s.send(`{"jsonrpc":"2.0","id":101,"method":"tools/call","params":{"name":"die_read","arguments":{"key":"d","times":1}}}` + "\n" +
		`{"jsonrpc":"2.0","id":102,"method":"tools/call","params":{"name":"echo","arguments":{"text":"after"}}}`)
	if err := s.end(); err != nil {
		t.Error(err)
	}
	s.text(s.answer("101"))
	s.text(s.answer("102"))
	s.want(event.Started, 2)
}

// A server that dies with calls that it has read is replaced as well, and the next one reads the end of its
// input too. The history says that it died.
func TestACrashWithCallsAfterTheClientClosedIsHealed(t *testing.T) {
	t.Parallel()
	o := patient()
	o.Spec = plainServer("dying", t.TempDir())
	s := begin(t, o)
	s.answer(s.request("initialize", initializeParams))
	s.answer(s.request("tools/list", ""))
	read, write := s.start("get", ""), s.start("put", "")
	if err := s.end(); err != nil {
		t.Error(err)
	}
	if got := s.text(s.answer(read)); got != "finished" {
		t.Errorf("answered %q", got)
	}
	s.wantFault(write, fault.OutcomeUnknown)
	s.wantDeaths(upstream.ReasonExit, upstream.ReasonStopped)
}

// A server that has answered everything is not started again, however it exits.
func TestAServerThatHasAnsweredEverythingHasEnded(t *testing.T) {
	t.Parallel()
	o, dir := patient(), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "started"), 0o700); err != nil {
		t.Fatal(err)
	}
	o.Spec = plainServer("dying", dir)
	s := begin(t, o)
	s.answer(s.request("initialize", initializeParams))
	id := s.start("put", "")
	if err := s.end(); err != nil {
		t.Error(err)
	}
	s.text(s.answer(id))
	s.wantDeaths(upstream.ReasonStopped)
}

// A client that closed its side learns why the server does not start.
func TestAStartThatFailsAfterTheClientClosedIsExplained(t *testing.T) {
	t.Parallel()
	o := patient()
	o.Spec = plainServer("keyless", "")
	s := begin(t, o)
	id := s.request("initialize", initializeParams)
	if err := s.end(); err == nil {
		t.Error("the session ended without an error")
	}
	s.wantFault(id, fault.ServerExitsEarly)
	if said := s.answer(id).raw; !strings.Contains(said, "API_KEY is required") {
		t.Errorf("the cause is missing: %s", said)
	}
}

// wantDeaths compares why the generations of the server ended.
func (s *story) wantDeaths(reasons ...string) {
	s.t.Helper()
	var got []string
	for _, e := range s.timeline() {
		if e.Kind == event.Died {
			got = append(got, e.Reason)
		}
	}
	if !slices.Equal(got, reasons) {
		s.t.Errorf("the server ended because of %q, want %q\n%s", got, reasons, s.told())
	}
}

// Nobody reads the answers: the session ends without them, and so does a server that ignores the end of
// its input.
func TestASessionEndsWithItsReader(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	o := patient()
	o.ReaderGone = func(ctx context.Context) {
		select {
		case <-gone:
		case <-ctx.Done():
		}
	}
	s := begin(t, o, "-ignore-eof").initialize()
	id := s.start("hang_unsafe", `{"key":"k"}`)
	s.untilEffect("k")
	pid := s.pid()
	s.in.Close()
	s.until("the server is told", func() bool { return s.conn().InputEnded() })
	s.want(event.Stopping, 0)
	close(gone)
	if err := s.end(); err != nil {
		t.Error(err)
	}
	s.wantGone(pid)
	if n := s.answers(id); n != 1 {
		t.Errorf("%d answers", n)
	}
}

// Nobody can answer the questions of a server any more. It is told, unless it has read the end of its input.
func TestQuestionsAfterTheClientClosed(t *testing.T) {
	t.Parallel()
	const nobody = "the client has closed the connection"
	t.Run("an open one", func(t *testing.T) {
		s := beginWeb(t, stateful, patient())
		s.initialize()
		id := s.start("ask", "{}")
		s.notice("elicitation/create", 1)
		if err := s.end(); err != nil {
			t.Error(err)
		}
		if got := s.text(s.answer(id)); !strings.Contains(got, nobody) {
			t.Errorf("%q", got)
		}
	})
	t.Run("a new one", func(t *testing.T) {
		web := faultyhttp.New(stateful)
		if err := web.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { web.Close() })
		to, err := url.Parse(web.URL())
		if err != nil {
			t.Fatal(err)
		}
		closed := make(chan struct{})
		relay := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL = to }}
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), `"ask"`) {
				<-closed
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			relay.ServeHTTP(w, r)
		}))
		t.Cleanup(func() { front.CloseClientConnections(); front.Close() })
		o := patient()
		o.Spec.URL = front.URL
		s := beginWeb(t, stateful, o)
		s.initialize()
		id := s.start("ask", "{}")
		s.in.Close()
		s.until("the client has left", func() bool {
			return s.session.Inside().Left
		})
		close(closed)
		if err := s.end(); err != nil {
			t.Error(err)
		}
		if got := s.text(s.answer(id)); !strings.Contains(got, nobody) {
			t.Errorf("%q", got)
		}
	})
	t.Run("one of a process that has not read the end", func(t *testing.T) {
		o := patient()
		o.Limits.Window = 1
		s := begin(t, o, "-ignore-eof").initialize() // otherwise it may exit with the last call
		id := s.start("ask", "{}")
		s.notice("elicitation/create", 1)
		queued := s.start("append", `{"key":"k"}`)
		if err := s.end(); err != nil {
			t.Error(err)
		}
		if got := s.text(s.answer(id)); !strings.Contains(got, nobody) {
			t.Errorf("%q", got)
		}
		s.text(s.answer(queued))
	})
	t.Run("one of gauze", func(t *testing.T) {
		i := samplingInn(t, samplingHello)
		i.session.Retime(func(t *Timing, _ *Limits) { t.FinishGrace = -1 })
		id := i.start("book", threeDays)
		i.notice("sampling/createMessage", 1)
		if err := i.end(); err != nil {
			t.Error(err)
		}
		if got := i.answer(id).raw; !strings.Contains(got, rejectedBy) {
			t.Error(got)
		}
	})
}
