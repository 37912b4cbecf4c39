package journal

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
)

// BenchmarkAppend has 1,000 tasks, each of which appends an entry every two seconds, as tasks do
// whose calls take that long. It reports how long an append takes, with its sync.
func BenchmarkAppend(b *testing.B) {
	const tasks, pace = 1000, 2 * time.Second
	j := openFor(b, newPath(b))
	data := []byte(`{"tool":"read_file","arguments":{"path":"/home/sam/notes.txt"}}`)
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	for n := range tasks {
		all.Go(func() {
			time.Sleep(pace * time.Duration(n) / tasks)
			for seq := range b.N {
				begin := time.Now()
				j.must(b, fmt.Sprint("t", n), seq, Entry{Kind: "intent", Data: data})
				one := time.Since(begin)
				mu.Lock()
				took = append(took, one)
				mu.Unlock()
				time.Sleep(pace)
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	for name, q := range map[string]int{"p50": 50, "p99": 99} {
		b.ReportMetric(float64(took[(len(took)-1)*q/100].Microseconds()), name+"-us")
	}
}

// BenchmarkAppendAtOnce has 1,000 tasks that append as fast as they can.
func BenchmarkAppendAtOnce(b *testing.B) {
	const tasks = 1000
	j := openFor(b, newPath(b))
	var all sync.WaitGroup
	for n := range tasks {
		all.Go(func() {
			for seq := range b.N {
				j.must(b, fmt.Sprint("t", n), seq, Entry{Kind: "intent", Data: []byte("{}")})
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(tasks*b.N)/b.Elapsed().Seconds(), "appends/s")
}

// BenchmarkOpen opens a journal with 50,000 events and 20,000 entries, which checks them all.
func BenchmarkOpen(b *testing.B) {
	path := newPath(b)
	var batch []Record
	for range 50_000 {
		batch = append(batch, recordOf(event.Event{Time: time.Now(), Kind: event.Failed, Server: "npx -y notes-server", Tool: "read", Detail: "exit status 1"}, 1, false))
	}
	if err := write(path, batch); err != nil {
		b.Fatal(err)
	}
	j := openFor(b, path)
	var all sync.WaitGroup
	for n := range 200 {
		all.Go(func() {
			for seq := range 100 {
				j.Append(context.Background(), fmt.Sprint("t", n), seq, Entry{Kind: "intent", Data: []byte(`{"tool":"read"}`)})
			}
		})
	}
	all.Wait()
	j.Close()
	for b.Loop() {
		openFor(b, path).Close()
	}
}

// BenchmarkRecord writes one batch of two events, as at the start of a wrap.
func BenchmarkRecord(b *testing.B) {
	path := newPath(b)
	batch := []Record{recordOf(event.Event{Time: time.Now(), Kind: event.Started, Server: "notes"}, 1, false), recordOf(event.Event{Time: time.Now(), Kind: event.Ready, Server: "notes"}, 1, false)}
	for b.Loop() {
		if err := write(path, batch); err != nil {
			b.Fatal(err)
		}
	}
}
