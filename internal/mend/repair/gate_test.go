package repair

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/fault"
)

// listed is a catalog of tools that are all known.
type listed map[string]Tool

func (l listed) Tool(name string) (Tool, bool) { t, ok := l[name]; return t, ok }
func (l listed) Names() []string               { return slices.Sorted(maps.Keys(l)) }

const gateSchema = `{"type":"object","required":["city"],"properties":{"city":{"type":"string"},"days":{"type":"integer","maximum":14},
	"tags":{"type":"array","items":{"type":"string"}},"when":{"type":"string","format":"date"},"password":{"type":"string"}}}`

func tools(mode Mode, safe bool) listed {
	return listed{"book": {Schema: Compile([]byte(gateSchema)), Mode: mode, Safe: safe}}
}

func TestGateModes(t *testing.T) {
	const text, list, wrong, format = `{"city":"Oslo","days":"5"}`, `{"city":"Oslo","tags":"a"}`, `{"days":99}`, `{"city":"Oslo","when":"tomorrow"}`
	const one, several = `{"city":"Oslo","days":99}`, `{"days":99,"tags":"a","when":"tomorrow","password":7}`
	const items = `{"city":"Oslo","tags":[1,null]}`
	for _, c := range []struct {
		authoritative, safe bool
		mode                Mode
		sent                string
		verdict             Verdict
		note                string // a part of it; empty if there is none
	}{
		{false, true, ModeDefault, text, Repaired, ""},
		{false, true, ModeReport, text, Repaired, `[gauze] The arguments were adjusted: days: "5" became 5 (string to number). Use this form next time.`},
		{false, true, ModeOff, text, Valid, ""},
		{false, true, ModeOff, wrong, Valid, ""},
		{false, true, ModeDefault, list, Unverified, ""},
		{false, true, ModeStrict, list, Repaired, `tags: "a" became ["a"]`},
		{false, false, ModeStrict, list, Refused, ""},
		{false, true, ModeDefault, one, Unverified, ""},
		{false, true, ModeDefault, items, Unverified, ""},
		{false, true, ModeDefault, wrong, Unverified, "[gauze] The arguments were sent unchanged, but city is missing; days is too large."},
		{false, false, ModeDefault, several, Unverified, "but city is missing; days is too large; password is a number, not a string; tags is a string, not an array; when is not in the format date."},
		{false, true, ModeSilent, several, Unverified, ""},
		{false, true, ModeOff, several, Valid, ""},
		{false, true, ModeStrict, wrong, Refused, ""},
		{false, true, ModeDefault, format, Unverified, "[gauze] The arguments were sent unchanged, but when is not in the format date"},
		{false, true, ModeSilent, format, Unverified, ""},
		{false, true, ModeStrict, format, Refused, ""},
		{true, true, ModeDefault, list, Repaired, `tags: "a" became ["a"]`},
		{true, true, ModeSilent, list, Repaired, ""},
		{true, true, ModeReport, text, Repaired, `days: "5" became 5`},
		{true, true, ModeOff, text, Refused, ""},
		{true, true, ModeDefault, wrong, Refused, ""},
		{true, true, ModeDefault, format, Refused, ""},
		{true, true, ModeOff, format, Refused, ""},
		{true, true, ModeDefault, `{"city":"Oslo","dayz":1}`, Valid, "[gauze] The arguments were sent unchanged, but "},
		{true, true, ModeSilent, `{"city":"Oslo","dayz":1}`, Valid, ""},
	} {
		g := &Gate{Authoritative: c.authoritative}
		d := g.Admit(Call{Tool: "book", Arguments: []byte(c.sent)}, tools(c.mode, c.safe))
		if d.Verdict != c.verdict || d.Adjusted([]byte(c.sent)) != (c.verdict == Repaired) {
			t.Errorf("%+v: %s, %s", c, d.Verdict, d.Arguments)
		}
		a := d.Answered(d.Arguments, Response{})
		if !strings.Contains(a.Note, c.note) || (a.Note == "") != (c.note == "") || (a.Receipt != nil) != (len(d.Receipt.Changes)+len(d.Receipt.Notes) > 0) {
			t.Errorf("%+v: note %q, receipt %s", c, a.Note, a.Receipt)
		}
	}
}

