package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
)

// record writes events to a journal as gauze run does.
func record(t testing.TB, path string, events ...event.Event) *Recorder {
	t.Helper()
	stream := event.New()
	r := NewRecorder(path, stream, func(err error) { t.Log(err) })
	for _, e := range events {
		stream.Emit(e)
	}
	<-r.Close()
	return r
}

// timelineOf formats the events as "1 died files, 2 restored files".
func timelineOf(t testing.TB, path string, q Query) string {
	t.Helper()
	records, err := openFor(t, path).Events(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, r := range records {
		words = append(words, strings.TrimSpace(fmt.Sprintf("%d %s %s", r.Seq, r.Kind, strings.TrimSpace(r.Server+" "+r.Tool))))
	}
	return strings.Join(words, ", ")
}

func TestEventsAreRecorded(t *testing.T) {
	path := newPath(t)
	want := event.Event{Time: noon, Kind: event.Failed, Server: "files", Generation: 2, Method: "tools/call", Tool: "read", From: "a", To: "b", Code: fault.ServerBusy,
		Cause: fault.Cause{Code: "env_not_set", Explanation: "It is not set.", Remedy: "Set it."}, Detail: "exit status 1", Took: 3 * time.Second, Count: 4, PID: 5,
		Model: &event.Consultation{Model: "m", InputTokens: 6, OutputTokens: 7, Cost: 0.5, Reason: "because"}}
	record(t, path, want)
	records, err := openFor(t, path).Events(context.Background(), Query{})
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	want.Seq = 1
	if got := records[0].Event(); fmt.Sprint(got) != fmt.Sprint(want) || fmt.Sprintf("%+v", got.Cause) != fmt.Sprintf("%+v", want.Cause) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if records[0].Gauze != os.Getpid() {
		t.Error(records[0].Gauze)
	}
}

func TestEventsAreChosen(t *testing.T) {
	path := newPath(t)
	at := func(minute int, kind event.Kind, server, tool string) event.Event {
		return event.Event{Time: time.Now().Add(time.Duration(minute-10) * time.Minute), Kind: kind, Server: server, Tool: tool}
	}
	record(t, path, at(1, event.Died, "files", ""), at(2, event.Restored, "files", ""), at(3, event.Repaired, "files", "read"))
	record(t, path, at(4, event.Failed, "notes", "read"), at(5, event.Failed, "notes", "write"))
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{}, "1 died files, 2 restored files, 3 repaired files read, 4 failed notes read, 5 failed notes write"},
		{Query{Servers: []string{"files"}}, "1 died files, 2 restored files, 3 repaired files read"},
		{Query{Tool: "read"}, "3 repaired files read, 4 failed notes read"},
		{Query{Healed: true}, "2 restored files, 3 repaired files read"},
		{Query{Kind: event.Failed}, "4 failed notes read, 5 failed notes write"},
		{Query{Servers: []string{"files", "notes"}, Limit: 3}, "3 repaired files read, 4 failed notes read, 5 failed notes write"},
		{Query{Limit: 2}, "4 failed notes read, 5 failed notes write"},
		{Query{After: 4}, "5 failed notes write"},
		{Query{Since: time.Now().Add(-450 * time.Second)}, "3 repaired files read, 4 failed notes read, 5 failed notes write"},
		{Query{Servers: []string{"none"}}, ""},
	} {
		if got := timelineOf(t, path, c.q); got != c.want {
			t.Errorf("%+v:\ngot  %s\nwant %s", c.q, got, c.want)
		}
	}
	names, err := openFor(t, path).Servers(context.Background())
	if err != nil || fmt.Sprint(names) != "[files notes]" {
		t.Error(names, err)
	}
}

func TestNoSecretReachesTheFile(t *testing.T) {
	path := newPath(t)
	const canary = "hunter2canary"
	secret := "password=" + canary
	record(t, path, event.Event{Time: noon, Kind: event.Stray, Server: secret, Method: secret, Tool: secret, From: secret, To: secret,
		Detail: "\x1b[31m" + secret, Cause: fault.Cause{Code: "x", Explanation: secret, Changes: []string{secret}},
		Model: &event.Consultation{Model: secret, Reason: secret, Before: []byte(`{"note":"` + canary + `"}`), After: []byte(`["` + canary + `"]`)}})
	files, err := filepath.Glob(filepath.Dir(path) + "/*")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), canary) || strings.Contains(string(content), "[31m") {
			t.Errorf("%s has the secret or the control character", filepath.Base(file))
		}
	}
	if got := timelineOf(t, path, Query{}); got == "" {
		t.Error("nothing was recorded")
	}
}

