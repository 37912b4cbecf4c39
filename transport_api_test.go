package gauze_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/task"
)

func TestWriteReturnsWhenItsContextIsDone(t *testing.T) {
	conn, err := newTransport(t, faulty(t.TempDir(), "both")).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := conn.Write(ctx, &jsonrpc.Request{Method: "notifications/initialized"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Write returned %v, want context.Canceled", err)
	}
}

func TestCloseReturnsWhyTheServerCouldNotBeKeptRunning(t *testing.T) {
	gaveUp := make(chan struct{}, 100)
	transport := newTransport(t, gauze.Options{Command: []string{"no-such-bin-xyz"}, OnEvent: func(e event.Event) {
		if e.Kind == "gave-up" {
			gaveUp <- struct{}{}
		}
	}})
	conn, err := transport.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-gaveUp
	if err := conn.Close(); err == nil {
		t.Error("Close returned nil")
	}
}

func TestTransportReportsHealthCountersAndRecoveries(t *testing.T) {
	options := faulty(t.TempDir(), "both")
	transport := newTransport(t, options)
	if h := transport.Health(); h.State != health.Dead || transport.Counters() != (gauze.Counters{}) || transport.Recoveries() != nil {
		t.Errorf("before Connect: %+v", h)
	}
	session := connect(t, transport)
	if h := transport.Health(); h.State != health.Healthy || h.Generation != 1 {
		t.Errorf("after Connect: %+v", h)
	}
	if _, err := session.ListTools(t.Context(), nil); err != nil { // it says which tools only read
		t.Fatal(err)
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "die_read", Arguments: map[string]any{"times": 1}})
	if err != nil || result.IsError {
		t.Fatalf("%v, %+v", err, result)
	}
	if h := transport.Health(); h.Restarts != 1 || h.Generation != 2 {
		t.Errorf("after a restart: %+v", h)
	}
	if c := transport.Counters(); c.Calls < 3 || c.Replayed != 1 || c.Unknown != 0 {
		t.Errorf("%+v", c)
	}
	if all := transport.Recoveries(); len(all) != 1 || all[0].Took <= 0 || all[0].Start > all[0].Took {
		t.Errorf("%+v", all)
	}
}

// records is a slog.Handler that keeps what is logged.
type records struct {
	mu  sync.Mutex
	all []slog.Record
}

func (*records) Enabled(context.Context, slog.Level) bool { return true }
func (r *records) WithAttrs([]slog.Attr) slog.Handler     { return r }
func (r *records) WithGroup(string) slog.Handler          { return r }
func (r *records) Handle(_ context.Context, record slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, record)
	return nil
}

func TestLoggerReceivesEveryEvent(t *testing.T) {
	logged := &records{}
	options := faulty(t.TempDir(), "both")
	options.Logger = slog.New(logged)
	var events []string
	restored := make(chan struct{})
	options.OnEvent = func(e event.Event) {
		events = append(events, "gauze: "+string(e.Kind))
		if e.Kind == event.Restored {
			close(restored)
		}
	}
	transport := newTransport(t, options)
	session := connect(t, transport)
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "die", Arguments: map[string]any{"when": "after-effect"}})
	if err != nil || gauze.FaultOf(result) == nil {
		t.Fatalf("%v, %+v", err, result)
	}
	<-restored
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	levels := map[string][]slog.Level{}
	var messages []string
	for _, record := range logged.all {
		messages = append(messages, record.Message)
		levels[record.Message] = append(levels[record.Message], record.Level)
	}
	if !slices.Equal(messages, events) {
		t.Errorf("logged %q\nevents %q", messages, events)
	}
	for message, want := range map[string][]slog.Level{
		"gauze: started": {slog.LevelInfo, slog.LevelInfo},
		"gauze: died":    {slog.LevelWarn, slog.LevelInfo}, // it crashed, then it was stopped
		"gauze: unknown": {slog.LevelWarn},
	} {
		if got := levels[message]; !slices.Equal(got, want) {
			t.Errorf("%s is logged at %v, want %v", message, got, want)
		}
	}
}

func TestAnEventIsLoggedWithoutSecrets(t *testing.T) {
	var text strings.Builder
	slog.New(slog.NewTextHandler(&text, nil)).Info("m", "event", event.Event{Kind: event.Stray, Detail: "password=hunter2", PID: 7})
	if got := text.String(); strings.Contains(got, "hunter2") || !strings.Contains(got, "event.kind=stray") || !strings.Contains(got, "event.pid=7") || strings.Contains(got, "tool") {
		t.Error(got)
	}
}

