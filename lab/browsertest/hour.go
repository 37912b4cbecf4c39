package browsertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

// Hour is a run whose pauses were made longer, so that it lasted an hour. Everything in it is real: the
// servers ran, were killed and called with wrong arguments, and every event, response, duration and
// distance between two events of a scene is as it was. Only the pauses between the scenes are not: in
// the run a scene began when the one before it had ended, here some minutes later.
type Hour struct {
	*Played
	Shown *Run // Shown has the state directory in which the hour is.

	wraps  []*Wrap
	scenes []scene
	now    time.Time // when the run ended
	told   []*live.Announcement
}

// scene is a part of the run.
type scene struct {
	began time.Time // in the run
	shown time.Time // in the hour
}

// numScenes is how many scenes an hour has.
const numScenes = 40

// PlayHour plays Play and then scenes of an hour with more servers.
func PlayHour(ctx context.Context, r *Run) (*Hour, error) {
	h := &Hour{Played: &Played{Run: r}}
	for _, play := range h.Played.scenes() {
		h.scenes = append(h.scenes, scene{began: time.Now()})
		if err := play(ctx); err != nil {
			return nil, err
		}
	}
	for _, o := range []WrapOptions{
		{Name: "calendar", Client: "Claude Code"}, {Name: "database", Client: "Cursor"}, {Name: "files", Client: "Claude Code"},
		{Name: "github", Client: "VS Code"}, {Name: "mail", Client: "Cursor"},
	} {
		w, err := r.Wrap(ctx, o)
		if err != nil {
			return nil, err
		}
		h.wraps = append(h.wraps, w)
	}
	if err := h.configureAll(); err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(33, 5)) // the same hour every time
	for range numScenes {
		h.scenes = append(h.scenes, scene{began: time.Now()})
		if err := h.scene(ctx, random); err != nil {
			return nil, err
		}
	}
	h.now = time.Now()
	h.spread(random)
	return h, h.show(ctx)
}

// configureAll adds the servers of the hour to the clients' files.
func (h *Hour) configureAll() error {
	return errors.Join(
		h.Write("home/.claude.json", `{"mcpServers": {
  "calendar": {"type": "stdio", "command": "calendar-server"},
  "far": {"url": "http://127.0.0.1:9/mcp"},
  "files": {"type": "stdio", "command": "files-server"},
  "weather": {"type": "stdio", "command": "weather-server"}
}}
`, 0o600),
		h.Write("home/.cursor/mcp.json", `{"mcpServers": {
  "database": {"command": "database-server"},
  "hidden": {"command": "hidden-server"},
  "mail": {"command": "mail-server"},
  "notes": {"command": "notes-server"},
  "search": {"command": "search-server"}
}}
`, 0o600))
}

// scene lets one server be used, and something happen to it.
func (h *Hour) scene(ctx context.Context, random *rand.Rand) error {
	w := h.wraps[random.IntN(len(h.wraps))]
	for n := range 3 + random.IntN(6) {
		if err := h.calls(ctx, w, call{"echo", fmt.Sprintf(`{"text":"message %d"}`, n), ""}); err != nil {
			return err
		}
	}
	switch n := random.IntN(10); {
	case n < 3:
		return h.calls(ctx, w, call{"die_read", fmt.Sprintf(`{"times":1,"key":"read-%d"}`, random.Int()), ""})
	case n < 7:
		mistakes := []string{`{"city":"Oslo","days":"5"}`, `{"arguments":{"City":"Bergen","days":3}}`, `{"city":"Tromsø","days":2,"units":null}`, `{"city":"Oslo","days":2,"tags":"['wind', 'rain']"}`}
		for range 1 + random.IntN(3) {
			if err := h.calls(ctx, w, call{"forecast", mistakes[random.IntN(len(mistakes))], ""}); err != nil {
				return err
			}
		}
		return nil
	case n < 9:
		before, err := w.Server(ctx)
		if err == nil {
			err = w.Kill(ctx)
		}
		if err == nil {
			_, err = w.Await(ctx, func(s live.Server) bool { return s.Restarts > before.Restarts && s.ServerPID != 0 })
		}
		return err
	}
	return h.calls(ctx, w, call{"stderr", `{"message":"connected to the upstream API\n"}`, ""})
}

