package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wrongCalls is a corpus of four lines, two of which are function calls that gauze refuses.
const wrongCalls = `{"id":"a","core":true,"channel":"fc","tool":"book_room","error_class":"missing_required","question":"Book room 12 for 3 nights","schema":{"type":"object","properties":{"room":{"type":"integer"},"nights":{"type":"integer"}},"required":["room","nights"],"additionalProperties":false},"args":"{\"room\": 12}","accept":{"room":[12],"nights":[3]}}
{"id":"b","core":true,"channel":"fc","tool":"paint","error_class":"enum_off_list","question":"Paint it sky blue","schema":{"type":"object","properties":{"colour":{"enum":["red","blue"]}},"required":["colour"]},"args":{"colour":"azure"},"accept":{"colour":["blue"]}}
{"id":"c","core":true,"channel":"fc","tool":"wait","error_class":"stringified_number","question":"Wait 5 seconds","schema":{"type":"object","properties":{"seconds":{"type":"integer"}}},"args":"{\"seconds\": \"5\"}","accept":{"seconds":[5]}}
{"id":"d","core":true,"channel":"py","tool":"paint","error_class":"enum_off_list","question":"Paint it","schema":{"type":"object","properties":{"colour":{"enum":["red","blue"]}}},"args":{"colour":"azure"},"accept":{"colour":["blue"]}}
`

// copyingModel is an OpenAI-compatible API whose model copies the call that it is offered, and
// otherwise repeats its own.
func copyingModel(t *testing.T, seen *[][]chatMessage) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Messages    []chatMessage
			Temperature *float64
		}
		if r.URL.Path != "/v1/chat/completions" || json.NewDecoder(r.Body).Decode(&request) != nil || request.Temperature == nil || *request.Temperature != 0 {
			http.Error(w, `{"error":{"message":"bad request"}}`, http.StatusBadRequest)
			return
		}
		*seen = append(*seen, request.Messages)
		reply := request.Messages[2].Content
		if _, offered, ok := strings.Cut(request.Messages[3].Content, "\n"+exampleLabel); ok {
			reply = "```json\n" + strings.Replace(offered, `"nights":1`, `"nights":3`, 1) + "\n```"
		}
		json.NewEncoder(w).Encode(map[string]any{"object": "chat.completion", "choices": []any{map[string]any{"index": 0, "finish_reason": "stop",
			"message": chatMessage{"assistant", reply}}}})
	}))
	t.Cleanup(server.Close)
	return server
}

func TestNextTry(t *testing.T) {
	calls, err := refusedCalls(strings.NewReader(wrongCalls))
	if err != nil || len(calls) != 2 {
		t.Fatalf("%d calls, %v", len(calls), err)
	}
	var seen [][]chatMessage
	model := chatModel{copyingModel(t, &seen).URL + "/v1"}
	recorded := 0
	tries, err := play(t.Context(), caller{model: model}, sampleCalls(calls, 1, 0, 0), nextTryArms, func(nextTry) error { recorded++; return nil })
	if err != nil || recorded != 6 {
		t.Fatalf("%d recorded, %v", recorded, err)
	}
	rows := tallyTries(tries)
	if len(rows) != 3 || rows[0].Arm != armRaw || rows[0].Valid.Hits != 0 || rows[1].Valid.Hits != 2 || rows[2].Valid.Hits != 0 {
		t.Errorf("%+v", rows)
	}
	for _, m := range seen {
		if len(m) != 4 || m[0].Role != "system" || m[1].Role != "user" || m[2].Role != "assistant" || m[3].Role != "user" {
			t.Errorf("%+v", m)
		}
	}
	var out bytes.Buffer
	printNextTries(&out, rows)
	if !strings.Contains(out.String(), "no-example  2    0 %") {
		t.Errorf("%s", out.String())
	}
}