func TestTheCauseOfAnEventIsLogged(t *testing.T) {
	e := event.Event{Kind: event.GaveUp, Detail: "it exited 3 times", Cause: fault.Cause{
		Code: "env_not_set", Explanation: "The server requires KEY, password=hunter2.", Remedy: "Set it with --header-env Authorization=NAME."}}
	var text strings.Builder
	slog.New(slog.NewTextHandler(&text, nil)).Info("m", "event", e)
	for _, got := range []string{text.String(), e.String()} {
		if !strings.Contains(got, "The server requires KEY") || strings.Contains(got, "hunter2") {
			t.Error(got)
		}
	}
	if !strings.Contains(text.String(), "env_not_set") || !strings.Contains(text.String(), "Authorization=NAME") {
		t.Error(text.String())
	}
}

// Run with -race. A Transport may be connected and asked from several goroutines.
func TestATransportMayBeUsedConcurrently(t *testing.T) {
	options := faulty(t.TempDir(), "both")
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			transport := newTransport(t, options)
			conn, err := transport.Connect(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			transport.Health()
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// What a program reads about a server that cannot be kept running is filled: how often it failed, when, why
// and what happens next.
func TestTransportReportsWhyAServerCannotBeKeptRunning(t *testing.T) {
	options := faulty(t.TempDir(), "legacy")
	options.Command = append(options.Command, "-exit-after-initialize=1000")
	options.Restart = gauze.Restart{Backoff: time.Millisecond, Limit: 5, Period: time.Hour, Healthy: time.Hour, Open: time.Hour, OpenMax: time.Hour}
	opened := make(chan struct{})
	options.OnEvent = func(e event.Event) {
		if e.Kind == event.Opened {
			close(opened)
		}
	}
	began := time.Now()
	transport := newTransport(t, options)
	session := connect(t, transport)
	<-opened
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"})
	if f := gauze.FaultOf(result); err != nil || f == nil || f.Code != fault.CrashLoop {
		t.Fatalf("%v, %+v", err, f)
	}
	h := transport.Health()
	if h.State != health.Dead || h.ConsecutiveFailures != 6 || h.LastFailure.Before(began) || h.LastSuccess.Before(began) || h.LastCause != "it exited (exit status 1)" || !h.NextTry.After(time.Now()) {
		t.Errorf("%+v", h)
	}
	s := task.Observe("", transport)
	if len(s.Failures) != 6 || s.NextTry != h.NextTry || s.Cause.Code == "" {
		t.Fatalf("%+v", s)
	}
	for _, f := range s.Failures {
		if f.Kind != health.Exited || f.Detail != h.LastCause || f.At.Before(began) {
			t.Errorf("%+v", f)
		}
	}
	if v, err := task.Evaluate(t.Context(), s, nil); err != nil || v.Action != task.ActionStopTask {
		t.Errorf("%+v, %v", v, err)
	}
}

// A program that sets IdleProbe learns that an idle server no longer answers.
func TestTransportLooksAtAnIdleServer(t *testing.T) {
	web := faultyhttp.New(faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	unresponsive := make(chan struct{}, 1000)
	options := gauze.Options{URL: web.URL(), Tuning: gauze.Tuning{IdleProbe: 10 * time.Millisecond, ProbeTimeout: 200 * time.Millisecond}}
	options.OnEvent = func(e event.Event) {
		if e.Kind == event.HealthChanged && e.To == health.Unresponsive.String() {
			unresponsive <- struct{}{}
		}
	}
	transport := newTransport(t, options)
	connect(t, transport)
	web.Arm(faultyhttp.SlowHeaders, 1<<30, faultyhttp.Match{Method: "ping"})
	<-unresponsive
	if h := transport.Health(); h.ConsecutiveFailures < 3 || h.LastCause == "" {
		t.Errorf("%+v", h)
	}
}

// Reconnect replaces the server under a session that goes on.
func TestTransportReconnects(t *testing.T) {
	options := faulty(t.TempDir(), "both")
	transport := newTransport(t, options)
	if err := transport.Reconnect(t.Context()); err == nil {
		t.Error("reconnected before Connect")
	}
	session := connect(t, transport)
	if err := transport.Reconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h := transport.Health(); h.State != health.Healthy || h.Generation != 2 || h.ConsecutiveFailures != 0 {
		t.Errorf("%+v", h)
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "x"}})
	if err != nil || result.IsError {
		t.Errorf("%v, %+v", err, result)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := transport.Reconnect(over); err == nil {
		t.Error("reconnected after ctx ended")
	}
}