// spread puts the scenes into the hour before the end of the run, in order.
func (h *Hour) spread(random *rand.Rand) {
	var minutes []float64
	for range h.scenes[1:] {
		minutes = append(minutes, 1+random.Float64()*55)
	}
	slices.Sort(minutes)
	slices.Reverse(minutes)
	h.scenes[0].shown = h.now.Add(-59 * time.Minute)
	for i, ago := range minutes {
		before, s := h.scenes[i], &h.scenes[i+1]
		s.shown = h.now.Add(-time.Duration(ago * float64(time.Minute)))
		if earliest := before.shown.Add(s.began.Sub(before.began)); s.shown.Before(earliest) {
			s.shown = earliest
		}
	}
}

// at returns when something of the run happened in the hour.
func (h *Hour) at(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	last := h.scenes[0]
	for _, s := range h.scenes {
		if !s.began.After(t) {
			last = s
		}
	}
	return last.shown.Add(max(0, t.Sub(last.began)))
}

// show makes the hour visible in a state directory of its own: its events in a journal, and wraps that
// answer with what the real ones say.
func (h *Hour) show(ctx context.Context) error {
	h.Shown = h.Elsewhere("hour")
	if err := h.rewrite(ctx); err != nil {
		return err
	}
	servers, err := live.All(ctx, h.State)
	if err != nil {
		return err
	}
	for _, s := range servers {
		detail, err := live.One(ctx, h.State, s.ID)
		if err != nil {
			return err
		}
		lines, err := live.Log(ctx, h.State, s.ID)
		if err != nil {
			return err
		}
		h.move(&detail)
		for i := range lines {
			lines[i].Time = h.at(lines[i].Time)
		}
		told, err := live.Announce(h.Shown.State, s.Name, live.Source{Server: func() live.Server { return detail.Server },
			Detail: func() live.Detail { return detail }, Log: func() []live.Line { return lines }})
		if err != nil {
			return err
		}
		h.told = append(h.told, told)
		h.ended = append(h.ended, told.Close)
	}
	return nil
}

// move puts what a wrap says into the hour. Its events are recorded by this process.
func (h *Hour) move(d *live.Detail) {
	s := &d.Server
	s.PID = os.Getpid()
	for _, t := range []*time.Time{&s.Since, &s.Up, &s.LastDeath, &s.LastFailure, &s.LastSuccess} {
		*t = h.at(*t)
	}
	for i := range d.Recent {
		d.Recent[i].Time = h.at(d.Recent[i].Time)
	}
}

// rewrite records the events of the run at their times in the hour.
func (h *Hour) rewrite(ctx context.Context) error {
	from, err := journal.Open(filepath.Join(h.State, journal.FileName))
	if err != nil {
		return err
	}
	defer from.Close()
	records, err := h.settled(ctx, from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(h.Shown.State, 0o700); err != nil {
		return err
	}
	// Each wrap writes its events a little later, in batches: a pause would make that visible.
	slices.SortStableFunc(records, func(a, b journal.Record) int { return a.Time.Compare(b.Time) })
	for some := range slices.Chunk(records, 100) { // a recorder that is too slow misses some
		stream := event.New()
		var failed error
		recorder := journal.NewRecorder(filepath.Join(h.Shown.State, journal.FileName), stream, func(err error) { failed = err })
		for _, r := range some {
			e := r.Event()
			e.Time = h.at(r.Time)
			stream.Emit(e)
		}
		<-recorder.Close()
		if failed != nil {
			return failed
		}
	}
	return nil
}

// settled returns the events of the run, when no more are written.
func (h *Hour) settled(ctx context.Context, j *journal.Journal) ([]journal.Record, error) {
	look := time.NewTicker(2 * time.Second) // events are written within a second
	defer look.Stop()
	for last := -1; ; {
		records, err := j.Events(ctx, journal.Query{})
		if err != nil || len(records) == last {
			return records, err
		}
		last = len(records)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-look.C:
		}
	}
}

// Server returns the wrap of a name as the hour shows it.
func (h *Hour) Server(ctx context.Context, name string) (live.Server, error) {
	all, err := live.All(ctx, h.Shown.State)
	for _, s := range all {
		if s.Name == name {
			return s, err
		}
	}
	return live.Server{}, fmt.Errorf("%s is not announced: %w", name, err)
}
