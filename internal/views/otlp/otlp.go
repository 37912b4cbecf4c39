// Package otlp exports tool calls as spans and what a wrap counts as metrics, over OTLP/HTTP with
// protobuf. It is off unless the user configured it with OpenTelemetry's variables in the environment
// of the wrap. Names follow OpenTelemetry's conventions for MCP. Arguments and results are not
// exported.
//
// The few messages are encoded here because OpenTelemetry's SDK would cost every wrap 0.5 MB of
// memory, 1.4 ms at its start and 8 MB of the binary, also those that export nothing.
//
//	otlp.go     Exporter: what is exported, and until when
//	config.go   OpenTelemetry's variables
//	span.go     a tool call as a span; trace context
//	metric.go   what a wrap counts, as metrics
//	send.go     how batches are sent
//	protobuf.go the encoding
package otlp

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// About describes the process that exports.
type About struct {
	Version   string // gauze's
	Transport string // how the client reaches gauze: pipe or tcp
}

// Exporter exports until Close. A nil Exporter exports nothing.
type Exporter struct {
	about    About
	resource []byte  // about, encoded
	traces   *signal // nil: off
	metrics  *signal // nil: off

	spans chan []byte // encoded. If it is full, spans are dropped.
	stop  chan struct{}
	done  chan struct{}
	end   context.CancelFunc
	life  context.Context

	mu      sync.Mutex
	sources []*func() live.Server // the wraps whose numbers are exported
	ended   []live.Server         // the last numbers of those that ended since the last export
}

const (
	maxQueued = 2048 // spans
	maxBatch  = 512  // spans
	batchTime = 5 * time.Second
)

// New returns an Exporter for the variables that lookup finds, or nil if nothing is to be exported.
// describe is called only if something is.
func New(lookup func(string) string, describe func() About) (*Exporter, error) {
	if strings.EqualFold(lookup("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	traces, err := configure(lookup, "TRACES", "v1/traces")
	if err != nil {
		return nil, err
	}
	metrics, err := configure(lookup, "METRICS", "v1/metrics")
	if err != nil || traces == nil && metrics == nil {
		return nil, err
	}
	about := describe()
	resource, err := resourceOf(lookup, about)
	if err != nil {
		return nil, err
	}
	e := &Exporter{about: about, resource: resource, traces: traces, metrics: metrics,
		spans: make(chan []byte, maxQueued), stop: make(chan struct{}), done: make(chan struct{})}
	e.life, e.end = context.WithCancel(context.Background())
	return e, nil
}

// Tracer returns what follows tool calls, nil if spans are not exported.
func (e *Exporter) Tracer() proxy.Tracer {
	if e == nil || e.traces == nil {
		return nil
	}
	return tracer{e}
}

// Start begins to export.
func (e *Exporter) Start() {
	if e != nil {
		go e.run()
	}
}

// Watch exports what a wrap counted, which source returns, until it has ended. end reads it once more.
func (e *Exporter) Watch(source func() live.Server) (end func()) {
	if e == nil || e.metrics == nil {
		return func() {}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sources = append(e.sources, &source)
	return sync.OnceFunc(func() {
		last := source()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.sources = slices.DeleteFunc(e.sources, func(s *func() live.Server) bool { return s == &source })
		e.ended = append(e.ended, last)
	})
}

// Close exports what is left, for at most as long as limit. It must follow Start.
func (e *Exporter) Close(limit time.Duration) {
	if e == nil {
		return
	}
	defer time.AfterFunc(limit, e.end).Stop()
	close(e.stop)
	<-e.done
	e.end()
}

// run sends batches until Close.
func (e *Exporter) run() {
	defer close(e.done)
	var batch [][]byte
	var full, due <-chan time.Time
	if e.metrics != nil {
		tick := time.NewTicker(e.metrics.interval)
		defer tick.Stop()
		due = tick.C
	}
	send := func() {
		e.traces.send(e.life, request(e.resource, e.about.Version, batch))
		batch, full = nil, nil
	}
	for {
		select {
		case span := <-e.spans:
			if batch = append(batch, span); len(batch) == 1 {
				full = time.After(batchTime)
			}
			if len(batch) == maxBatch {
				send()
			}
		case <-full:
			send()
		case <-due:
			e.sendMetrics()
		case <-e.stop:
			for len(e.spans) > 0 {
				batch = append(batch, <-e.spans)
			}
			if len(batch) > 0 {
				send()
			}
			if e.metrics != nil {
				e.sendMetrics()
			}
			return
		}
	}
}

// sendMetrics sends the numbers of every wrap.
func (e *Exporter) sendMetrics() {
	e.mu.Lock()
	now, sources := e.ended, slices.Clone(e.sources)
	e.ended = nil
	e.mu.Unlock()
	for _, source := range sources {
		now = append(now, (*source)())
	}
	for _, s := range now {
		e.metrics.send(e.life, metricsRequest(e.resource, e.about.Version, &s, time.Now()))
	}
}
