package gateway

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/event"
)

// Named faults of the side that faces clients.

func TestFaultW35ALegacyClientThatVanishesFindsItsResult(t *testing.T) {
	t.Parallel()
	o := quickly()
	o.Resumable = true
	f := serve(t, o)
	c := f.client().initialize("2025-11-25")
	a := c.call("7", "append", `{"key":"k","value":"once","ms":100}`).want(200)
	primed(a)
	a.hangUp()
	again := c.request("GET", "", resumeHeader, a.lastID).want(200)
	again.result().wantText(t, "")
	if again.lastID == a.lastID || again.next() != nil {
		t.Error("the resumed stream goes on behind its answer")
	}
	if n := strings.Count(f.executed(), "once"); n == 0 {
		t.Error("the call was not executed")
	}
	// A third look finds it again: nobody knows whether the second arrived.
	c.request("GET", "", resumeHeader, a.lastID).want(200).result()
	for len(f.events) > 0 {
		if e := <-f.events; e.Kind == event.Cancelled {
			t.Error("a hang-up was taken for a cancel")
		}
	}
}

// primed reads the event that is there for its id only.
func primed(a *answer) {
	a.t.Helper()
	for a.lastID == "" {
		line, err := a.lines.ReadString('\n')
		if err != nil {
			a.t.Fatal(err)
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			a.lastID = strings.TrimSpace(id)
		}
	}
	a.lines.ReadString('\n')
}

func TestFaultW35AModernClientThatVanishesCancels(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	c := f.client()
	c.modern("0", "server/discover", "{}").want(200).result()
	body, headers := modernRequest("1", "tools/call", `{"name":"progress","arguments":{"n":-1,"interval_ms":5}}`, `"progressToken":1`)
	a := c.request("POST", body, headers...).want(200)
	a.next()
	a.hangUp()
	if e := f.await(event.Cancelled); e.Tool != "progress" {
		t.Errorf("cancelled: %s", e)
	}
	c.modernCall("1", "echo", `{"text":"still here"}`).want(200).result().wantText(t, "still here")
}

func TestFaultW36EqualIDsAtTheSameTimeNeverMeet(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	const clients, calls = 4, 25
	var all sync.WaitGroup
	for n := range clients {
		c := f.client()
		for i := range calls {
			all.Go(func() {
				text := fmt.Sprintf("client %d call %d", n, i)
				body, headers := modernRequest(fmt.Sprint(i), "tools/call", fmt.Sprintf(`{"name":"echo","arguments":{"text":%q}}`, text), `"progressToken":"same"`)
				a, err := c.try("POST", body, headers...)
				if err != nil {
					t.Error(err)
					return
				}
				if m := a.next(); m == nil || string(m.ID) != fmt.Sprint(i) || !strings.Contains(m.raw, text) {
					t.Errorf("%s was told %+v", text, m)
				}
			})
		}
	}
	all.Wait()
}

func TestFaultW36EqualProgressTokensNeverMeet(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	var all sync.WaitGroup
	for n := range 4 {
		c := f.client()
		all.Go(func() {
			token := `"same"`
			body, headers := modernRequest("1", "tools/call", fmt.Sprintf(`{"name":"progress","arguments":{"n":%d,"interval_ms":1}}`, n+1), `"progressToken":`+token)
			a, err := c.try("POST", body, headers...)
			if err != nil {
				t.Error(err)
				return
			}
			seen := 0
			for m := a.next(); m != nil && m.Method != ""; m = a.next() {
				if seen++; !strings.Contains(m.raw, `"progressToken":`+token) {
					t.Errorf("told %s", m.raw)
				}
			}
			if seen != n+1 {
				t.Errorf("%d steps were told to who asked for %d", seen, n+1)
			}
		})
	}
	all.Wait()
}

func TestFaultW37ASessionBelongsToItsToken(t *testing.T) {
	t.Parallel()
	o := quickly()
	o.Tokens = []string{"the-token-of-alice", "the-token-of-bob-x"}
	f := serve(t, o)
	alice := f.client("Authorization", "Bearer the-token-of-alice").initialize("2025-06-18")
	alice.call("1", "append", `{"key":"a","value":"by alice"}`).want(200).result()
	before := f.executed()

	bob := f.client("Authorization", "Bearer the-token-of-bob-x")
	bob.session = alice.session
	bob.call("1", "append", `{"key":"a","value":"by bob"}`).want(403)
	bob.request("GET", "").want(403)
	bob.request("DELETE", "").want(403)
	bob.session = "00000000000000000000000000000000"
	bob.call("1", "append", `{"key":"a","value":"by bob"}`).want(404)
	stranger := f.client()
	stranger.session = alice.session
	if a := stranger.call("1", "append", `{"key":"a","value":"by nobody"}`).want(401); a.Header.Get("WWW-Authenticate") != "Bearer" {
		t.Error("401 does not say what it wants")
	}
	if after := f.executed(); after != before {
		t.Errorf("a stranger had an effect:\n%s", after)
	}
	alice.call("2", "echo", `{"text":"mine"}`).want(200).result().wantText(t, "mine")
}

func TestFaultW38HeadersThatDifferFromTheBodyAreRefused(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	c := f.client()
	body, right := modernRequest("5", "tools/call", `{"name":"append","arguments":{"key":"k","value":"v"}}`, "")
	for name, wrong := range map[string][]string{
		"another method":       {methodHeader, "tools/list"},
		"another case":         {methodHeader, "TOOLS/CALL"},
		"no method":            {methodHeader, ""},
		"another name":         {nameHeader, "echo"},
		"no name":              {nameHeader, ""},
		"an encoded name":      {nameHeader, "=?base64?ZWNobw==?="},
		"a broken encoding":    {nameHeader, "=?base64?ZWN!?="},
		"another version":      {versionHeader, "2027-01-01"},
		"a legacy version":     {versionHeader, "2025-06-18"},
		"no version":           {versionHeader, ""},
		"a version of nothing": {versionHeader, "v999"},
	} {
		t.Run(name, func(t *testing.T) {
			m := c.request("POST", body, append(append([]string(nil), right...), wrong...)...).want(400).result()
			if m.Error == nil || m.Error.Code != codeHeaderMismatch || string(m.ID) != "5" {
				t.Errorf("told %s", m.raw)
			}
		})
	}
	c.request("POST", body, append(right, nameHeader, "=?base64?YXBwZW5k?=")...).want(200).result()
	if n := strings.Count(f.executed(), `"v"`); n != 1 {
		t.Errorf("%d calls were executed, want the one whose headers are right:\n%s", n, f.executed())
	}
}
