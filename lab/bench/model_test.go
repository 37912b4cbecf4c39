package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/llm"
)

// deliver is a tool with arguments of several kinds.
const deliver = `{"type":"object","properties":{"to":{"type":"string"},"from":{"type":"string"},"count":{"type":"integer"},"speed":{"enum":["slow","fast"]},` +
	`"items":{"type":"array","items":{"type":"string"}},"note":{"type":"string","default":"none given"},"fragile":{"type":"boolean"}},"required":["to"]}`

func deliveryCall(sent, accept string) wrongCall {
	text, _ := json.Marshal(sent)
	return wrongCall{ID: "x", Core: true, Tool: "deliver", Schema: json.RawMessage(deliver), Args: text, Accept: json.RawMessage(accept), ErrorClass: "mixed"}
}

func TestJudgeOfCorrections(t *testing.T) {
	c := deliveryCall(`{"to": "Oslo", "parcels": "3", "items": "['a cup', 'a jug']"}`, `{"to":["Oslo"],"count":[3],"items":[["a cup","a jug"],""],"note":["none given",""]}`)
	for args, want := range map[string]fate{
		`{"to":"Oslo","count":3,"items":["a cup","a jug"]}`:                     healed,
		`{"to":"oslo","count":3}`:                                               healed, // items may be absent
		`{"to":"Oslo","count":3,"items":["a jug","a cup"]}`:                     carried,
		`{"to":"Oslo","count":3,"from":"a cup","items":["a jug"]}`:              carried,
		`{"to":"Oslo","count":4,"items":["a cup","a jug"]}`:                     altered,
		`{"to":"Oslo","count":3,"items":["a cup"]}`:                             altered,
		`{"to":"Oslo","count":3,"items":["a cup","a jug"],"fragile":true}`:      altered,
		`{"to":"Oslo","count":3,"items":["a cup","a jug"],"note":"none given"}`: healed,
		`{"to":"Oslo","count":"3"}`:                                             unfit,
		`{"count":3}`:                                                           unfit,
		`[]`:                                                                    unfit,
	} {
		if got := c.judge([]byte(args)); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	unread := deliveryCall(`to=Oslo, count=three`, `{"to":["Oslo"],"count":[3]}`)
	if got := unread.judge([]byte(`{"to":"Bergen"}`)); got != altered {
		t.Errorf("a word that does not occur in the text: %s", got)
	}
}

// A tool that only reads may be sent a value of the model where the caller's was rejected or missing,
// and nowhere else.
func TestJudgeOfWhatIsSent(t *testing.T) {
	c := deliveryCall(`{"to": "Oslo", "count": "a few", "speed": "fast", "when": "soon"}`, `{"to":["Oslo"],"count":[3],"speed":["fast"]}`)
	for args, want := range map[string]fate{
		`{"to":"Oslo","count":3,"speed":"fast"}`:                 healed,
		`{"to":"Oslo","count":4,"speed":"fast"}`:                 contradicted,
		`{"to":"Oslo","count":4,"speed":"fast","fragile":true}`:  contradicted,
		`{"to":"Oslo","count":3,"speed":"slow"}`:                 altered,
		`{"to":"Bergen","count":3,"speed":"fast"}`:               altered,
		`{"to":"Oslo","count":3}`:                                altered,
		`{"to":"Oslo","count":"a few","speed":"fast","when":""}`: unfit,
	} {
		if got := c.judgeSent([]byte(args), true); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
		if got := c.judgeSent([]byte(args), false); want == contradicted && got != altered {
			t.Errorf("%s, sent to a tool that writes: %s", args, got)
		}
	}
}

// The example of the rules' message is right, invented, or only wrong.
func TestJudgeOfExamples(t *testing.T) {
	for _, test := range []struct{ sent, accept, want string }{
		{`{"to": "Oslo", "speed": "XL"}`, `{"to":["Oslo"]}`, exampleRight},
		{`{"from": "Rome"}`, `{"to":["Oslo"],"from":["Rome"]}`, exampleInvented},
		{`{"to": "Oslo", "speed": "XL"}`, `{"to":["Oslo"],"speed":["fast"]}`, exampleWrong},
		{`{"to": "Oslo"}`, `{"to":["Oslo"]}`, ""},
	} {
		if got := deliveryCall(test.sent, test.accept).example(); got != test.want {
			t.Errorf("%s: %q, want %q", test.sent, got, test.want)
		}
	}
}

func TestPythonLiterals(t *testing.T) {
	for text, want := range map[string]string{
		`{'a': True, "b": (1, 2,), 'c': None}`: `{"a":true,"b":[1,2],"c":null}`,
		`['it\'s', '8\u2665']`:                 `["it's","8♥"]`,
		`['open`:                               `null`,
		`[Nothing]`:                            `null`,
		`plain words`:                          `null`,
		`5`:                                    `null`,
	} {
		if got := exact(container(text)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// The oracle keeps what the caller sent as far as an accepted answer can.
func TestOracleKeepsWhatWasSent(t *testing.T) {
	for _, test := range []struct{ sent, accept, want string }{
		{`{"TO": "oslo", "number": "3"}`, `{"to":["Bergen","Oslo"],"count":[3],"note":["x",""]}`, `{"count":3,"to":"Oslo"}`},
		{`{"to": "oslo", "note": "y"}`, `{"to":["Bergen","Oslo"],"note":["x",""]}`, `{"to":"oslo"}`},
		{`{"to": "Oslo", "speed": "XL"}`, `{"to":["Oslo"],"speed":["","any"]}`, `{"to":"Oslo"}`},
		{`{"to": "Oslo", "extra": "Rome"}`, `[{"to":"Rome"},{"to":"Oslo","from":"Rome"}]`, `{"from":"Rome","to":"Oslo"}`},
	} {
		c := deliveryCall(test.sent, test.accept)
		got := exact(c.oracle())
		if got != test.want || c.judge([]byte(got)) != healed {
			t.Errorf("%s: %s, want %s", test.sent, got, test.want)
		}
	}
}

// Every lie is told about some call, and none of them is an accepted answer.
func TestLiarTellsEveryLie(t *testing.T) {
	c := deliveryCall(`{"to": "Oslo", "from": "Rome", "count": "12", "speed": "fast", "items": ["a cup", "Bo's jug"], "fragile": "no"}`,
		`{"to":["Oslo"],"from":["Rome"],"count":[12],"speed":["fast"],"items":[["a cup","Bo's jug"]],"fragile":[false],"note":[""]}`)
	told := map[string]int{}
	for _, a := range liarAnswers(c) {
		told[a.kind]++
		answer, err := a.model.Ask(t.Context(), llm.Question{})
		var lie struct{ Arguments json.RawMessage }
		if err != nil || json.Unmarshal(answer.JSON, &lie) != nil || c.judge(lie.Arguments) == healed {
			t.Errorf("%s: %s, %v", a.kind, answer.JSON, err)
		}
	}
	for _, l := range lies {
		if told[l.name] == 0 {
			t.Errorf("%q is never told", l.name)
		}
	}
}

func TestModelReport(t *testing.T) {
	r := modelReport{Seed: 7, Rules: rulesTally{Calls: 100, Healed: 50, Refused: 20}}
	r.add("oracle", 10, []modelTry{{Outcome: "healed", Seconds: 2, Input: 100}, {Outcome: rejected, Why: "invented"}})
	r.add("liar", 10, []modelTry{{Outcome: rejected, Lie: "swapped"}, {Outcome: "carried", Lie: "swapped"}, {Outcome: "contradicted", Lie: "swapped", Reads: true}})
	var out strings.Builder
	r.print(&out)
	for _, want := range []string{"rules heal 50 (50.0 %)", "oracle: rules and model heal 52.0 %", "    1  invented", "    1 sent, 1 sent to a read-only tool, 0 offered, of 3  swapped"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if err := r.check(); err != nil {
		t.Error(err)
	}
	r.add("mixed", 4, []modelTry{{Outcome: "contradicted", Reads: true, ID: "y-1", Tool: "look"}, {Outcome: "healed", Reads: true}, {Outcome: declined, Example: exampleInvented},
		{Outcome: declined, Example: exampleRight}, {Outcome: offeredRight}})
	out.Reset()
	r.print(&out)
	for _, want := range []string{"mixed: rules and model heal 55.0 % of all core calls, and heal or offer right 65.0 %", "  contradicted  y-1 look: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if row := r.Rows[2]; row.Reads != (sideTally{Calls: 2, Healed: 1, Contradicted: 1}) || row.Writes != (sideTally{Calls: 3, OfferedRight: 1, ExampleRight: 1, ExampleInvented: 1}) {
		t.Errorf("%+v", row)
	}
	if err := r.check(); err != nil {
		t.Error(err)
	}
	r.add("bad", 1, []modelTry{{Outcome: "altered"}})
	if r.check() == nil {
		t.Error("an altered call is no error")
	}
}

// The checks of gauze let no lie through, and an answer that is right is sent or offered.
func TestModelCommand(t *testing.T) {
	dir := t.TempDir()
	corpus, result := filepath.Join(dir, "corpus.jsonl"), filepath.Join(dir, "result.json")
	c := deliveryCall(`{"parcel": {"to": "Oslo", "from": "Rome"}, "speed": "fast"}`, `{"to":["Oslo"],"from":["Rome"],"speed":["fast"]}`)
	line, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(corpus, line, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := runModel([]string{corpus, "-oracle", "-liar", "-json", result}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(result)
	var report modelReport
	if err != nil || json.Unmarshal(text, &report) != nil || len(report.Rows) != 2 {
		t.Fatalf("%v\n%s", err, text)
	}
	oracle, liar := report.Rows[0], report.Rows[1]
	if oracle.Outcomes["healed"] != 1 || oracle.Healed != 100 {
		t.Errorf("%+v", oracle)
	}
	if liar.Asked < 20 || len(liar.Passed) > 0 {
		t.Errorf("%+v", liar)
	}
	if err := runModel([]string{"-oracle", "-liar", "-json", result}); err != nil {
		t.Fatal(err)
	}
	text, err = os.ReadFile(result)
	report = modelReport{}
	if err != nil || json.Unmarshal(text, &report) != nil || len(report.Rows) != 2 {
		t.Fatalf("%v\n%s", err, text)
	}
	if oracle, liar := report.Rows[0], report.Rows[1]; oracle.Outcomes["healed"] < 10 || oracle.Outcomes[offeredRight] < 3 || len(liar.Trusted) == 0 || liar.Asked < 20 || len(liar.Passed) > 0 {
		t.Errorf("the built-in calls: %+v\n%+v", oracle, liar)
	}
	t.Setenv("GAUZE_MODEL", "")
	t.Setenv("XDG_CONFIG_HOME", dir)
	if err := runModel(nil); err == nil || !strings.Contains(err.Error(), "GAUZE_MODEL") {
		t.Errorf("without a model: %v", err)
	}
	if err := runModel([]string{filepath.Join(dir, "none.jsonl"), "-oracle"}); err == nil {
		t.Error("a missing file is no error")
	}
}
