package top

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/text/fullscreen"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
)

var update = flag.Bool("update", false, "write the golden screens")

var noon = time.Date(2026, 11, 14, 12, 0, 0, 0, time.Local)

// fixed is a Source of fixed data.
type fixed struct {
	servers   []live.Server
	details   map[string]live.Detail
	items     []timeline.Item
	week      timeline.Sums
	restarted []string
	checked   chan context.Context // receives the context of each gauze doctor, which then waits for it; nil: it answers
	err       error
}

func (f *fixed) Servers(context.Context) ([]live.Server, error) { return f.servers, f.err }
func (f *fixed) Week(context.Context) (timeline.Sums, error)    { return f.week, f.err }
func (f *fixed) Items(context.Context) ([]timeline.Item, error) { return f.items, f.err }
func (f *fixed) Detail(_ context.Context, id string) (live.Detail, error) {
	d, ok := f.details[id]
	if !ok {
		return d, live.ErrGone
	}
	return d, nil
}

func (f *fixed) Restart(_ context.Context, id string) error {
	f.restarted = append(f.restarted, id)
	return f.err
}

func (f *fixed) Doctor(ctx context.Context, s live.Server) (string, error) {
	if f.checked != nil {
		f.checked <- ctx
		<-ctx.Done()
	}
	return s.Name + " works.\n  All is well.", f.err
}

// example returns three servers: one that was killed, one that is fine and one that does not answer.
func example() *fixed {
	notes := live.Server{ID: "10-1", Name: "notes", Client: "claude-code", State: "degraded", Up: noon.Add(-90 * time.Second), Counts: live.Counts{Calls: 120, P95: 12.4, Healed: 2, Saved: 5, Repaired: 3, ToolCount: 7}, Restarts: 2, LastReason: "signal", LastDeath: noon.Add(-91 * time.Second)}
	files := live.Server{ID: "11-1", Name: "npx -y @modelcontextprotocol/server-filesystem /home/ada/projects", Client: "cursor", State: "healthy",
		Up: noon.Add(-26 * time.Hour), Counts: live.Counts{Calls: 3456, P95: 1.25, ToolCount: 11}}
	mute := live.Server{ID: "12-1", Name: "mute", State: live.StateSilent, Since: noon.Add(-time.Hour)}
	f := &fixed{servers: []live.Server{mute, notes, files}, details: map[string]live.Detail{}}
	f.details["10-1"] = live.Detail{Server: notes, Log: []string{"listening", "\x1b[31mwarning\x1b[m: slow disk", "ready"}, Recent: []live.Call{
		{ID: "a1", Time: noon.Add(-2 * time.Minute), Client: "claude-code", Tool: "search", Outcome: "ok", Took: 3 * time.Millisecond},
		{ID: "a2", Time: noon.Add(-92 * time.Second), Client: "claude-code", Tool: "list_notes", Outcome: "ok", Took: 1300 * time.Millisecond, Without: 12 * time.Millisecond, Healed: "replayed"},
		{ID: "a3", Time: noon.Add(-30 * time.Second), Client: "claude-code", Tool: "create_note", Outcome: "ok", Took: 21 * time.Millisecond, Without: 4 * time.Millisecond, Healed: "repaired",
			Changes: []event.Change{{Path: "priority", Rule: "number from text", Reason: "the schema requires an integer", Before: `"3"`, After: `3`}},
			Told:    "The arguments were adjusted: priority is a number. Use this form next time."},
		{ID: "a4", Time: noon.Add(-10 * time.Second), Client: "claude-code", Tool: "create_note", Outcome: "outcome-unknown", Took: 2 * time.Second},
	}}
	f.details["11-1"] = live.Detail{Server: files, Recent: []live.Call{{ID: "b1", Time: noon.Add(-5 * time.Second), Client: "cursor", Tool: "read_file", Outcome: "error", Took: 900 * time.Microsecond}}}
	f.items = []timeline.Item{
		{ID: "1", Time: noon.Add(-2 * time.Hour), Kind: event.Repaired, Client: "claude-code", Server: "notes", Tool: "create_note", Call: "z9", Healed: true,
			Problem: "the arguments did not match the tool's schema", Action: "repaired title: renamed", Changes: []event.Change{{Path: "title", Rule: "renamed", Reason: "the schema has no name"}},
			Took: 8 * time.Millisecond, Without: 2 * time.Millisecond, Events: []journal.Record{{Kind: event.Repaired}, {Kind: event.Saved, Detail: "repaired"}}},
		{ID: "3", Time: noon.Add(-91 * time.Second), Kind: event.Died, Client: "claude-code", Server: "notes", Healed: true,
			Problem: "the server exited (signal: killed)", Action: "restarted in 1.2 s, session restored", Took: 1200 * time.Millisecond, Events: []journal.Record{{Kind: event.Died}, {Kind: event.Restored}}},
		{ID: "6", Time: noon.Add(-90 * time.Second), Kind: event.Replayed, Client: "claude-code", Server: "notes", Tool: "list_notes", Call: "a2", Healed: true,
			Problem: "the server exited during the call", Action: "replayed because the tool only reads"},
		{ID: "8", Time: noon.Add(-8 * time.Second), Kind: event.Unknown, Client: "claude-code", Server: "notes", Tool: "create_note", Call: "a4",
			Problem: "it is unknown whether the call took effect", Action: "answered with outcome-unknown", Events: []journal.Record{{Kind: event.Unknown, Code: "outcome-unknown"}}},
	}
	return f
}

