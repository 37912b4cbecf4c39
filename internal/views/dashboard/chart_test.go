package dashboard

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

// say makes a wrap visible that says this about itself.
func (f *front) say(s live.Server) *live.Announcement {
	f.t.Helper()
	a, err := live.Announce(f.dir, s.Name, live.Source{Server: func() live.Server { return s }, Detail: func() live.Detail { return live.Detail{Server: s} }, Log: func() []live.Line { return nil }})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(a.Close)
	return a
}

var (
	cell  = regexp.MustCompile(`data-label="(Crashes|Saved|Repaired)"[^>]*>(\d+)<`)
	label = regexp.MustCompile(`<svg class="(\w+)"[^>]*aria-label="([^"]*)"`)
)

// The week, the table and the charts count the same things, and say so in the same words.
func TestTheOverviewAgreesWithItself(t *testing.T) {
	f := serve(t, "")
	now := time.Now().Add(-5 * time.Minute)
	f.record(crash("notes", now)...)
	f.record(repaired("notes", "forecast", now)...)     // and saved
	f.record(repaired("notes", "forecast", now)[:1]...) // the server might have accepted it
	f.record(crash("other", now)...)
	a := f.say(live.Server{Name: "notes", PID: os.Getpid(), State: "healthy", Counts: live.Counts{Healed: 1, Saved: 1, Repaired: 2}})
	text := f.page("/")
	const notes = "1 call saved from failing, 1 crash with no session lost, 2 calls repaired"
	const all = "1 call saved from failing, 2 crashes with no session lost, 2 calls repaired"
	wantAll(t, text, `<p class="lead worth">This week: `+all+"<", "<span>Last hour: "+all+"<")
	wantAll(t, f.page("/servers/"+a.ID), "Last hour: "+notes)
	// What counts is in the list, and only that is.
	if n := strings.Count(f.page("/timeline?healed=1"), `<li id="item-`); n != 4 {
		t.Errorf("%d items are healed", n)
	}
}

// A call that was repaired and saved is one thing that happened.
func TestACallIsDrawnOnce(t *testing.T) {
	f := serve(t, "")
	now := time.Now()
	f.record(repaired("weather", "forecast", now.Add(-time.Minute))...)
	f.record(crash("weather", now.Add(-2*time.Hour))...)
	f.record(event.Event{Kind: event.Died, Server: "weather", Time: now, Detail: "it exited (exit status 1)"})
	records, err := f.d.events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := scales[0].draw(records, now)
	if c.most != 1 || c.bars[numBars-2] != 1 || c.Sentence() != "Last hour: 1 call saved from failing, 1 call repaired" {
		t.Errorf("%+v: %s", c, c.Sentence())
	}
}

// What a wrap healed without recording it is not denied.
func TestWhatIsNotRecordedIsNotDenied(t *testing.T) {
	f := serve(t, "")
	f.say(live.Server{Name: "notes", PID: os.Getpid(), State: "healthy", Counts: live.Counts{Healed: 3, NotRecorded: true}})
	text := f.page("/")
	wantAll(t, text, "This week: nothing was recorded", "not recorded</span>")
	wantNone(t, text, "nothing needed healing")
	f.record(crash("other", time.Now())...)
	wantAll(t, f.page("/"), "This week: 1 crash with no session lost; not everything was recorded")
}

// A line that repeats itself is shown once, with how often.
func TestRepeatedItemsAreFolded(t *testing.T) {
	f := serve(t, "")
	now := time.Now().Add(-time.Hour)
	var events []event.Event
	for n := range 181 {
		events = append(events, event.Event{Time: now.Add(time.Duration(n) * time.Second), Kind: event.Failed, Server: "far", Client: "cursor", Method: "tools/call",
			Tool: "get", Call: event.NewCallID(), Code: "server-unreachable"})
	}
	f.record(events...)
	for _, path := range []string{"/", "/timeline", "/servers?name=far"} {
		text := f.page(path)
		if n := strings.Count(text, `<li id="item-`); n != 1 {
			t.Errorf("%s has %d items", path, n)
		}
		last := events[len(events)-1].Time.Local().Format("15:04")
		wantAll(t, text, `×181</span><span class="hidden">181 times</span>, last `+last, "and 160 earlier", `<a href="/timeline/180">`)
	}
	wantAll(t, f.page("/timeline"), fmt.Sprintf("/timeline/%d\"", len(events)), "1 item,")
}