func TestOldEventsAreRemoved(t *testing.T) {
	path := newPath(t)
	old := time.Now().Add(-maxEventAge)
	record(t, path, event.Event{Time: old.Add(-time.Hour), Kind: event.Died}, event.Event{Time: old.Add(-time.Minute), Kind: event.Died},
		event.Event{Time: old.Add(time.Hour), Kind: event.Ready}, event.Event{Kind: event.Stopped})
	if got := timelineOf(t, path, Query{}); got != "3 ready, 4 stopped" {
		t.Error(got)
	}
	record(t, path, event.Event{Kind: event.Ready})
	j := openFor(t, path)
	if got := timelineOf(t, path, Query{}); got != "3 ready, 4 stopped, 5 ready" || j.Salvaged() != nil {
		t.Error(got, j.Salvaged())
	}
}

func TestTheTimelineDoesNotGrowForever(t *testing.T) {
	path := newPath(t)
	record(t, path, event.Event{Kind: event.Ready, Detail: strings.Repeat("x", 1000)}, event.Event{Kind: event.Ready, Detail: strings.Repeat("x", 1000)},
		event.Event{Kind: event.Stopped})
	j := openFor(t, path)
	tx, err := j.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	var bytes int
	if err := tx.QueryRow("SELECT value FROM meta WHERE name = 'event-bytes'").Scan(&bytes); err != nil || bytes < 500 {
		t.Fatal(bytes, err)
	}
	for limit, want := range map[int]int{bytes: 0, bytes - 1: 2, 0: 3} {
		first, left := 0, bytes
		if err := prune(tx, &first, &left, time.Now(), limit); err != nil || first != want {
			t.Errorf("limit %d: the first event is %d, want %d: %v", limit, first, want, err)
		}
		tx.Rollback()
		if tx, err = j.db.Begin(); err != nil {
			t.Fatal(err)
		}
	}
	tx.Rollback()
}

func TestWhatCannotBeWrittenIsCounted(t *testing.T) {
	path := newPath(t)
	dir := filepath.Dir(path)
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file where the directory should be
		t.Fatal(err)
	}
	var warnings []error
	stream := event.New()
	r := NewRecorder(path, stream, func(err error) { warnings = append(warnings, err) })
	for range 3 * maxBatch {
		stream.Emit(event.Event{Kind: event.Stray})
	}
	<-r.Close()
	if r.Lost() != 3*maxBatch {
		t.Errorf("%d events are counted, want %d", r.Lost(), 3*maxBatch)
	}
	var problem *Problem
	if len(warnings) != 1 || !errors.As(warnings[0], &problem) || !strings.Contains(warnings[0].Error(), "GAUZE_STATE_DIR") {
		t.Errorf("%q", warnings)
	}
}

func TestLostEventsAreRecordedLater(t *testing.T) {
	path := newPath(t)
	dir := filepath.Dir(path)
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stream := event.New()
	warned := make(chan struct{})
	r := NewRecorder(path, stream, func(error) { close(warned) })
	for range maxBatch {
		stream.Emit(event.Event{Kind: event.Stray})
	}
	<-warned
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	stream.Emit(event.Event{Kind: event.Ready})
	<-r.Close()
	records, err := openFor(t, path).Events(context.Background(), Query{})
	if err != nil || len(records) != 2 || records[0].Kind != Unrecorded || records[0].Count != maxBatch || records[1].Kind != event.Ready {
		t.Errorf("%+v, %v", records, err)
	}
}

func TestEventsThatStillWaitAreCounted(t *testing.T) {
	path := newPath(t)
	record(t, path, event.Event{Kind: event.Ready})
	tx, err := openFor(t, path).db.Begin() // a different process is writing
	if err != nil {
		t.Fatal(err)
	}
	var warnings []string
	stream := event.New()
	r := NewRecorder(path, stream, func(err error) { warnings = append(warnings, err.Error()) })
	for range 3 {
		stream.Emit(event.Event{Kind: event.Stray})
	}
	done := r.Close()
	for deadline := time.Now().Add(busyTimeout / 2); r.Lost() != 3; { // one is between the stream and the batch
		if time.Now().After(deadline) {
			t.Fatalf("%d events are counted, want 3", r.Lost())
		}
	}
	r.Abandon()
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	<-done
	if r.Lost() != 0 {
		t.Errorf("%d events are counted after all were written", r.Lost())
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "in time") {
		t.Errorf("%q", warnings)
	}
}