// driver drives a model as package fullscreen does.
type driver struct {
	t *testing.T
	m *model
	f *fixed
}

func drive(t *testing.T, f *fixed, width, height int) *driver {
	d := &driver{t, newModel(t.Context(), f), f}
	d.send(fullscreen.Size{Width: width, Height: height})
	d.read(noon)
	return d
}

// read is a read of the servers at a time.
func (d *driver) read(at time.Time) *driver {
	d.send(serversMsg{sample{at, d.f.servers}, d.f.err})
	return d
}

// send delivers a message, runs the command that it leads to, and delivers what that returns.
func (d *driver) send(msg fullscreen.Msg) {
	cmd := d.m.Update(msg)
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case serversMsg: // of the clock of this machine
		d.m.reading = false
	default:
		if msg == fullscreen.Quit() || msg == fullscreen.Suspend() {
			d.t.Fatalf("unexpected %T", msg)
		}
		d.send(msg)
	}
}

func (d *driver) keys(names ...string) *driver {
	d.t.Helper()
	for _, name := range names {
		d.send(fullscreen.Key(name))
		d.bounds()
	}
	return d
}

// bounds checks that the screen is as large as the terminal and has only styles.
func (d *driver) bounds() {
	d.t.Helper()
	lines := d.m.Lines()
	if len(lines) != d.m.height {
		d.t.Fatalf("%d lines on a terminal of %d", len(lines), d.m.height)
	}
	for _, line := range lines {
		if w := ansi.StringWidth(line); w > d.m.width {
			d.t.Fatalf("%d columns on a terminal of %d: %q", w, d.m.width, line)
		}
		if left := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(line, ""); strings.ContainsFunc(left, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
			d.t.Fatalf("control characters on the screen: %q", line)
		}
	}
}

// shown returns the screen without styles.
func (d *driver) shown() string {
	var lines []string
	for _, line := range d.m.Lines() {
		lines = append(lines, strings.TrimRight(ansi.Strip(line), " "))
	}
	return strings.Join(lines, "\n")
}

func (d *driver) want(texts ...string) *driver {
	d.t.Helper()
	for _, text := range texts {
		if !strings.Contains(d.shown(), text) {
			d.t.Fatalf("%q is not on the screen:\n%s", text, d.shown())
		}
	}
	return d
}

func (d *driver) wantNot(text string) *driver {
	d.t.Helper()
	if strings.Contains(d.shown(), text) {
		d.t.Fatalf("%q is on the screen:\n%s", text, d.shown())
	}
	return d
}

var blankLines = regexp.MustCompile(`\n{3,}`)

