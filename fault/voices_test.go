package fault_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/fault"
)

func TestDeliveryNamesItself(t *testing.T) {
	for d, want := range map[fault.Delivery]string{fault.Unsent: "unsent", fault.Unknown: "unknown", fault.Answered: "answered", 99: "unknown"} {
		if got := d.String(); got != want {
			t.Errorf("%d: %q, want %q", int(d), got, want)
		}
	}
}

func TestTheWordsFollowTheDelivery(t *testing.T) {
	for _, c := range []struct {
		name     string
		code     fault.Code
		delivery fault.Delivery
		safe     bool
		advice   fault.Advice
		says     []string
		not      []string
	}{
		{"a timed-out write may still happen", fault.CallTimeout, fault.Unknown, false, fault.VerifyFirst,
			[]string{"may still be running", "may or may not take effect", "Check before repeating"}, []string{"safe to repeat", "Try again"}},
		{"a timed-out read may be repeated", fault.CallTimeout, fault.Unknown, true, fault.RetryNow,
			[]string{"safe to repeat"}, []string{"may or may not", "Check before"}},
		{"a call that never got its turn had no effect", fault.CallTimeout, fault.Unsent, false, fault.RetryLater,
			[]string{"reached its time limit while waiting to be sent", "not sent", "Try again"}, []string{"did not answer", "Check before"}},
		{"a write lost with the server is never advised to be repeated", fault.ServerUnavailable, fault.Unknown, false, fault.VerifyFirst,
			[]string{"may or may not have taken effect", "Check before repeating"}, []string{"Try again", "not sent"}},
		{"a too large answer of a write means that it ran", fault.ResponseTooLarge, fault.Answered, false, fault.ChangeCall,
			[]string{"probably taken effect", "Check before repeating", "Ask for less"}, []string{"not sent"}},
		{"a too large answer of a read may be asked for again", fault.ResponseTooLarge, fault.Answered, true, fault.ChangeCall,
			[]string{"Ask for less"}, []string{"Check before", "taken effect"}},
		{"an invalid answer of a write means that it ran", fault.ResponseInvalid, fault.Answered, false, fault.VerifyFirst,
			[]string{"probably taken effect", "Check before repeating"}, nil},
		{"a missing command needs a person", fault.CommandNotFound, fault.Unsent, false, fault.TellUser,
			[]string{"not sent", "Do not retry", "Tell the user"}, []string{"Try again"}},
		{"an unknown outcome says so in our fixed words", fault.OutcomeUnknown, fault.Unknown, false, fault.VerifyFirst,
			[]string{"The server exited, or its connection was lost, while this call was running, and the call may or may not have taken effect. Check before repeating it."}, []string{"failed"}},
		{"a call that came to grief before it was taken is not to blame", fault.ReplayExhausted, fault.Unsent, false, fault.RetryLater,
			[]string{"before it could receive this call", "not sent", "Try again"}, []string{"kills the server", "unchanged"}},
		{"a call that is barred had no effect", fault.CallQuarantined, fault.Unsent, false, fault.ChangeCall,
			[]string{"last two crashes", "not sent", "unchanged"}, nil},
		{"a call that is barred from now on may have had its effect", fault.CallQuarantined, fault.Unknown, false, fault.ChangeCall,
			[]string{"crashed while running this call", "may or may not", "Check before repeating", "unchanged"}, []string{"did not pass"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fault.Fault{Code: c.code, Delivery: c.delivery, Safe: c.safe, Method: "tools/call", At: noon}
			if got := f.Advice(); got != c.advice {
				t.Errorf("advice %s, want %s", got, c.advice)
			}
			model := f.Model()
			for _, s := range c.says {
				if !strings.Contains(model, s) {
					t.Errorf("does not say %q: %s", s, model)
				}
			}
			for _, s := range c.not {
				if strings.Contains(model, s) {
					t.Errorf("says %q: %s", s, model)
				}
			}
		})
	}
}

