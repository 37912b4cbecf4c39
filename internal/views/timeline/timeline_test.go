package timeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/testonly/sample"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// sequence numbers records, a second apart.
func sequence(records ...journal.Record) []journal.Record {
	for i := range records {
		records[i].Seq, records[i].Time = i+1, time.Unix(int64(i), 0)
		if records[i].Server == "" {
			records[i].Server = "notes"
		}
	}
	return records
}

func sentences(items []timeline.Item) (all []string) {
	for _, it := range items {
		all = append(all, it.Sentence())
	}
	return all
}

func TestWhatBelongsTogether(t *testing.T) {
	type r = journal.Record
	for _, c := range []struct {
		name    string
		records []r
		want    []string
	}{
		{"two clients of one process of gauze serve", []r{
			{Kind: event.Died, Generation: 1, PID: 10, Client: "a", Reason: "exit", Detail: "it exited (exit status 1)"},
			{Kind: event.Died, Generation: 1, PID: 20, Client: "b", Reason: "signal", Detail: "it exited (signal: killed)"},
			{Kind: event.Started, Generation: 2, PID: 21, Client: "b"},
			{Kind: event.Restored, Generation: 2, PID: 21, Client: "b"},
			{Kind: event.Ready, Generation: 2, PID: 21, Client: "b"},
			{Kind: event.Started, Generation: 2, PID: 11, Client: "a"},
			{Kind: event.Restored, Generation: 2, PID: 11, Client: "a"},
			{Kind: event.Ready, Generation: 2, PID: 11, Client: "a"},
			{Kind: event.Replayed, Generation: 2, Client: "b", Method: "tools/call", Tool: "get", Call: "x"},
		}, []string{
			"the server exited (signal: killed); restarted in 2.0 s, session restored, 1 call replayed",
			"the server exited (exit status 1); restarted in 6.0 s, session restored",
			"get: the server exited during the call; replayed",
		}},
		{"a call that the server had not read", []r{
			{Kind: event.Died, Generation: 1, PID: 10, Reason: "signal", Detail: "it exited (signal: killed)"},
			{Kind: event.Started, Generation: 2, PID: 11},
			{Kind: event.Restored, Generation: 2, PID: 11},
			{Kind: event.Ready, Generation: 2, PID: 11},
			{Kind: event.Replayed, Generation: 2, Method: "tools/call", Tool: "get", Call: "x", Detail: upstream.NeverRead},
		}, []string{
			"the server exited (signal: killed); restarted in 2.0 s, session restored, 1 call replayed",
			"get: the server exited before it read the call; replayed",
		}},
		{"a call at the end of the wrap", []r{
			{Kind: event.Failed, Client: "a", Method: "tools/call", Tool: "get", Call: "x", Code: fault.Stopping, Detail: "gauze stopped it: the client left"},
		}, []string{"get: Gauze is stopping; answered with stopping"}},
		{"the same client twice", []r{
			{Kind: event.Died, Generation: 1, PID: 10, Client: "a", Reason: "exit", Detail: "it exited (exit status 1)"},
			{Kind: event.Died, Generation: 1, PID: 20, Client: "a", Reason: "exit", Detail: "it exited (exit status 2)"},
			{Kind: event.Started, Generation: 2, PID: 21, Client: "a"},
			{Kind: event.Started, Generation: 2, PID: 11, Client: "a"},
		}, []string{"the server exited (exit status 2)", "the server exited (exit status 1)"}},
		{"an older version of gauze", []r{
			{Kind: event.Died, Generation: 1, PID: 10, Detail: "it exited (exit status 1)"},
			{Kind: event.Started, Generation: 2, PID: 11},
			{Kind: event.Restored, Generation: 2, PID: 11},
			{Kind: event.Ready, Generation: 2, PID: 11},
			{Kind: event.Replayed, Generation: 2, Method: "tools/call", Tool: "get", Detail: "it is safe to repeat"},
			{Kind: event.Repaired, Method: "tools/call", Tool: "put", Detail: "days: string to number"},
			{Kind: event.Stopping},
			{Kind: event.Died, Generation: 2, PID: 11, Detail: "gauze stopped it: the client left"},
			{Kind: event.Stopped},
		}, []string{
			"the server exited (exit status 1); restarted in 2.0 s, session restored, 1 call replayed",
			"get: the server exited during the call; replayed because it is safe to repeat",
			"put: the arguments did not match the tool's schema; repaired days: string to number",
		}},
		{"a fix", []r{
			{Kind: event.Started, Generation: 1, PID: 10},
			{Kind: event.Ready, Generation: 1, PID: 10},
			{Kind: event.Died, Generation: 1, PID: 10, Reason: "start-failed", Detail: "it exited (exit status 1)"},
			{Kind: event.Treating, Generation: 1, Detail: "PORT=1"},
			{Kind: event.Healed, Generation: 1, Detail: "set PORT=5433"},
			{Kind: event.Started, Generation: 2, PID: 11},
			{Kind: event.Ready, Generation: 2, PID: 11},
		}, []string{"the server did not start: it exited (exit status 1); fixed: set PORT=5433, restarted in 4.0 s"}},
		{"a URL that is away, and is not given up", []r{
			{Kind: event.Died, Generation: 3, Reason: "connection", Detail: "connection failed: refused"},
			{Kind: event.Waiting, Generation: 3, Took: time.Second},
			{Kind: event.Refused, Generation: 3, Took: 5 * time.Second, Cause: &journal.Cause{Code: "login", Explanation: "The login has expired."}},
			{Kind: event.Started, Generation: 4},
			{Kind: event.Restored, Generation: 4},
			{Kind: event.Ready, Generation: 4},
		}, []string{"the login has expired; reconnected in 4.0 s, session restored"}},
		{"a URL that rejects every request", []r{
			{Kind: event.Started, Generation: 1},
			{Kind: event.Died, Generation: 1, Reason: "refused", Detail: "it rejected the request: HTTP 401"},
			{Kind: event.Refused, Generation: 1, Cause: &journal.Cause{Code: "oauth_not_completed", Explanation: "The server requires a login, and logins are turned off."}, Count: 1},
			{Kind: event.Started, Generation: 2},
		}, []string{"the server requires a login, and logins are turned off; gauze will try again at the next request"}},
		{"a URL that rejected requests, and then answers", []r{
			{Kind: event.Started, Generation: 1},
			{Kind: event.Died, Generation: 1, Reason: "refused", Detail: "it rejected the request: HTTP 401"},
			{Kind: event.Refused, Generation: 1, Cause: &journal.Cause{Code: "oauth_not_completed", Explanation: "The server requires a login."}, Count: 1},
			{Kind: event.Started, Generation: 2},
			{Kind: event.Ready, Generation: 2},
		}, []string{"the server requires a login; connected in 3.0 s after 2 attempts"}},
		{"a URL that was never reached", []r{
			{Kind: event.Started, Generation: 1},
			{Kind: event.Died, Generation: 1, Reason: "connection", Detail: "connection failed: refused"},
			{Kind: event.Waiting, Generation: 2, Took: time.Second, Count: 2},
			{Kind: event.Failed, Method: "tools/call", Tool: "get", Call: "x", Code: fault.ServerUnreachable, Detail: "refused"},
			{Kind: event.Waiting, Generation: 181, Took: 5 * time.Second, Count: 181},
		}, []string{
			"get: the server cannot be reached: refused; answered with server-unreachable",
			"the server could not be reached: refused; 181 attempts failed, next one in 5.0 s",
		}},
		{"a URL that was not reached until gauze stopped", []r{
			{Kind: event.Started, Generation: 1, Client: "a"},
			{Kind: event.Died, Generation: 1, Reason: "connection", Detail: "connection failed: refused", Client: "a"},
			{Kind: event.Waiting, Generation: 3, Took: time.Second, Count: 3, Client: "a"},
			{Kind: event.Stopping, Client: "a"},
			{Kind: event.Stopped, Client: "a"},
		}, []string{"the server could not be reached: refused; 3 attempts failed, then gauze stopped"}},
		{"a URL that is reached late", []r{
			{Kind: event.Started, Generation: 1},
			{Kind: event.Died, Generation: 1, Reason: "connection", Detail: "connection failed: refused"},
			{Kind: event.Waiting, Generation: 2, Took: time.Second, Count: 2},
			{Kind: event.Waiting, Generation: 3, Took: time.Second, Count: 3},
			{Kind: event.Started, Generation: 4},
			{Kind: event.Replayed, Generation: 4, Method: "tools/call", Tool: "get", Call: "x"},
			{Kind: event.Ready, Generation: 4},
		}, []string{
			"get: the server could not be reached; replayed",
			"the server could not be reached: refused; connected in 5.0 s after 4 attempts, 1 call replayed",
		}},
		{"a URL that was reached, lost and reached again", []r{
			{Kind: event.Started, Generation: 1},
			{Kind: event.Ready, Generation: 1},
			{Kind: event.Died, Generation: 1, Reason: "connection", Detail: "connection failed: reset"},
			{Kind: event.Waiting, Generation: 2, Took: time.Second, Count: 2},
			{Kind: event.Waiting, Generation: 3, Took: time.Second, Count: 3},
			{Kind: event.Started, Generation: 4},
			{Kind: event.Ready, Generation: 4},
		}, []string{"the connection was lost: reset; reconnected in 4.0 s after 3 attempts"}},
		{"the first events are not there any more", []r{
			{Kind: event.Restored, Generation: 4, PID: 3, Took: time.Second},
			{Kind: event.Ready, Generation: 4, PID: 3},
		}, []string{"the server is running again, session restored (generation 4, 1s)"}},
		{"a crash loop", []r{
			{Kind: event.Died, Generation: 1, PID: 1, Reason: "exit", Detail: "it exited (exit status 1)"},
			{Kind: event.Started, Generation: 2, PID: 2},
			{Kind: event.Died, Generation: 2, PID: 2, Reason: "start-failed", Detail: "it exited (exit status 2)"},
			{Kind: event.Opened, Generation: 2, Took: 30 * time.Second},
		}, []string{"the server exited (exit status 1); too many restarts, next attempt in 30 s"}},
		{"logins", []r{
			{Kind: event.LoginRenewed},
			{Kind: event.LoginEnded, Detail: "it was revoked"},
			{Kind: event.LoginNeeded, Code: fault.AuthRequired, Cause: &journal.Cause{Code: "oauth_not_completed", Explanation: "The server requires a login: it was revoked."}},
			{Kind: event.LoginUnsaved, Detail: "disk full"},
		}, []string{
			"the access token expired; renewed the login",
			"the login is no longer valid: it was revoked",
			"the server requires a login: it was revoked",
			"the renewed login could not be stored: disk full",
		}},
		{"a verdict", []r{
			{Kind: event.Judged, Task: "t-1", To: "stop_task", Detail: "all attempts to reconnect failed"},
		}, []string{"the task decided to stop: all attempts to reconnect failed"}},
		{"a model", []r{
			{Kind: event.Corrected, Method: "tools/call", Tool: "put", Call: "x", Detail: "renamed town", Model: &journal.Question{Model: "small"}},
			{Kind: event.Saved, Method: "tools/call", Tool: "put", Call: "x", Detail: "corrected"},
			{Kind: event.Proposed, Method: "tools/call", Tool: "put", Call: "y", Model: &journal.Question{Model: "small"}},
			{Kind: event.Uncorrected, Method: "tools/call", Tool: "put", Call: "z"},
			{Kind: event.Cancelled, Method: "tools/call", Tool: "put", Call: "w"},
			{Kind: journal.Unrecorded, Count: 3},
		}, []string{
			"put: the server rejected the arguments; corrected by small: renamed town",
			"put: the server rejected the arguments; small proposed a correction, which was shown to the caller",
			"put: the server rejected the arguments; a model could not correct it",
			"3 events could not be recorded",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := sentences(timeline.Items(sequence(c.records...))); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// Whatever is recorded, every event is in one item, items are in order, and ids are unique.
func TestEveryEventIsInOneItem(t *testing.T) {
	kinds := []event.Kind{
		event.Started, event.Ready, event.Restored, event.Died, event.Waiting, event.Opened, event.GaveUp, event.Judged, event.HealthChanged, event.ProbeMissed,
		event.Hung, event.Healed, event.Treating, event.Refused, event.ListChanged, event.Stopping, event.Stopped, event.Replayed, event.Unknown,
		event.Failed, event.TimedOut, event.Cancelled, event.Quarantined, event.Repaired, event.Saved, event.Unverified, event.Explained,
		event.Diagnosed, event.Corrected, event.Proposed, event.Uncorrected, event.Stray, event.Dropped, journal.Unrecorded, "of a newer gauze",
	}
	for _, seed := range sample.Seeds(sample.Seed(t), 200) {
		random := sample.Random(seed, 1)
		var records []journal.Record
		for range 100 {
			r := journal.Record{Kind: kinds[random.IntN(len(kinds))], Gauze: random.IntN(2), Generation: random.IntN(4), PID: random.IntN(3), Client: []string{"", "a", "b"}[random.IntN(3)],
				Reason: []string{"", "exit", "start-failed", "stopped", "restart", "hung"}[random.IntN(6)]}
			if random.IntN(2) == 0 {
				r.Call, r.Tool = fmt.Sprint(random.IntN(9)), "get"
			}
			records = append(records, r)
		}
		seen, ids, last := map[int]bool{}, map[string]bool{}, 0
		for _, it := range timeline.All(sequence(records...)) {
			for _, r := range it.Events {
				if seen[r.Seq] {
					t.Fatalf("seed %d: event %d is in two items", seed, r.Seq)
				}
				seen[r.Seq] = true
			}
			end := it.Events[len(it.Events)-1].Seq
			if ids[it.ID] || it.Sentence() == "" || end <= last {
				t.Fatalf("seed %d: %+v", seed, it)
			}
			ids[it.ID], last = true, end
		}
		if len(seen) != len(records) {
			t.Fatalf("seed %d: %d of %d events", seed, len(seen), len(records))
		}
	}
}

func TestSums(t *testing.T) {
	for want, kinds := range map[string][]event.Kind{
		"This week: nothing needed healing":                                                  {event.Died, event.Started, event.Replayed, event.Hung},
		"This week: 1 crash with no session lost":                                            {event.Restored},
		"This week: 2 crashes with no session lost, 1 call repaired":                         {event.Restored, event.Repaired, event.Restored},
		"This week: 2 calls saved from failing, 1 call corrected by a model, 1 server fixed": {event.Corrected, event.Saved, event.Saved, event.Healed},
	} {
		var records []journal.Record
		for _, kind := range kinds {
			records = append(records, journal.Record{Kind: kind})
		}
		if got := timeline.Sum(records).Worth("This week"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What was not recorded is not denied.
func TestTheWeekOfAJournalThatLacksSome(t *testing.T) {
	some := timeline.Sums{Crashes: 2}
	for want, got := range map[string]string{
		"This week: nothing needed healing":                                      timeline.Sums{}.Week(false),
		"This week: nothing was recorded":                                        timeline.Sums{}.Week(true),
		"This week: 2 crashes with no session lost":                              some.Week(false),
		"This week: 2 crashes with no session lost; not everything was recorded": some.Week(true),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0 ms": 0, "350 ms": 350 * time.Millisecond, "1.2 s": 1234 * time.Millisecond, "9.9 s": 9900 * time.Millisecond, "10 s": 9960 * time.Millisecond,
		"90 s": 90 * time.Second, "12 min": 12 * time.Minute, "5 h": 5 * time.Hour, "3 d": 72 * time.Hour,
	} {
		if got := timeline.Duration(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