func TestScreens(t *testing.T) {
	for _, size := range [][2]int{{40, 12}, {200, 60}} {
		for name, keys := range map[string][]string{
			"servers": nil, "calls": {"j", "j", "j", "enter"}, "all": {"tab", "a"}, "log": {"end", "tab", "tab"}, "keys": {"?"},
			"repaired": {"G", "k", "enter", "j", "enter"}, "replayed": {"G", "k", "enter", "j", "j", "j", "enter"}, "recorded": {"G", "k", "enter", "G", "enter"},
			"restart": {"G", "r"}, "filter": {"/", "n", "o", "t"}, "explain": {"G", "k", "enter", "e"}, "doctor": {"G", "d"},
		} {
			t.Run(fmt.Sprintf("%s-%d", name, size[0]), func(t *testing.T) {
				d := drive(t, example(), size[0], size[1])
				got := blankLines.ReplaceAllString(d.keys(keys...).shown(), "\n\n") + "\n"
				file := filepath.Join("testdata", fmt.Sprintf("%s-%d.golden", name, size[0]))
				if *update {
					if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
					t.Errorf("got:\n%s\nwant:\n%s\nIf this is right: go test ./internal/views/top -update", got, want)
				}
			})
		}
	}
}

func TestEveryScreenFitsEverySize(t *testing.T) {
	f := example()
	f.servers[1].Name = "a\x1b]0;title\x07\x1b[2J\u202e\n日本語の名前 " + strings.Repeat("x", 300)
	f.details["10-1"] = live.Detail{Server: f.servers[1], Log: []string{"\x1b[2Jlog\a\r\n" + strings.Repeat("日本 ", 500)}, Recent: []live.Call{
		{ID: "\x1b[2J", Time: noon, Tool: "\x1b[2Jtool\n", Client: "\x9b2J", Outcome: "\x1b[H", Healed: "\u009b1m", Told: "a\n\n\x1b[2Jb\tc" + strings.Repeat("word ", 200),
			Changes: []event.Change{{Path: "\x1b[2J", Rule: "\x1b", Reason: "\x07", Before: "\x1b[2J\n", After: strings.Repeat("ü", 400)}}}}}
	for width := 1; width < 130; width += 7 {
		for height := 1; height < 30; height += 3 {
			d := drive(t, f, width, height)
			d.keys("j", "enter", "enter", "pgdown", "end", "home", "esc", "tab", "end", "up", "?", "esc", "d", "esc", "r", "n", "/", "x", "esc", "tab", "enter", "e", "esc", "a", "j", "enter")
		}
	}
}

func TestRestartAsksFirst(t *testing.T) {
	d := drive(t, example(), 100, 20).keys("G", "r").want("Restart npx", "? y/n", "y restart")
	if d.keys("n").want("Not restarted."); len(d.f.restarted) > 0 {
		t.Fatalf("restarted %v without confirmation", d.f.restarted)
	}
	d.keys("r", "q") // any other key
	if d.keys("k", "r", "y").want("Restarted notes."); !slices.Equal(d.f.restarted, []string{"10-1"}) {
		t.Fatalf("restarted %v", d.f.restarted)
	}
	d.f.err = errors.New("calls are in flight")
	d.keys("r", "y").want("Cannot restart notes: calls are in flight")
}

func TestRestartOfTheServerOfACall(t *testing.T) {
	d := drive(t, example(), 100, 20).keys("tab", "a", "j").want("> 11:59:50  notes").keys("r", "y")
	d.keys("g", "enter", "r", "y") // the newest, of the other server
	if !slices.Equal(d.f.restarted, []string{"10-1", "11-1"}) {
		t.Errorf("restarted %v", d.f.restarted)
	}
}

func TestSelectionStaysOnItsServer(t *testing.T) {
	d := drive(t, example(), 100, 20).want("> mute").keys("j").want("> notes")
	d.f.servers = append([]live.Server{{ID: "9-1", Name: "another", State: "healthy"}}, d.f.servers...)
	d.read(noon.Add(time.Second)).want("> notes", "  another")
	d.keys("s").want("STATE↓", "> notes").keys("S").want("STATE↑", "> notes")
	d.keys("enter").want("calls of notes")
	d.f.servers = d.f.servers[:1] // the wrap ends
	d.read(noon.Add(2 * time.Second)).want("calls of notes").keys("esc").want("> another")
}