// The explanation of a rejected call takes the place of the note about its formats, and neither
// quotes the value.
func TestGateNotesFormatsOnce(t *testing.T) {
	g, sent := &Gate{}, []byte(`{"city":"Oslo","when":"tomorrow"}`)
	d := g.Admit(Call{Tool: "book", Arguments: sent}, tools(ModeDefault, true))
	if a := d.Answered(sent, Response{}); !strings.Contains(a.Note, "when is not in the format date") || strings.Contains(a.Note, "tomorrow") {
		t.Errorf("note %q", a.Note)
	}
	d = g.Admit(Call{Tool: "book", Arguments: sent}, tools(ModeDefault, true))
	a := d.Answered(sent, Response{Code: codeInvalidParams, Text: "when: not a date"})
	if a.Note != "" || !strings.Contains(a.Explanation, `1. when - `) {
		t.Errorf("note %q, explanation %q", a.Note, a.Explanation)
	}
}

// A call that the server rejects is explained after the server's words, and the rejection proves
// that the server enforces its schema.
func TestGateLearnsWhatTheServerEnforces(t *testing.T) {
	g, book, sent := &Gate{}, tools(ModeDefault, true), []byte(`{"city":"Oslo","tags":"a"}`)
	d := g.Admit(Call{Tool: "book", Arguments: sent}, book)
	a := d.Answered(sent, Response{Code: -32602, Text: `Input validation error: 'a' is not of type 'array'`})
	if d.Verdict != Unverified || a.Code != fault.ArgumentsInvalid || !strings.HasPrefix(a.Explanation, "[gauze] The server rejected the call to `book`: ") {
		t.Errorf("%+v, %+v", d, a)
	}
	if d = g.Admit(Call{Tool: "book", Arguments: sent}, book); d.Verdict != Repaired {
		t.Errorf("the proof was not used: %s", d.Verdict)
	}
	if d = (&Gate{}).Admit(Call{Tool: "book", Arguments: sent}, book); d.Verdict != Unverified {
		t.Errorf("the proof is shared with other servers: %s", d.Verdict)
	}
}

func TestGateCountsMistakesOfEachCaller(t *testing.T) {
	g, book := &Gate{Authoritative: true}, tools(ModeDefault, true)
	refusal := func(caller any) string {
		d := g.Admit(Call{Caller: caller, Tool: "book", Arguments: []byte(`{"days":99}`)}, book)
		return d.Refusal().Message
	}
	first, second, third := refusal(1), refusal(1), refusal(1)
	if len(second) >= len(first) || second == third || !strings.Contains(third, "stop repeating it") {
		t.Errorf("first:\n%s\nsecond:\n%s\nthird:\n%s", first, second, third)
	}
	if refusal(2) != first {
		t.Error("the mistakes of one caller count for another")
	}
	right := g.Admit(Call{Caller: 1, Tool: "book", Arguments: []byte(`{"city":"Oslo"}`)}, book)
	right.Answered(nil, Response{})
	if refusal(1) != first {
		t.Error("a right call does not end the series")
	}
}

func TestGateMasksSecrets(t *testing.T) {
	const secret = "correct-horse"
	g := &Gate{Authoritative: true}
	for _, sent := range []string{
		`{"city":"Oslo","Password":"` + secret + `"}`, `{"city":"Oslo","password":["` + secret + `"]}`,
		`{"arguments":{"city":"Oslo","password":"` + secret + `"}}`, `{"days":"x","password":"` + secret + `"}`,
	} {
		d := g.Admit(Call{Tool: "book", Arguments: []byte(sent)}, tools(ModeReport, true))
		a := d.Answered(d.Arguments, Response{})
		shown := a.Note + string(a.Receipt)
		if d.Verdict == Refused {
			f := d.Refusal()
			shown += f.Message + string(f.Report)
		}
		if strings.Contains(shown, secret) {
			t.Errorf("%s: %s", sent, shown)
		}
	}
}

func TestGateResolvesToolNames(t *testing.T) {
	book := listed{"weather.book": {Schema: Compile([]byte(gateSchema))}}
	sent := []byte(`{"city":"Oslo"}`)
	g := &Gate{}
	d := g.Admit(Call{Tool: "book", Arguments: sent}, book)
	if d.Verdict != Valid || d.Tool != "book" {
		t.Errorf("a name was changed before the server rejected it: %+v", d)
	}
	if a := d.Answered(sent, Response{Code: -32602, Text: "Unknown tool: book"}); a.Code != fault.ToolUnknown {
		t.Errorf("%+v", a)
	}
	if d = g.Admit(Call{Tool: "book", Arguments: sent}, book); d.Tool != "weather.book" || d.Receipt.Called != "book" {
		t.Errorf("%+v", d)
	}
	strict := &Gate{Authoritative: true}
	if d = strict.Admit(Call{Tool: "book", Arguments: sent}, book); d.Tool != "weather.book" {
		t.Errorf("%+v", d)
	}
	if d = strict.Admit(Call{Tool: "bock", Arguments: sent}, book); d.Verdict != Refused || d.Refusal().Code != fault.ToolUnknown {
		t.Errorf("%+v", d)
	}
}

