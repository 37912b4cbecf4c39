package dashboard

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

// record writes events to the journal of f, as a wrap does.
func (f *front) record(events ...event.Event) {
	f.t.Helper()
	for some := range slices.Chunk(events, 200) { // a recorder that is too slow misses some
		stream := event.New()
		recorder := journal.NewRecorder(journalPath(f.dir), stream, func(err error) { f.t.Error(err) })
		for _, e := range some {
			stream.Emit(e)
		}
		<-recorder.Close()
	}
}

// crash is a server that exited and was restarted.
func crash(server string, at time.Time) []event.Event {
	return []event.Event{
		{Time: at, Kind: event.Died, Server: server, Generation: 1, PID: 10, Reason: "exit", Detail: "exit status 1", Client: "claude"},
		{Time: at, Kind: event.HealthChanged, Server: server, From: "healthy", To: "dead", Client: "claude"},
		{Time: at.Add(time.Second), Kind: event.Started, Server: server, Generation: 2, PID: 11, Client: "claude"},
		{Time: at.Add(2 * time.Second), Kind: event.Restored, Server: server, Generation: 2, Took: 2 * time.Second, Client: "claude"},
	}
}

// repaired is a call that was repaired and saved.
func repaired(server, tool string, at time.Time) []event.Event {
	id := event.NewCallID()
	change := event.Change{Path: "days", Rule: "string to number", Reason: "the schema requires a number", Before: `"3"`, After: "3"}
	return []event.Event{
		{Time: at, Kind: event.Repaired, Server: server, Tool: tool, Method: "tools/call", Call: id, Client: "cursor", Changes: []event.Change{change}, Detail: "days", Told: "The arguments were adjusted: days."},
		{Time: at, Kind: event.Saved, Server: server, Tool: tool, Method: "tools/call", Call: id, Client: "cursor", Detail: "repaired", Took: 30 * time.Millisecond, Without: 5 * time.Millisecond},
	}
}

func wantAll(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
}

func wantNone(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			at := strings.Index(text, part)
			t.Errorf("%.40q is in ...%s", part, text[max(0, at-200):at])
		}
	}
}

func TestEmptyPagesSayWhatToDo(t *testing.T) {
	f := serve(t, "")
	for _, path := range []string{"/", "/timeline"} {
		wantAll(t, f.page(path), "gauze wrap --all", "gauze demo")
	}
}

func TestTheTimelineShowsProblemsAndActions(t *testing.T) {
	f := serve(t, "")
	now := time.Now().Add(-time.Minute)
	f.record(append(crash("notes", now), repaired("weather", "forecast", now)...)...)
	all := f.page("/timeline")
	wantAll(t, all, "1 crash with no", "exit status 1", "forecast", "notes", "weather", "2 items")
	for query, wanted := range map[string][2]string{ // what is shown, what is not
		"server=notes": {"session restored", "/timeline/5\""}, "tool=forecast": {"/timeline/5\"", "session restored"},
		"client=cursor": {"/timeline/5\"", "session restored"}, "server=nothing": {"Nothing matches", "session restored"},
	} {
		text := f.page("/timeline?" + query)
		wantAll(t, text, wanted[0])
		wantNone(t, text, wanted[1])
	}
	// The page of the call has its diff, its reason, what the model was shown and all events.
	call := f.page("/timeline/5")
	wantAll(t, call, "days", "string to number", "the schema requires a number", "it would have failed after 5 ms", "30 ms", "saved", "repaired", "values are not recorded")
	if again := f.page("/timeline/6"); !strings.Contains(again, "string to number") {
		t.Error("the page of a later event of the call is a different one")
	}
	wantAll(t, f.page("/servers?"+url.Values{"name": {"notes"}}.Encode()), "This server is not running", "exit status 1", "dead")
	for _, path := range []string{"/timeline/7", "/timeline/x", "/servers/1-1", "/servers?name=x", "/log?server=x", "/nothing"} {
		if response := f.exchange("GET "+path+" HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", f.login()); response.StatusCode != 404 {
			t.Errorf("%s: %d", path, response.StatusCode)
		}
	}
}

// Only the wrap that runs has the values of a call and the text for the model.
func TestTheWrapAddsTheValues(t *testing.T) {
	f := serve(t, "")
	events := repaired("weather", "forecast", time.Now())
	f.record(events...)
	s := live.Server{Name: "weather", PID: os.Getpid()}
	call := live.Call{ID: events[0].Call.String(), Tool: "forecast", Outcome: "ok", Changes: events[0].Changes, Told: events[0].Told}
	a, err := live.Announce(f.dir, "weather", live.Source{Server: func() live.Server { return s }, Detail: func() live.Detail { return live.Detail{Server: s, Recent: []live.Call{call}} }})
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, f.page("/timeline/1"), `−</span> <code>&#34;3&#34;</code>`, `+</span> <code>3</code>`, events[0].Told)
	a.Close()
	wantNone(t, f.page("/timeline/1"), `&#34;3&#34;`, events[0].Told)
}

