package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An answer belongs to the tool and its arguments: neither the order of keys nor the rest of a
// question changes the key.
func TestKeyOfACall(t *testing.T) {
	first := deliveryCall(`{"to": "Oslo", "count": 3.0}`, `{}`)
	same := deliveryCall(`{"count":3.0,"to":"Oslo"}`, `{"to":["Oslo"]}`)
	same.Description, same.Question, same.Schema = "Delivers.", "Three to Oslo", json.RawMessage(`{}`)
	if first.key() != same.key() {
		t.Errorf("%s and %s", first.key(), same.key())
	}
	other := first
	other.Tool = "collect"
	keys := []string{first.key(), other.key(), deliveryCall(`{"to": "Oslo", "count": "3.0"}`, `{}`).key(), deliveryCall(`{"to": "Oslo"`, `{}`).key()}
	slices.Sort(keys)
	if len(slices.Compact(keys)) != 4 {
		t.Errorf("calls that differ have the same key: %v", keys)
	}
}

func TestAnswersThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		`{"key":"a"}`: "line 1: must have",
		`{"key":"a","arguments":{},"decline":"no"}`: "line 1: must have",
		`{"arguments":{}}`:                          "line 1: must have",
		"{\"key\":\"a\",\"arguments\":{}}\n\n{\"key\":\"a\",\"decline\":\"\"}": "line 3: must have",
		"{\"key\":\"a\",\"arguments\":{}}\n{\"key\":\"a\",\"decline\":\"x\"}":  "line 2: a was answered before",
		`x`: "line 1",
	} {
		if _, err := parseAnswers(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestReadOnlyByName(t *testing.T) {
	for tool, want := range map[string]bool{"hotel_book": false, "BuyMovieTickets": false, "update_user_info": false, "Movies_1_FindMovies": true,
		"get_schedule": true, "grocery_store_find_best": true, "weather": true, "display_set_brightness": false} {
		if c := (wrongCall{Tool: tool}); c.readOnly() != want {
			t.Errorf("%s: %v", tool, c.readOnly())
		}
	}
	no := false
	if (wrongCall{Tool: "get_token", ReadOnly: &no}).readOnly() {
		t.Error("a tool that is said to write counts as one that reads")
	}
}

// What has no answer becomes a question that does not give the accepted values away, and an answer to
// it is used in the next run.
func TestQuestionsAndTheirAnswers(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	lost := deliveryCall(`{"parcel": {"to": "Oslo"}, "count": "as many as fit"}`, `{"to":["Oslo"],"count":[4711]}`)
	known := deliveryCall(`{"parcel": {"to": "Oslo", "from": "Rome"}, "speed": "fast"}`, `{"to":["Oslo"],"from":["Rome"],"speed":["fast"]}`)
	lost.Description = "Delivers parcels."
	var corpus bytes.Buffer
	for _, c := range []wrongCall{lost, known, lost} {
		line, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		corpus.Write(append(line, '\n'))
	}
	write := func(name, text string) {
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("corpus.jsonl", corpus.String())
	write("answers.jsonl", `{"key":"`+known.key()+`","arguments":{"to":"Oslo","from":"Rome","speed":"fast"}}`+"\n")
	run := func() (row modelRow, questions []modelQuestion) {
		if err := runModel([]string{file("corpus.jsonl"), "--answers", file("answers.jsonl"), "--questions", file("questions.jsonl"), "--json", file("result.json")}); err != nil {
			t.Fatal(err)
		}
		var report modelReport
		text, err := os.ReadFile(file("result.json"))
		if err != nil || json.Unmarshal(text, &report) != nil || len(report.Rows) != 1 {
			t.Fatalf("%v\n%s", err, text)
		}
		text, err = os.ReadFile(file("questions.jsonl"))
		if err != nil || strings.Contains(string(text), "4711") {
			t.Fatalf("%v\n%s", err, text)
		}
		for line := range strings.Lines(string(text)) {
			var q modelQuestion
			if err := json.Unmarshal([]byte(line), &q); err != nil {
				t.Fatal(err)
			}
			questions = append(questions, q)
		}
		return report.Rows[0], questions
	}
	row, questions := run()
	if row.Outcomes["healed"] != 1 || row.Outcomes[unanswered] != 2 {
		t.Errorf("%+v", row)
	}
	if len(questions) != 1 {
		t.Fatalf("%+v", questions)
	}
	q := questions[0]
	if q.Key != lost.key() || q.Tool != "deliver" || q.Description != lost.Description || !q.ReadOnly ||
		exact(parsed(q.Arguments)) != exact(parsed([]byte(lost.sent()))) || !strings.Contains(q.Error, "count") || len(q.Schema) == 0 {
		t.Errorf("%+v", q)
	}
	write("answers.jsonl", `{"key":"`+known.key()+`","arguments":{"to":"Oslo","from":"Rome","speed":"fast"}}`+"\n"+
		`{"key":"`+lost.key()+`","decline":"Nobody knows how many."}`)
	if row, questions = run(); row.Outcomes[declined] != 2 || row.Outcomes[unanswered] != 0 || len(questions) != 0 {
		t.Errorf("%+v\n%+v", row, questions)
	}
}

// The answers of capable readers, recorded without the accepted values: most of what the rules refuse
// is sent or offered right, a tool that writes never gets a value that is not the caller's, and every
// built-in call has an answer.
func TestRecordedAnswers(t *testing.T) {
	const floor = 80 // percent healed or offered right; the rules alone reach 22
	for _, flags := range [][]string{nil, {"--writes"}} {
		to := filepath.Join(t.TempDir(), "result.json")
		if err := runModel(append([]string{"--answers", filepath.Join("testdata", "model-answers.jsonl"), "--json", to}, flags...)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(to)
		var report modelReport
		if err != nil || json.Unmarshal(text, &report) != nil || len(report.Rows) != 1 {
			t.Fatalf("%v\n%s", err, text)
		}
		row := report.Rows[0]
		if row.HealedOrOffered < floor || row.Outcomes[unanswered] > 0 || row.Writes.Altered > 0 || row.Reads.Altered > 0 {
			t.Errorf("%v: %+v", flags, row)
		}
	}
}