func TestServersAreSorted(t *testing.T) {
	d := drive(t, example(), 200, 20)
	for _, c := range []struct{ column, first string }{{"NAME", "mute"}, {"STATE", "mute"}, {"UP", "mute"}, {"CALLS", "npx"}, {"CALLS/S", "npx"}, {"P95", "notes"}, {"SAVED", "notes"}, {"REPAIRED", "notes"}, {"HEALED", "notes"}, {"RESTARTS", "notes"}} {
		d.m.samples = []sample{{noon.Add(-2 * time.Second), []live.Server{{ID: "11-1", Counts: live.Counts{Calls: 3450}}}}, d.m.current()}
		d.want(c.column + "↓")
		if first := d.m.shownServers()[0]; !strings.HasPrefix(first.Name, c.first) {
			t.Errorf("by %s, %s is first", c.column, first.Name)
		}
		d.keys("s")
	}
	d.want("NAME↓", "3.0")
}

func TestNewestCallStaysSelected(t *testing.T) {
	d := drive(t, example(), 120, 20).keys("j", "enter").want("> 11:59:50")
	more := func(id string, at time.Time) {
		notes := d.f.details["10-1"]
		notes.Recent = append(slices.Clone(notes.Recent), live.Call{ID: id, Time: at, Tool: "search", Outcome: "ok"})
		d.f.details["10-1"] = notes
		d.send(d.m.readDetails()())
	}
	more("a5", noon)
	d.want("> 12:00:00").keys("down").want("> 11:59:50")
	more("a6", noon.Add(time.Second))
	d.want("> 11:59:50", "  12:00:01").keys("up", "up", "up").want("> 12:00:01")
}

func TestAnOpenedCallStays(t *testing.T) {
	d := drive(t, example(), 120, 40).keys("j", "enter", "j", "enter").want("call of create_note", `- "3"`, "+ 3")
	d.f.details = nil // the wrap has ended
	d.send(d.m.readDetails()())
	d.want("call of create_note", `- "3"`).keys("esc").want("calls of notes").wantNot("11:59:30")
}

func TestFilter(t *testing.T) {
	d := drive(t, example(), 120, 20).keys("/", "N", "O", "q", "backspace", "enter").want("filter: NO", "> mute", "notes").wantNot("npx") // not responding, notes
	d.keys("/", "t", "e").wantNot("mute").keys("enter", "enter").want("calls of notes", "search")
	d.keys("/", "l", "i", "s", "t", "enter").want("list_notes").wantNot("search").keys("esc").want("search").keys("esc").want("filter: NOte").keys("esc").want("npx", "mute")
	d.keys("/", "z", "z").want("No server matches").keys("esc").want("npx")
	d.keys("g", "j", "tab", "tab", "/", "s", "l", "o", "w").want("warning: slow disk").wantNot("listening")
}

func TestTabs(t *testing.T) {
	d := drive(t, example(), 120, 20).keys("j")
	for _, title := range []string{"calls of notes", "log of notes", "servers", "calls of notes"} {
		d.keys("tab").want("gauze top: " + title)
	}
	d.keys("enter").want("call of").keys("tab").want("log of notes").keys("shift+tab").want("calls of notes").keys("esc").want("servers")
}

func TestExplain(t *testing.T) {
	d := drive(t, example(), 100, 40).keys("j", "e").want("gauze explain", "outcome-unknown", "What it means").keys("esc").want("servers")
	d.keys("enter", "e").want("gauze explain outcome-unknown", "What it means").keys("esc", "j", "e").want("Nothing to explain: this call")
	d.keys("esc", "g", "e").want("Nothing to explain: no fault or cause of failure is recorded for mute.")
}

func TestDoctorStopsWhenItsPageCloses(t *testing.T) {
	f := example()
	f.checked = make(chan context.Context, 1)
	d := drive(t, f, 100, 20)
	cmd := d.m.Update(fullscreen.Key("d"))
	d.want("gauze doctor mute", "Checking the server")
	answer := make(chan fullscreen.Msg)
	go func() { answer <- cmd() }()
	ctx := <-f.checked
	d.keys("esc").want("servers")
	<-ctx.Done()
	d.send(<-answer) // too late
	d.want("servers").wantNot("works")
}