// The one rule that must hold for every code there is or will be.
func TestNoVoiceAdvisesToRepeatWhatMayHaveHappened(t *testing.T) {
	for _, e := range fault.All() {
		for _, d := range []fault.Delivery{fault.Unknown, fault.Answered} {
			f := &fault.Fault{Code: e.Code, Delivery: d, Method: "tools/call", Tool: "pay", At: noon, NextTry: noon.Add(time.Second)}
			if a := f.Advice(); a == fault.RetryNow || a == fault.RetryLater {
				t.Errorf("%s/%s: advises %s", e.Code, d, a)
			}
			model := f.Model()
			if strings.Contains(model, "ry again") || strings.Contains(model, "safe to repeat") || !strings.Contains(model, "taken effect") && !strings.Contains(model, "take effect") {
				t.Errorf("%s/%s: %s", e.Code, d, model)
			}
		}
		f := &fault.Fault{Code: e.Code, Method: "tools/call"}
		if a := f.Advice(); a == fault.VerifyFirst {
			t.Errorf("%s/unsent: advises to check what was never sent", e.Code)
		}
	}
}

func TestARequestOfTheProtocolItselfNeedsNoChecking(t *testing.T) {
	for method, acts := range map[string]bool{
		"initialize": false, "tools/list": false, "resources/templates/list": false, "resources/read": false, "ping": false,
		"tools/call": true, "tasks/update": true, "acme/launch": true, "": true,
	} {
		f := &fault.Fault{Code: fault.CallTimeout, Delivery: fault.Unknown, Method: method}
		if got := f.Advice() == fault.VerifyFirst; got != acts {
			t.Errorf("%s: advises %s", method, f.Advice())
		}
		if got := strings.Contains(f.Model(), "may or may not"); got != acts {
			t.Errorf("%s: %s", method, f.Model())
		}
	}
}

func TestEveryJSONIsMarkedAsOurs(t *testing.T) {
	for _, e := range fault.All() {
		f := sample(e.Code)
		var got struct {
			Source, Code, Delivery, Retry string
			NextTry, Since                *time.Time
		}
		if err := json.Unmarshal(f.JSON(), &got); err != nil {
			t.Fatalf("%s: %v", e.Code, err)
		}
		if got.Source != "gauze" || got.Code != string(e.Code) || got.Delivery != f.Delivery.String() || got.Retry != string(f.Advice()) {
			t.Errorf("%s: %+v", e.Code, got)
		}
	}
}