func TestTheHeadsDoNotGrowForever(t *testing.T) {
	path := newPath(t)
	record(t, path, event.Event{Kind: event.Ready})
	heads, err := openHeads(path)
	if err != nil {
		t.Fatal(err)
	}
	for range maxHeadsBytes / len(headLine(timeline, 1)) {
		heads.Write(headLine(timeline, 1))
	}
	heads.Close()
	record(t, path, event.Event{Kind: event.Stopped})
	info, err := os.Stat(path + headsSuffix)
	if err != nil || info.Size() > maxHeadsBytes/2 {
		t.Fatal(info, err)
	}
	if got := readHeads(path)[timeline]; got != 2 {
		t.Errorf("the last event is %d, want 2", got)
	}
	if got := timelineOf(t, path, Query{}); got != "1 ready, 2 stopped" || openFor(t, path).Salvaged() != nil {
		t.Error(got)
	}
}

func TestSmallEventsMakeRoomForLargeOnes(t *testing.T) {
	path := newPath(t)
	const count = maxPruned + 200
	if err := write(path, slices.Repeat([]Record{{Time: time.Now(), Kind: event.Ready}}, count)); err != nil {
		t.Fatal(err)
	}
	tx, err := openFor(t, path).db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	first, bytes := 1, count*1000
	if err := prune(tx, &first, &bytes, time.Now(), 0); err != nil || first != count {
		t.Errorf("the first event is %d, want %d: %v", first, count, err)
	}
}

// Who asks a wrap reads in the journal what the wrap has counted.
func TestSettleWritesWhatWaits(t *testing.T) {
	path := newPath(t)
	stream := event.New()
	r := NewRecorder(path, stream, func(err error) { t.Error(err) })
	defer func() { <-r.Close() }()
	r.Settle(time.Minute) // nothing waits
	for i, want := range []string{"1 died files, 2 restored files", "1 died files, 2 restored files, 3 died files, 4 restored files"} {
		stream.Emit(event.Event{Kind: event.Died, Server: "files"})
		stream.Emit(event.Event{Kind: event.Restored, Server: "files"})
		r.Settle(time.Minute)
		if got := timelineOf(t, path, Query{}); got != want {
			t.Errorf("round %d: %s, want %s", i, got, want)
		}
	}
	for range 2 * maxBatch {
		stream.Emit(event.Event{Kind: event.Stray, Server: "files"})
	}
	r.Settle(time.Minute)
	records, err := openFor(t, path).Events(t.Context(), Query{})
	if err != nil || r.Lost() != r.Missed() {
		t.Errorf("%d events are written, %d are not: %v", len(records), r.Lost()-r.Missed(), err)
	}
	<-r.Close()
	r.Settle(time.Minute) // nothing can wait any more
}

func TestOnlySoManyEventsAreKept(t *testing.T) {
	path := newPath(t)
	record(t, path, event.Event{Kind: event.Ready}, event.Event{Kind: event.Ready}, event.Event{Kind: event.Ready})
	tx, err := openFor(t, path).db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("UPDATE events SET seq = ? WHERE seq = 3", 2+MaxEvents-1); err != nil {
		t.Fatal(err)
	}
	first, bytes := 1, 100
	if err := prune(tx, &first, &bytes, time.Now(), MaxEventBytes); err != nil || first != 2 {
		t.Errorf("the first event is %d, want 2: %v", first, err)
	}
}

// Numbers by which events are removed are not trusted if they cannot be right.
func TestWrongBoundsRemoveNoEvent(t *testing.T) {
	for _, text := range []string{
		"UPDATE meta SET value = 3 WHERE name = 'first-event'",
		"UPDATE meta SET value = 1 << 40 WHERE name = 'event-bytes'",
		"UPDATE meta SET value = -5 WHERE name = 'event-bytes'",
		"DELETE FROM meta WHERE name = 'event-bytes'",
	} {
		path := newPath(t)
		record(t, path, event.Event{Kind: event.Ready}, event.Event{Kind: event.Ready}, event.Event{Kind: event.Ready})
		j := openFor(t, path)
		if _, err := j.db.Exec(text); err != nil {
			t.Fatal(err)
		}
		if r := record(silent{t}, path, event.Event{Kind: event.Stopped}); r.Lost() != 1 {
			t.Errorf("%s: the event was written", text)
		}
		if records, err := j.Events(t.Context(), Query{}); err != nil || len(records) != 3 {
			t.Errorf("%s: %d events, %v", text, len(records), err)
		}
		j.Close()
		if j, err := OpenChecked(path); err != nil {
			t.Errorf("%s: %v", text, err)
		} else {
			defer j.Close()
			if r := record(t, path, event.Event{Kind: event.Stopped}); r.Lost() != 0 {
				t.Errorf("%s: the journal was not repaired: %v", text, j.Salvaged())
			}
		}
	}
}
