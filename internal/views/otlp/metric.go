package otlp

import (
	"math"
	"time"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/metrics"
)

const cumulative = 2 // since the wrap began

// metricsRequest returns the request that exports what a wrap counted.
func metricsRequest(resource []byte, version string, s *live.Server, now time.Time) []byte {
	var all [][]byte
	for _, r := range metrics.Read(s) {
		var m, data message
		m.text(1, r.Name)
		m.text(2, r.Help)
		if r.Unit != "" {
			m.text(3, r.Unit)
		}
		for word, n := range r.Numbers {
			p := point(s, now, 7, r.Label, word)
			p.double(4, n)
			data.bytes(1, p)
		}
		if r.Histogram != nil {
			data.bytes(1, histogramPoint(s, now, r))
		}
		field := 5 // a gauge
		switch {
		case r.Histogram != nil:
			field = 9
			data.number(2, cumulative)
		case r.Counts:
			field = 7
			data.number(2, cumulative)
			data.number(3, 1) // it only increases
		}
		m.bytes(field, data)
		all = append(all, m)
	}
	return request(resource, version, all)
}

// point returns a data point without its value. attributes is the number of that field.
func point(s *live.Server, now time.Time, attributes int, label, word string) (p message) {
	p.time(2, s.Since)
	p.time(3, now)
	p.attribute(attributes, "gauze.server.name", s.Name)
	p.attribute(attributes, "gauze.client.name", s.Client)
	if label != "" {
		p.attribute(attributes, label, word)
	}
	return p
}

func histogramPoint(s *live.Server, now time.Time, r metrics.Reading) message {
	p := point(s, now, 9, r.Label, r.Word)
	p.fixed64(4, r.Histogram.Count())
	p.double(5, r.Histogram.Sum)
	p.packed(6, r.Histogram.Counts[:])
	var bounds []uint64
	for _, b := range health.Bounds {
		bounds = append(bounds, math.Float64bits(b))
	}
	p.packed(7, bounds)
	return p
}