func TestAToolResultIsOneLineAndComplete(t *testing.T) {
	for _, modern := range []bool{false, true} {
		raw := sample(fault.ServerExitsEarly).ToolResult(modern)
		if strings.ContainsAny(string(raw), "\n\r") {
			t.Fatalf("a frame is one line: %q", raw)
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if string(got["isError"]) != "true" {
			t.Errorf("isError is %s", got["isError"])
		}
		if _, has := got["resultType"]; has != modern || modern && string(got["resultType"]) != `"complete"` {
			t.Errorf("modern %v: resultType is %s", modern, got["resultType"])
		}
		var meta map[string]json.RawMessage
		if err := json.Unmarshal(got["_meta"], &meta); err != nil || len(meta[fault.MetaKey]) == 0 {
			t.Errorf("_meta is %s (%v)", got["_meta"], err)
		}
	}
}

func TestARequestThatIsNoCallIsNotCalledACall(t *testing.T) {
	f := &fault.Fault{Code: fault.ServerUnavailable, Method: "resources/read"}
	if m := f.Model(); strings.Contains(m, "his call") || !strings.Contains(m, "this request was not sent") {
		t.Error(m)
	}
}

func TestOutcomeUnknownHoldsNoneOfTheServersText(t *testing.T) {
	f := sample(fault.OutcomeUnknown)
	f.Detail = "FOREIGN detail"
	f.Evidence.Stderr, f.Evidence.Stdout = []string{"FOREIGN stderr"}, []string{"FOREIGN stdout"}
	for name, voice := range map[string]string{"model": f.Model(), "json": string(f.JSON()), "tool result": string(f.ToolResult(true)), "rpc error": string(f.RPCError())} {
		if strings.Contains(voice, "FOREIGN") {
			t.Errorf("%s: %s", name, voice)
		}
	}
	if !strings.Contains(f.Terminal(false), "FOREIGN stderr") {
		t.Error("people should see the last lines")
	}
}

func TestTheErrorStandsOutOfAStackTrace(t *testing.T) {
	f := &fault.Fault{Code: fault.ServerExitsEarly, Evidence: &fault.Evidence{Stderr: []string{
		"node:internal/modules/cjs/loader:1228", "  throw err;", "  ^", "",
		"Error: Cannot find module 'zod'", "Require stack:", "- /srv/index.js",
		"    at Function._resolveFilename (node:internal/modules/cjs/loader:1225:15)",
		"    at Function._load (node:internal/modules/cjs/loader:1051:27)",
		"    at node:internal/main/run_main_module:36:49 {",
		"  code: 'MODULE_NOT_FOUND',", "  requireStack: [ '/srv/index.js' ]", "}", "", "Node.js v22.11.0",
	}}}
	if m := f.Model(); !strings.Contains(m, "Cannot find module 'zod'") || strings.Contains(m, "_resolveFilename") {
		t.Error(m)
	}
}

func TestAToolNameNeverBecomesPartOfAShellCommandUnlessItIsPlain(t *testing.T) {
	for tool, want := range map[string]string{
		"read_file":         "--tool read_file:timeout=5m",
		"x; rm -rf ~":       "--tool NAME:timeout=5m",
		"$(id)":             "--tool NAME:timeout=5m",
		"-rf":               "--tool NAME:timeout=5m",
		"a\u202eb":          "--tool NAME:timeout=5m",
		"ghp_abcdefghijklm": "--tool NAME:timeout=5m",
	} {
		f := &fault.Fault{Code: fault.CallTimeout, Method: "tools/call", Tool: tool}
		if got := f.Terminal(false); !strings.Contains(got, want) {
			t.Errorf("%q: %s", tool, got)
		}
	}
	if got := sample(fault.OutcomeUnknown).Terminal(false); strings.Contains(got, "write_file:replay") {
		t.Error("a command that allows repetition must not be ready to paste")
	}
}

func TestColourIsOursAndOnlyOnRequest(t *testing.T) {
	f := sample(fault.CrashLoop)
	f.Evidence.Stderr = []string{"\x1b[31mred\x1b[0m"}
	if strings.Contains(f.Terminal(false), "\x1b") {
		t.Error("colour without being asked")
	}
	coloured := f.Terminal(true)
	if !strings.Contains(coloured, "\x1b[1;31mcrash-loop\x1b[0m") || strings.Contains(coloured, "\x1b[31m") {
		t.Errorf("%q", coloured)
	}
}

func TestExplainIsPlainUnlessAskedForColour(t *testing.T) {
	for _, e := range fault.All() {
		if strings.Contains(e.Explain(false), "\x1b") || !strings.Contains(e.Explain(true), "\x1b[1mWhat it means\x1b[0m") {
			t.Errorf("%s: %q", e.Code, e.Explain(true))
		}
	}
}

func BenchmarkToolResult(b *testing.B) {
	f := sample(fault.OutcomeUnknown)
	b.ReportAllocs()
	for b.Loop() {
		f.ToolResult(true)
	}
}

// To a model a server is its name: a command line may hold what no pattern knows.
func TestModelsReadNoCommandLine(t *testing.T) {
	for _, entry := range fault.All() {
		f := &fault.Fault{Code: entry.Code, Server: "srv -pPW /srv/data", Name: "files", Method: "tools/call", At: noon, Evidence: &fault.Evidence{Exit: "exit status 1"}}
		for voice, said := range map[string]string{"model": f.Model(), "JSON": string(f.JSON()), "result": string(f.ToolResult(true)), "error": string(f.RPCError())} {
			if strings.Contains(said, "PW") || strings.Contains(said, "/srv/data") {
				t.Errorf("%s in the voice for %s: %s", entry.Code, voice, said)
			}
		}
		if !strings.Contains(string(f.JSON()), `"server":"files"`) {
			t.Errorf("%s does not name the server: %s", entry.Code, f.JSON())
		}
	}
}