// A wrap that does not answer delays its read and nothing else.
func TestKeysWorkDuringARead(t *testing.T) {
	d := drive(t, example(), 100, 20)
	cmd := d.m.Update(tickMsg{})
	if cmd == nil || !d.m.reading {
		t.Fatal("a tick starts no read")
	}
	for range 3 {
		d.m.Update(tickMsg{})
	}
	if again := d.m.readServers(); again != nil {
		t.Error("a second read starts before the first has ended")
	}
	d.m.Update(fullscreen.Key("j"))
	d.m.Update(fullscreen.Key("enter"))
	d.want("calls of notes", "Loading the calls")
	if again := d.m.readDetails(); again != nil {
		t.Error("a second read of details starts before the first has ended")
	}
	d.m.Update(fullscreen.Key("esc"))
	d.want("> notes")
}

func TestReadsThatFail(t *testing.T) {
	f := example()
	d := drive(t, f, 100, 20)
	f.err = errors.New("permission denied")
	d.read(noon).want("Cannot list the servers: permission denied", "notes")
	f.err = nil
	d.read(noon).wantNot("Cannot read")
	f.servers = nil
	d.read(noon).want("No wrapped server is running.", "gauze wrap --all", "gauze demo").keys("enter", "tab", "r", "d", "e", "j").want("No wrapped server is running.")
	if first := newModel(t.Context(), f); !strings.Contains(strings.Join(first.Lines(), "\n"), "Querying the wrapped servers") {
		t.Error("before the first read, it says that there are no servers")
	}
}

func TestKeysThatEnd(t *testing.T) {
	for key, want := range map[string]fullscreen.Msg{"q": fullscreen.Quit(), "ctrl+c": fullscreen.Quit()} {
		for _, before := range [][]string{nil, {"enter"}, {"?"}, {"tab", "tab"}} {
			cmd := drive(t, example(), 100, 20).keys(before...).m.Update(fullscreen.Key(key))
			if cmd == nil || cmd() != want {
				t.Errorf("%s after %v does not lead to %T", key, before, want)
			}
		}
	}
	d := drive(t, example(), 100, 20).keys("/", "q").want("/q") // a letter
	if cmd := d.m.Update(fullscreen.Key("ctrl+c")); cmd == nil {
		t.Error("ctrl+c does not quit while a filter is typed")
	}
}

// Every key of the help does something on its screens, and the footer shows it.
func TestFooterShowsTheKeys(t *testing.T) {
	for keys, words := range map[string][]string{"": {"q quit", "enter calls", "tab next", "r restart", "d doctor", "e explain", "/ filter", "s sort", "? keys"},
		"enter": {"esc back", "enter open", "a all"}, "tab tab": {"esc back", "r restart", "/ filter"}, "?": {"esc back", "q quit"}} {
		drive(t, example(), 120, 20).keys(strings.Fields(keys)...).want(words...)
	}
}

func TestTheWeekIsUnderTheServers(t *testing.T) {
	f := example()
	f.week = timeline.Sums{Crashes: 14, Repaired: 31, Logins: 3}
	d := drive(t, f, 80, 24)
	sum := func() { d.send(d.m.readWeek()()) }
	sum()
	d.want("This week: 14 crashes with no session lost, 31 calls repaired, 3 logins renewed")
	d.keys("enter").wantNot("This week").keys("esc").want("This week")
	if d.m.summing = true; d.m.readWeek() != nil {
		t.Error("two reads at the same time")
	}
	d.m.summing = false
	f.err = errors.New("disk gone")
	sum()
	d.wantNot("This week")
	d.bounds()
	drive(t, f, 30, 10).bounds()
}

func TestAFileWithAnErrorIsShown(t *testing.T) {
	f := example()
	f.servers[0].File = &live.File{Path: "/home/me/up.yaml", Error: "up.yaml:3: servers.notes.comand: unknown key"}
	drive(t, f, 120, 20).want("gauze up uses the previous version of its file: up.yaml:3: servers.notes.comand: unknown key")
	f.servers[0].File.Error = ""
	drive(t, f, 120, 20).wantNot("previous version")
}
