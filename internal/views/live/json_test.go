package live_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/views/live"
)

// Programs read gauze status --json, and wraps of other versions the same object: it stays flat.
func TestDetailIsOneFlatObject(t *testing.T) {
	at := time.Unix(1, 0).UTC()
	d := live.Detail{Server: live.Server{ID: "1-2", Name: "<a&b>", Client: "c", PID: 3, Via: "run", Version: "v", State: "healthy", Since: at, Up: at, ServerPID: 4, Sessions: 1,
		Restarts: 5, LastReason: "exit", LastDeath: at, ConsecutiveFailures: 1, LastFailure: at, LastCause: "x", LastSuccess: at, NextTry: at,
		Counts: live.Counts{ToolCount: 6, Calls: 7, Closures: map[string]uint64{"exit": 1}, Rules: map[string]uint64{}, Unrecorded: 1, NotRecorded: true}}, Command: "npx <x>"}
	want := `{"id":"1-2","name":"<a&b>","client":"c","pid":3,"via":"run","version":"v","state":"healthy","since":"1970-01-01T00:00:01Z","up":"1970-01-01T00:00:01Z","serverPid":4,"sessions":1,` +
		`"restarts":5,"lastReason":"exit","lastDeath":"1970-01-01T00:00:01Z","consecutiveFailures":1,"lastFailure":"1970-01-01T00:00:01Z","lastCause":"x","lastSuccess":"1970-01-01T00:00:01Z","nextTry":"1970-01-01T00:00:01Z",` +
		`"tools":6,"calls":7,"failed":0,"unknown":0,"cancelled":0,"open":0,"healed":0,"replayed":0,"repaired":0,"corrected":0,"saved":0,` +
		`"latency":{"counts":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],"sum":0},"p95Ms":0,"closures":{"exit":1},"recovery":{"counts":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],"sum":0},"unrecorded":1,"notRecorded":true,"command":"npx <x>"}`
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil || b.String() != want+"\n" {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
	}
	var back live.Detail
	d.Server.Counts.Rules = nil
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || !reflect.DeepEqual(back, d) {
		t.Errorf("%v\n%+v\nwant\n%+v", err, back, d)
	}
	escaped, err := json.Marshal(d)
	if err != nil || bytes.ContainsAny(escaped, "<&>") {
		t.Errorf("%v: %s", err, escaped)
	}
}
