// Package metrics exports what wraps count, in the text format of Prometheus. It counts nothing
// itself: every number is one that gauze status shows.
//
// The text format is written here because a client library would cost every wrap 0.4 MB of memory and
// 0.8 ms at its start, also those that nothing scrapes.
//
//	metrics.go   Collector: adds up wraps, and keeps counters from going back
//	families.go  the metrics, their names and what they read
//	text.go      the text format
//	read.go      Read: the same numbers for OpenTelemetry
package metrics

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

// Limits of labels. What exceeds them is counted under other.
const (
	maxServers  = 500 // pairs of a server and a client
	maxWords    = 64  // values of a further label, such as the rules of repairs; all come from small sets
	maxLabelLen = 100 // bytes
	other       = "other"
)

// Collector serves the metrics of wraps. Wraps with the same name and client are added up. A counter
// never goes back while the Collector lives: calls of a wrap that has ended still count.
type Collector struct {
	version string
	source  func(context.Context) ([]live.Server, error)

	mu    sync.Mutex
	last  map[string]live.Server // what each running wrap said, by its ID
	sums  map[key]*sums
	words []map[string]bool // the values of each family's label
}

// key identifies the series of a server.
type key struct{ server, client string }

// sums are the values of one server, in the order of families.
type sums [len(families)]value

// value is what one family says about one server: a histogram, or numbers by the value of the label.
type value struct {
	numbers   map[string]float64
	histogram health.Histogram
}

// New returns a Collector of the wraps that source returns. version is gauze's.
func New(version string, source func(context.Context) ([]live.Server, error)) *Collector {
	c := &Collector{version: version, source: source, last: map[string]live.Server{}, sums: map[key]*sums{}}
	for range families {
		c.words = append(c.words, map[string]bool{})
	}
	return c
}

// ServeHTTP answers one scrape. Whether the client may read it is decided before.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "only GET is supported", http.StatusMethodNotAllowed)
		return
	}
	servers, err := c.source(r.Context())
	if err != nil {
		http.Error(w, "cannot list the running servers: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	text := c.collect(servers)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.Write(text)
}

// collect adds what the wraps counted since the last time and returns all metrics as text.
func (c *Collector) collect(servers []live.Server) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, sum := range c.sums {
		for i := range families {
			if families[i].kind == gauge {
				sum[i].numbers = nil
			}
		}
	}
	now := map[string]live.Server{}
	for _, s := range servers {
		before, known := c.last[s.ID]
		if known && s.State == live.StateSilent { // it said nothing else
			s = before
			s.State = live.StateSilent
		}
		if !s.Since.Equal(before.Since) { // a different wrap with the number of an earlier process
			before = live.Server{}
		}
		c.add(s, before)
		now[s.ID] = s
	}
	c.last = now
	var b bytes.Buffer
	c.write(&b)
	return b.Bytes()
}

// add adds the gauges of a wrap, and its counters as far as they grew.
func (c *Collector) add(s, before live.Server) {
	sum := c.of(key{label(s.Name), label(s.Client)})
	for i := range families {
		f, v := &families[i], &sum[i]
		if f.histogram != nil {
			now, then := f.histogram(&s), f.histogram(&before)
			v.histogram.Merge(growth(now, then))
			continue
		}
		now, then := f.numbers(&s), map[string]float64(nil)
		if f.kind == counter {
			then = f.numbers(&before)
		}
		if v.numbers == nil {
			v.numbers = map[string]float64{}
		}
		for word, n := range now {
			v.numbers[c.word(i, word)] += max(0, n-then[word])
		}
	}
}

// Judged counts a verdict of a task about a server. Those that a wrap counted itself must not be
// counted again.
func (c *Collector) Judged(server, client, verdict string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := c.of(key{label(server), label(client)})
	for i := range families {
		if families[i].name != verdictsName {
			continue
		}
		if sum[i].numbers == nil {
			sum[i].numbers = zeros(verdicts)
		}
		sum[i].numbers[c.word(i, verdict)]++
	}
}

// growth returns what was added to a histogram.
func growth(now, then health.Histogram) health.Histogram {
	for i, n := range then.Counts {
		now.Counts[i] -= min(n, now.Counts[i])
	}
	now.Sum = max(0, now.Sum-then.Sum)
	return now
}

// of returns the sums of a server.
func (c *Collector) of(k key) *sums {
	if c.sums[k] == nil && len(c.sums) >= maxServers {
		k = key{other, other}
	}
	if c.sums[k] == nil {
		c.sums[k] = &sums{}
	}
	return c.sums[k]
}

// word returns the value of a family's label under which a word is counted.
func (c *Collector) word(family int, word string) string {
	word = label(word)
	if known := c.words[family]; !known[word] {
		if len(known) >= maxWords {
			return other
		}
		known[word] = true
	}
	return word
}

// label returns the value of a label.
func label(text string) string { return plaintext.Cap(plaintext.Clean(text), maxLabelLen) }