func TestTheTimelineHasPages(t *testing.T) {
	f := serve(t, "")
	var events []event.Event
	for i := range 2*pageItems + 1 {
		events = append(events, repaired("weather", fmt.Sprintf("tool%03d", i), time.Now())...)
	}
	f.record(events...)
	tool := regexp.MustCompile(`<code>(tool\d+)</code>`)
	older := regexp.MustCompile(`href="([^"]*before=[^"]*)"`)
	seen := map[string]bool{}
	path, pages := "/timeline", 0
	for ; path != ""; pages++ {
		text := f.page(path)
		for _, m := range tool.FindAllStringSubmatch(text, -1) {
			if seen[m[1]] {
				t.Errorf("%s is on two pages", m[1])
			}
			seen[m[1]] = true
		}
		path = ""
		if m := older.FindStringSubmatch(text); m != nil {
			path = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	if pages != 3 || len(seen) != 2*pageItems+1 {
		t.Errorf("%d items on %d pages", len(seen), pages)
	}
}

func TestAJournalThatIsReplacedIsReadAgain(t *testing.T) {
	f := serve(t, "")
	f.record(crash("notes", time.Now())...)
	wantAll(t, f.page("/"), "1 crash with no")
	f.record(crash("notes", time.Now())...)
	wantAll(t, f.page("/"), "2 crashes with no")
	f.d.records.close() // Windows does not remove files that are open
	for _, name := range []string{"", "-wal", "-shm", ".heads"} {
		os.Remove(journalPath(f.dir) + name)
	}
	wantAll(t, f.page("/"), "nothing needed healing")
	f.record(crash("other", time.Now())...)
	wantAll(t, f.page("/"), "1 crash with no", "other")
}

// announce makes a server visible that counts its restarts.
func (f *front) announce(name string, restarts *atomic.Int32) *live.Announcement {
	f.t.Helper()
	s := live.Server{Name: name, Client: name, PID: 4711, Via: "run", State: health.Healthy.String(), Since: time.Now(), Up: time.Now(), Counts: live.Counts{Calls: 1234, P95: 35, ToolCount: 2}, LastReason: name}
	call := live.Call{ID: "c1", Time: time.Now(), Tool: name, Outcome: "ok", Took: time.Millisecond, Healed: "replayed", Without: time.Microsecond}
	a, err := live.Announce(f.dir, name, live.Source{
		Server: func() live.Server { s := s; s.Restarts = uint64(restarts.Load()); return s },
		Detail: func() live.Detail {
			return live.Detail{Server: s, Command: name, Tools: []live.Tool{{Name: name, Class: "read-only", Policy: name, Calls: 3}}, Recent: []live.Call{call}, Log: []string{name}}
		},
		Log:     func() []live.Line { return []live.Line{{Time: time.Now(), From: live.Stderr, Text: name}} },
		Restart: func() error { restarts.Add(1); return nil },
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(a.Close)
	return a
}

func TestAServerIsShownAndRestarted(t *testing.T) {
	f := serve(t, "")
	var restarts atomic.Int32
	a := f.announce("notes", &restarts)
	wantAll(t, f.page("/"), "notes", "healthy", "1234", "35 ms", "/servers/"+a.ID)
	page := f.page("/servers/" + a.ID)
	wantAll(t, page, "notes", "read-only", "replayed", "Restart the server", "1234")
	if strings.Contains(page, "0 µs") {
		t.Error("a tool that never answered has a latency")
	}
	session := f.login()
	response := f.exchange(form("/servers/"+a.ID+"/restart", own+"Cookie: COOKIE\n", ""), session)
	if response.StatusCode != 303 || response.Header.Get("Location") != "/servers/"+a.ID || restarts.Load() != 1 {
		t.Errorf("status %d, %d restarts", response.StatusCode, restarts.Load())
	}
	f.page("/servers/" + a.ID) // a GET has no effect
	if restarts.Load() != 1 {
		t.Errorf("%d restarts", restarts.Load())
	}
}

// TestForeignTextIsOnlyText shows hostile text in every field of 10,000 events.
func TestForeignTextIsOnlyText(t *testing.T) {
	f := serve(t, "")
	hostile := []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `javascript:alert(1)`, `{{.}}`, `</pre></main><script>`,
		`--><script>alert(1)</script>`, `</title><script>`, "a\u202eb", strings.Repeat("W", 6_000), `&lt;script&gt;`, `\u003cscript\u003e`,
	}
	var events []event.Event
	const numKinds = 6
	for i := range 10 * numKinds * len(hostile) {
		h := hostile[i%len(hostile)]
		e := event.Event{Kind: []event.Kind{event.Died, event.Failed, event.Repaired, event.Diagnosed, event.Stray, event.Kind(h)}[i/len(hostile)%numKinds], Server: h, Client: h, Tool: h, Method: h, From: h, To: h, Detail: h, Told: h,
			Changes: []event.Change{{Path: h, Rule: h, Reason: h, Before: h, After: h}}, Model: &event.Consultation{Model: h, Reason: h}, Call: event.NewCallID()}
		e.Cause.Code, e.Cause.Explanation, e.Cause.Remedy = h, h, h
		events = append(events, e)
	}
	f.record(events...)
	var restarts atomic.Int32
	paths := []string{"/", "/timeline", "/timeline?healed=1", "/timeline?server=" + url.QueryEscape(hostile[0]) + "&tool=" + url.QueryEscape(hostile[1]), "/timeline/1", "/timeline/2", "/timeline/3", "/timeline/4", fmt.Sprint("/timeline/", len(events))}
	for _, h := range hostile {
		paths = append(paths, "/servers/"+f.announce(h, &restarts).ID, "/log?server="+url.QueryEscape(plaintext.Clean(h)))
	}
	element := regexp.MustCompile(`(?i)<(script|img|iframe|object|embed|base|style)\b[^>]*>`)
	quoted := regexp.MustCompile(`"[^"]*"`)
	attribute := regexp.MustCompile(`(?i)<[^>]*\s(on\w+|style|srcdoc)\s*=`)
	address := regexp.MustCompile(`(?i)(href|action|src|hx-get)="([^"]*)"`)
	for _, path := range paths {
		text := f.page(path)
		for _, tag := range element.FindAllString(text, -1) {
			if !strings.HasPrefix(tag, `<script src="/static/`) {
				t.Errorf("%s has %s", path, tag)
			}
		}
		if found := attribute.FindString(quoted.ReplaceAllString(text, `""`)); found != "" {
			t.Errorf("%s has %s", path, found)
		}
		for _, m := range address.FindAllStringSubmatch(text, -1) {
			if m[2] != "" && !strings.HasPrefix(m[2], "/") && !strings.HasPrefix(m[2], "#") {
				t.Errorf("%s links to %s", path, m[2])
			}
		}
		wantNone(t, text, "\u202e", strings.Repeat("W", 5000))
	}
}

func TestTheStreamReportsChanges(t *testing.T) {
	f := serve(t, "")
	conn, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "GET /live HTTP/1.1\r\nHost: %s\r\nCookie: %s=%s\r\n\r\n", f.addr, f.door.cookie, f.login())
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v, %v", response, err)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Scan() // the stream has begun
	for range 2 {
		f.record(crash("notes", time.Now())...)
		for lines.Scan() && lines.Text() != "event: change" {
		}
		if lines.Text() != "event: change" {
			t.Fatal("the stream ended: ", lines.Err())
		}
	}
	// A task that a different process runs is a change as well.
	j, err := journal.Open(journalPath(f.dir))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if _, err := j.Append(t.Context(), "tidy", 0, journal.Entry{Time: time.Now(), Kind: "begun", Data: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() && lines.Text() != "event: change" {
	}
	if lines.Text() != "event: change" {
		t.Fatal("the stream ended: ", lines.Err())
	}
	f.d.Close()
	if _, err := io.ReadAll(response.Body); err != nil {
		t.Errorf("the stream did not end: %v", err)
	}
}

func TestNothingLooksWhileNoBrowserListens(t *testing.T) {
	f := serve(t, "")
	_, leave := f.d.watcher.listen()
	_, leaveToo := f.d.watcher.listen()
	stopped := false
	stop := f.d.watcher.stop
	f.d.watcher.stop = func() { stopped = true; stop() }
	leave()
	if stopped {
		t.Error("it stopped although a browser listens")
	}
	leaveToo()
	if !stopped {
		t.Error("it still looks")
	}
	f.record(crash("notes", time.Now())...)
	f.page("/")
	f.d.watcher.rest()
	if f.d.records.journal != nil || f.d.records.all != nil {
		t.Error("it keeps the journal in memory")
	}
	wantAll(t, f.page("/"), "1 crash with no")
}