func TestNextTryCommand(t *testing.T) {
	var seen [][]chatMessage
	model := copyingModel(t, &seen)
	dir := t.TempDir()
	corpus, log := filepath.Join(dir, "corpus.jsonl"), filepath.Join(dir, "log.jsonl")
	if err := os.WriteFile(corpus, []byte(wrongCalls), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := runNextTry([]string{"-corpus", corpus, "-model", model.URL + "/v1", "-n", "1", "-arms", "ours", "-schema", "-log", log}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(log)
	if err != nil || bytes.Count(text, []byte("\n")) != 1 || len(seen) != 1 || !strings.Contains(seen[0][0].Content, `"required"`) {
		t.Errorf("%v %s %v", err, text, seen)
	}
	for _, args := range [][]string{{}, {"-corpus", corpus, "-arms", "both", "-model", model.URL + "/v1"}, {"-corpus", corpus, "-model", model.URL}} {
		if runNextTry(args) == nil {
			t.Errorf("%v: no error", args)
		}
	}
}

func TestSampleIsTheSameForASeed(t *testing.T) {
	var calls []wrongCall
	for _, id := range strings.Split("abcdefghij", "") {
		calls = append(calls, wrongCall{ID: id})
	}
	ids := func(calls []wrongCall) (all string) {
		for _, c := range calls {
			all += c.ID
		}
		return all
	}
	first, rest := ids(sampleCalls(calls, 1, 0, 4)), ids(sampleCalls(calls, 1, 4, 0))
	if again := ids(sampleCalls(calls, 1, 0, 4)); again != first || len(rest) != 6 || strings.ContainsAny(rest, first) {
		t.Errorf("%s, %s, %s", first, again, rest)
	}
	fewer := slices.DeleteFunc(slices.Clone(calls), func(c wrongCall) bool { return c.ID == first[1:2] })
	if got := ids(sampleCalls(fewer, 1, 0, 3)); got != first[:1]+first[2:] {
		t.Errorf("without %s: %s, before %s", first[1:2], got, first)
	}
	if other := ids(sampleCalls(calls, 2, 0, 10)); other == first+rest {
		t.Errorf("the seed does not matter: %s", other)
	}
}

func TestRepliedArguments(t *testing.T) {
	for reply, want := range map[string]string{
		`{"a":1}`:                    `{"a":1}`,
		"```json\n{\"a\": 1.0}\n```": `{"a":1.0}`,
		`Here: {"name":"f","arguments":{"a":[1]}}`: `{"a":[1]}`,
		`{not json} {"a":null} {"b":2}`:            `{"a":null}`,
		`I cannot`:                                 "",
	} {
		got, ok := repliedArguments(reply, "f")
		text := ""
		if ok {
			raw, _ := json.Marshal(got)
			text = string(raw)
		}
		if text != want {
			t.Errorf("%s: %s, not %s", reply, text, want)
		}
	}
}

func TestJudgesNextCalls(t *testing.T) {
	for _, c := range []struct {
		schema, accept, args string
		valid, right         bool
	}{
		{`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`, `{"n":[5]}`, `{"n":5.0}`, true, true},
		{`{"required":["n"],"properties":{"n":{"type":"integer"}}}`, `{"n":[5]}`, `{"n":"5"}`, false, false},
		{`{"required":["n"]}`, `{"n":[5]}`, `{}`, false, false},
		{`{"properties":{"n":{"enum":[1,2]}}}`, `{"n":[1]}`, `{"n":1.0}`, false, true},
		{`{"properties":{"s":{"type":"string"}},"additionalProperties":false}`, `{"s":["New York, NY"],"t":["",1]}`, `{"s":"new york ny"}`, true, true},
		{`{"properties":{"s":{"type":"string"}},"additionalProperties":false}`, `{"s":["x"]}`, `{"s":"x","u":1}`, false, false},
		{`{"properties":{"o":{"type":"object"}}}`, `{"o":[{"a":[1,2],"b":["",3]}]}`, `{"o":{"a":2}}`, true, true},
		{`{"properties":{"o":{"type":"object"}}}`, `{"o":[{"a":[1,2],"b":[3]}]}`, `{"o":{"a":2}}`, true, false},
		{`{"properties":{"l":{"type":"array","items":{"type":"string"}}}}`, `{"l":[["a","b"]]}`, `{"l":["A","b"]}`, true, true},
		{`{"properties":{"l":{"type":"array","items":{"type":"string"}}}}`, `{"l":[["a","b"]]}`, `{"l":["a",1]}`, false, false},
		{`{"properties":{"b":{"type":"boolean"}}}`, `{"b":[true]}`, `{"b":1}`, false, false},
		{`{"properties":{"n":{"type":["integer","null"],"minimum":1,"maximum":9}}}`, `{"n":[null]}`, `{"n":null}`, true, true},
		{`{"properties":{"n":{"type":"integer","minimum":1,"maximum":9}}}`, `{"n":[10]}`, `{"n":10}`, false, true},
		{`{"properties":{"x":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, `[{"x":1}]`, `{"x":1}`, true, true},
		{`{}`, `[{"x":1,"y":2}]`, `{"y":2,"x":1.0}`, true, false},
	} {
		args, _ := parsed([]byte(c.args)).(map[string]any)
		if valid, right := matches(parsed([]byte(c.schema)), args), accepts(parsed([]byte(c.accept)), args); valid != c.valid || right != c.right {
			t.Errorf("%s for %s, %s: valid %v, right %v", c.args, c.schema, c.accept, valid, right)
		}
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		hits, n   int
		low, high float64
	}{{0, 10, 0, 27.8}, {5, 10, 23.7, 76.3}, {10, 10, 72.2, 100}} {
		got := shareOf(c.hits, c.n)
		if got.Low < c.low-0.1 || got.Low > c.low+0.1 || got.High < c.high-0.1 || got.High > c.high+0.1 {
			t.Errorf("%d of %d: %+v", c.hits, c.n, got)
		}
	}
}
