//go:build unix

package browsertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/testonly/dashlogin"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/testonly/sample"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
	"github.com/gauze-mcp/gauze/lab/browsertest"
)

const (
	numWraps   = 20
	roundCalls = 30
)

// numRounds returns how many rounds there are, each with a kill.
func numRounds() int { return sample.Part(10, 2) }

// numbers is what every view says about one server.
type numbers struct{ Calls, Restarts, Healed, Repaired, Saved uint64 }

// client is one wrap under load and what its client knows.
type client struct {
	*browsertest.Wrap
	want     numbers
	appended map[string]bool // appended are the keys of writes that were answered.
	unknown  map[string]bool // unknown are those of writes whose outcome is unknown.
}

// Twenty wrapped servers under load, killed again and again: at rest, every view says the same about
// each, and that is what the clients did and what the servers' ledgers have.
func TestEveryViewAgrees(t *testing.T) {
	ctx := t.Context()
	r, err := browsertest.NewRun(ctx)
	must(t, err)
	defer r.Close()
	clients := make([]*client, numWraps)
	for i := range clients {
		w, err := r.Wrap(ctx, browsertest.WrapOptions{Name: fmt.Sprintf("server-%02d", i), Client: "load"})
		must(t, err)
		clients[i] = &client{Wrap: w, appended: map[string]bool{}, unknown: map[string]bool{}}
	}
	address, err := r.Dashboard(ctx)
	must(t, err)
	pages := newReader(t, address)
	var load sync.WaitGroup
	for _, c := range clients {
		load.Go(func() {
			if err := c.load(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	load.Wait()
	if t.Failed() {
		return
	}
	counted, saved := fromLive(t, r), 0
	for _, c := range clients {
		c.want.Saved = counted[c.Name].Saved // how many calls meet a kill is chance
		saved += int(c.want.Saved)
	}
	want := numWraps * numRounds()
	sums := recordedSums(t, r)
	look := time.NewTicker(50 * time.Millisecond) // events are written a second later
	defer look.Stop()
	limit, cancel := context.WithTimeout(ctx, patience.Limit())
	defer cancel()
	for ; limit.Err() == nil && (sums.Crashes < want || sums.Repaired < want || sums.Saved < saved); sums = recordedSums(t, r) {
		<-look.C
	}
	for _, view := range []struct {
		name string
		got  func(t *testing.T) map[string]numbers
	}{
		{"gauze status", func(t *testing.T) map[string]numbers { return fromStatus(t, r) }},
		{"gauze top", func(t *testing.T) map[string]numbers { return fromLive(t, r) }},
		{"the dashboard", func(t *testing.T) map[string]numbers { return fromPages(t, pages) }},
		{"/metrics", func(t *testing.T) map[string]numbers { return fromMetrics(t, pages) }},
	} {
		t.Run(view.name, func(t *testing.T) {
			got := view.got(t)
			for _, c := range clients {
				if got[c.Name] != c.want {
					t.Errorf("%s: %+v, want %+v", c.Name, got[c.Name], c.want)
				}
			}
		})
	}
	for _, c := range clients {
		c.checkLedger(t)
	}
	checkOverview(t, pages.get(t, "/"))
	for _, c := range clients {
		c.Close()
	}
	if sums.Crashes != want || sums.Repaired != want || sums.Saved != saved {
		t.Errorf("the journal has %+v, want %d crashes, %d repaired calls and %d saved ones", sums, want, want, saved)
	}
}

// load makes calls from three callers in rounds, and kills the server during each.
func (c *client) load(ctx context.Context) error {
	for round := range numRounds() {
		var mu sync.Mutex
		var firstErr error
		var callers sync.WaitGroup
		call := func(n int) {
			tool, arguments, key := "echo", `{"text":"hello"}`, ""
			if n%3 == 1 {
				key = fmt.Sprintf("%d-%d", round, n)
				tool, arguments = "append", fmt.Sprintf(`{"key":%q}`, key)
			}
			if n == roundCalls-1 { // one call of each round is repaired
				tool, arguments = "forecast", `{"city":"Oslo","days":"5"}`
			}
			a, err := c.Call(ctx, tool, arguments)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				firstErr = err
			case key != "" && a.Fault == "":
				c.appended[key] = true
			case key != "" && a.Fault == "outcome-unknown":
				c.unknown[key] = true
			case a.Fault != "":
				firstErr = fmt.Errorf("%s: %s: %s", c.Name, tool, a.Text)
			}
		}
		for first := range 3 {
			callers.Go(func() {
				for n := first; n < roundCalls; n += 3 {
					call(n)
				}
			})
		}
		if err := c.Kill(ctx); err != nil {
			return err
		}
		callers.Wait()
		if firstErr != nil {
			return firstErr
		}
		c.want.Calls += roundCalls
		c.want.Restarts, c.want.Healed, c.want.Repaired = c.want.Restarts+1, c.want.Healed+1, c.want.Repaired+1
		if _, err := c.Await(ctx, c.restarted); err != nil {
			return err
		}
	}
	return nil
}

// restarted reports whether the wrap has a server again since the last kill.
func (c *client) restarted(s live.Server) bool {
	return s.Counts.Healed >= c.want.Healed && s.ServerPID != 0
}

// checkLedger compares the answers with what the server did: each write that was answered took effect
// once, and no other did, except those that were reported as unknown.
func (c *client) checkLedger(t *testing.T) {
	t.Helper()
	entries, _, err := faultyserver.ReadLedger(c.Ledger)
	must(t, err)
	times := map[string]int{}
	for _, e := range entries {
		if e.Op == "append" {
			times[e.Key]++
		}
	}
	for key := range c.appended {
		if times[key] != 1 {
			t.Errorf("%s: %s was answered and took effect %d times", c.Name, key, times[key])
		}
		delete(times, key)
	}
	for key, n := range times {
		if !c.unknown[key] || n > 1 {
			t.Errorf("%s: %s took effect %d times, unknown: %v", c.Name, key, n, c.unknown[key])
		}
	}
}

func fromStatus(t *testing.T, r *browsertest.Run) map[string]numbers {
	t.Helper()
	out, err := r.Output(t.Context(), "status", "--json")
	must(t, err)
	var all []struct {
		Name string
		numbers
	}
	must(t, json.Unmarshal([]byte(out), &all))
	got := map[string]numbers{}
	for _, s := range all {
		got[s.Name] = s.numbers
	}
	return got
}

// fromLive reads what gauze top reads.
func fromLive(t *testing.T, r *browsertest.Run) map[string]numbers {
	t.Helper()
	all, err := live.All(t.Context(), r.State)
	must(t, err)
	got := map[string]numbers{}
	for _, s := range all {
		got[s.Name] = numbers{s.Counts.Calls, s.Restarts, s.Counts.Healed, s.Counts.Repaired, s.Counts.Saved}
	}
	return got
}

var (
	overviewRow = regexp.MustCompile(`(?s)<tr id="server-([\d-]+)">.*?<a [^>]*>([^<]*)</a>.*?data-label="Calls"[^>]*>(\d+)<.*?data-label="Saved"[^>]*>(\d+)<.*?data-label="Crashes"[^>]*>(\d+)<.*?data-label="Repaired"[^>]*>(\d+)<.*?data-label="Restarts"[^>]*><span>(\d+).*?aria-label="Last hour: ([^"]*)"`)
	savedIs     = regexp.MustCompile(`<dt>Saved</dt><dd>(\d+)</dd>`)
	repairedIs  = regexp.MustCompile(`<dt>Repaired</dt><dd>(\d+)</dd>`)
	metricLine  = regexp.MustCompile(`(?m)^gauze_(calls|restarts|healed|repaired|saved)_total\{server="([^"]*)"[^}]*\} (\d+)$`)
)

// fromPages reads the overview and the page of each server.
func fromPages(t *testing.T, pages reader) map[string]numbers {
	t.Helper()
	got := map[string]numbers{}
	for _, row := range overviewRow.FindAllStringSubmatch(pages.get(t, "/"), -1) {
		page := pages.get(t, "/servers/"+row[1])
		saved, repaired := savedIs.FindStringSubmatch(page), repairedIs.FindStringSubmatch(page)
		if saved == nil || repaired == nil || saved[1] != row[4] || repaired[1] != row[6] {
			t.Fatalf("the page of %s has %s saved and %s repaired calls, the overview %s and %s", row[2], saved, repaired, row[4], row[6])
		}
		got[row[2]] = numbers{count(row[3]), count(row[7]), count(row[5]), count(row[6]), count(row[4])}
	}
	return got
}

// checkOverview compares the table with the small charts in it, and its sums with the week and the
// chart. Everything has happened within the last hour.
func checkOverview(t *testing.T, page string) {
	t.Helper()
	var all timeline.Sums
	for _, row := range overviewRow.FindAllStringSubmatch(page, -1) {
		own := timeline.Sums{Crashes: int(count(row[5])), Saved: int(count(row[4])), Repaired: int(count(row[6]))}
		if want := strings.TrimPrefix(own.Worth(""), ": "); row[8] != want {
			t.Errorf("%s: the chart shows %s, the table %s", row[2], row[8], want)
		}
		all = all.Plus(own)
	}
	for _, want := range []string{`<p class="lead worth">` + all.Worth("This week") + "<", "<span>" + all.Worth("Last hour") + "<"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
}

func fromMetrics(t *testing.T, pages reader) map[string]numbers {
	t.Helper()
	got := map[string]numbers{}
	for _, line := range metricLine.FindAllStringSubmatch(pages.get(t, "/metrics"), -1) {
		n := got[line[2]]
		switch value := count(line[3]); line[1] {
		case "calls":
			n.Calls += value // one line for each outcome
		case "restarts":
			n.Restarts = value
		case "healed":
			n.Healed = value
		case "repaired":
			n.Repaired = value
		case "saved":
			n.Saved = value
		}
		got[line[2]] = n
	}
	return got
}

func count(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64) // the expressions match digits only
	return n
}

// reader reads the pages of a dashboard as a browser that is logged in does.
type reader struct {
	client *http.Client
	home   string
}

func newReader(t *testing.T, address string) reader {
	t.Helper()
	client, home, err := dashlogin.Open(address)
	must(t, err)
	return reader{client, home}
}

func (r reader) get(t *testing.T, path string) string {
	t.Helper()
	status, page, err := dashlogin.Get(r.client, r.home+path)
	must(t, err)
	if status != http.StatusOK {
		t.Fatalf("%s: %d: %s", path, status, page)
	}
	return page
}

func recordedSums(t *testing.T, r *browsertest.Run) timeline.Sums {
	t.Helper()
	j, err := journal.Open(filepath.Join(r.State, journal.FileName))
	must(t, err)
	defer j.Close()
	records, err := j.Events(t.Context(), journal.Query{})
	must(t, err)
	return timeline.Sum(records)
}