// A call that fits passes the gate without an allocation.
func BenchmarkGate(b *testing.B) {
	g, book, sent := &Gate{}, tools(ModeDefault, true), []byte(`{"city":"Oslo","days":5,"tags":["a","b"]}`)
	schema := Compile([]byte(`{"type":"object","required":["city"],"properties":{"city":{"type":"string"},"days":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}}}}`))
	book["book"] = Tool{Schema: schema.Ready(), Safe: true}
	b.ReportAllocs()
	for b.Loop() {
		d := g.Admit(Call{Tool: "book", Arguments: sent}, book)
		if d.Verdict != Valid {
			b.Fatal(d.Verdict)
		}
		d.Answered(nil, Response{})
	}
}

// What cannot be checked is sent, but not with ModeStrict, and the caller reads why and what to do.
func TestStrictRefusesWhatCannotBeChecked(t *testing.T) {
	const pattern = `{"type":"object","properties":{"n":{"type":"string","pattern":"("},"m":{"type":"integer"}}}`
	const outside = `{"type":"object","properties":{"n":{"$ref":"https://example.com/n.json"}}}`
	const number = `{"type":"object","properties":{"n":{"type":"integer"}}}`
	for _, c := range []struct{ schema, sent, why, fix string }{
		{number, `{"n":5,"n":"x"}`, "the key n occurs twice", "Send every key only once."},
		{number, `{"m":` + strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1) + `}`, "nested", "Send smaller"},
		{pattern, `{"n":"x"}`, "the pattern ( cannot be checked safely", "tell the user"},
		{pattern, `{"n":"x","m":"5"}`, "the pattern ( cannot be checked safely", "tell the user"}, // it would be repaired
		{pattern, `{"n":"x","m":true}`, "the pattern ( cannot be checked safely", "tell the user"},
		{outside, `{"n":"x"}`, "https://example.com/n.json", "tell the user"},
		{`{"type":7}`, `{}`, "not valid JSON Schema", "tell the user"},
	} {
		sent := []byte(c.sent)
		one := func(mode Mode) listed { return listed{"read": {Schema: Compile([]byte(c.schema)), Mode: mode}} }
		g := &Gate{}
		d := g.Admit(Call{Tool: "read", Arguments: sent}, one(ModeStrict))
		if d.Verdict != Refused || d.Misfit() {
			t.Errorf("%s %s: %s", c.schema, c.sent, d.Verdict)
			continue
		}
		first, second, third := d.Refusal(), d.Refusal(), d.Refusal()
		const begins = "The call to `read` was not run: it cannot be checked, because "
		if first.Code != fault.ArgumentsInvalid || !strings.HasPrefix(first.Message, begins) || !strings.Contains(first.Message, c.why) ||
			!strings.Contains(first.Message, c.fix) || !strings.Contains(first.Error(), c.why) {
			t.Errorf("%s: %v, %s", c.sent, first, first.Message)
		}
		if !strings.Contains(second.Message, sameMistake) || !strings.Contains(third.Message, "3 times: stop repeating it") {
			t.Errorf("%s: %s\n%s", c.sent, second.Message, third.Message)
		}
		if d := g.Admit(Call{Tool: "read", Arguments: sent}, one(ModeDefault)); d.Verdict == Refused {
			t.Errorf("%s is not sent without ModeStrict", c.sent)
		}
	}
	const two = `{"properties":{"n":{"oneOf":[{"type":"integer"},{"type":"number"}]}}}`
	overlap := listed{"read": {Schema: Compile([]byte(two)), Mode: ModeStrict}}
	if d := (&Gate{}).Admit(Call{Tool: "read", Arguments: []byte(`{"n":5}`)}, overlap); d.Verdict != Unverified {
		t.Errorf("a value that was checked and matches two branches: %s", d.Verdict)
	}
}
