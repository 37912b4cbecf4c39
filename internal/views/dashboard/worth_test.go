package dashboard

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
)

// counted are the kinds of event that count, and how the sentence says so.
var counted = map[event.Kind]string{
	event.Saved: "saved from failing", event.Restored: "with no session lost", event.Repaired: "repaired",
	event.Corrected: "corrected", event.Healed: "fixed", event.LoginRenewed: "renewed",
}

// week is a random journal and what must be counted in it.
type week struct {
	events  []event.Event
	want    map[string]int // by the words of counted
	unknown int
}

func randomWeek(random *rand.Rand, now time.Time, servers []string, longest time.Duration) *week {
	w := &week{want: map[string]int{}}
	kinds := []event.Kind{event.Died, event.Failed, event.Unknown, event.Replayed, event.Started} // and those that count
	for kind := range counted {
		kinds = append(kinds, kind)
	}
	for range random.IntN(150) {
		e := event.Event{Kind: kinds[random.IntN(len(kinds))], Server: servers[random.IntN(len(servers))], Method: "tools/call", Tool: "get"}
		// Not within a minute of a week ago: the page is made later than now.
		e.Time = now.Add(-time.Duration(random.Int64N(int64(longest/time.Minute))) * time.Minute)
		if random.IntN(2) == 0 {
			e.Call = event.NewCallID()
		}
		w.events = append(w.events, e)
		if now.Sub(e.Time) < timeline.Week-time.Minute {
			w.want[counted[e.Kind]]++
			if e.Kind == event.Unknown {
				w.unknown++
			}
		}
	}
	delete(w.want, "")
	return w
}

var (
	lead  = regexp.MustCompile(`<p class="lead worth">(.*?)</p>`)
	drawn = regexp.MustCompile(`<span>(Last [^<]*)</span>`)
)

// numbersOf reads the numbers of a sentence.
func numbersOf(t *testing.T, sentence string) map[string]int {
	t.Helper()
	_, list, found := strings.Cut(sentence, ": ")
	if !found {
		t.Fatalf("no sentence: %q", sentence)
	}
	got := map[string]int{}
	for part := range strings.SplitSeq(list, ", ") {
		for _, words := range counted {
			if strings.Contains(part, words) {
				number, _, _ := strings.Cut(part, " ")
				got[words], _ = strconv.Atoi(number)
			}
		}
	}
	return got
}

// Whatever happened, the sentence, the table and the charts of the overview say the same numbers, and
// those are what the journal has.
func TestTheSentenceTheTableAndTheChartAgree(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 33))
		f := serve(t, "")
		names := []string{"notes", "search", "weather", "gone"}
		longest := []time.Duration{50 * time.Minute, 20 * time.Hour, 6 * 24 * time.Hour, 12 * 24 * time.Hour}[seed%4]
		w := randomWeek(random, time.Now(), names, longest)
		f.record(w.events...)
		for _, name := range names[:random.IntN(len(names))] {
			f.say(live.Server{Name: name, PID: os.Getpid(), State: "healthy", Since: time.Now()})
		}
		page := f.page("/")
		compare := func(what string, got map[string]int) {
			if fmt.Sprint(got) != fmt.Sprint(w.want) {
				t.Errorf("seed %d: %s has %v, the journal %v\n%s", seed, what, got, w.want, page)
			}
		}
		compare("the sentence", numbersOf(t, lead.FindStringSubmatch(page)[1]))
		rows := map[string]int{}
		for _, m := range label.FindAllStringSubmatch(page, -1) {
			if m[1] == "chart" {
				compare("the chart", numbersOf(t, m[2]))
				continue
			}
			for words, n := range numbersOf(t, m[2]) {
				rows[words] += n
			}
		}
		compare("the small charts", rows)
		if m := drawn.FindStringSubmatch(page); m != nil {
			compare("the words below the chart", numbersOf(t, m[1]))
		}
		cells := map[string]int{}
		for _, m := range cell.FindAllStringSubmatch(page, -1) {
			n, _ := strconv.Atoi(m[2])
			cells[m[1]] += n
		}
		if cells["Saved"] != w.want["saved from failing"] || cells["Crashes"] != w.want["with no session lost"] || cells["Repaired"] != w.want["repaired"] {
			t.Errorf("seed %d: the table has %v, the journal %v\n%s", seed, cells, w.want, page)
		}
		if told := strings.Contains(page, "unknown outcome"); told != (w.unknown > 0) {
			t.Errorf("seed %d: %d outcomes are unknown; told: %v", seed, w.unknown, told)
		}
	}
}

// A week without trouble reads well.
func TestAQuietWeek(t *testing.T) {
	f := serve(t, "")
	f.say(live.Server{Name: "notes", PID: os.Getpid(), State: "healthy", Since: time.Now(), Counts: live.Counts{Calls: 1204}})
	wantAll(t, f.page("/"), "This week: nothing needed healing in 1,204 calls<")
}

// What does not work comes first, and says why.
func TestDeadServersComeFirst(t *testing.T) {
	f := serve(t, "")
	gaveUp := event.Event{Time: time.Now(), Kind: event.GaveUp, Server: "zebra", Code: "server-dead"}
	gaveUp.Cause.Code, gaveUp.Cause.Explanation, gaveUp.Cause.Remedy = "port-taken", "Another program is using port 3000.", "Stop that program."
	f.record(gaveUp)
	for name, state := range map[string]string{"apple": "healthy", "melon": "degraded", "quince": "unresponsive", "zebra": "dead"} {
		f.say(live.Server{Name: name, PID: os.Getpid(), State: state, LastCause: "a probe was not answered"})
	}
	page := f.page("/")
	at := -1
	for _, text := range []string{">zebra<", "Another program is using port 3000.", "Stop that program.", ">quince<", "A probe was not answered", ">melon<", ">apple<"} {
		next := strings.Index(page, text)
		if next <= at {
			t.Errorf("%s is at %d, after %d:\n%s", text, next, at, page)
		}
		at = next
	}
	if n := strings.Count(page, "A probe was not answered"); n != 1 {
		t.Errorf("%d servers that work say why they do not", n)
	}
}
