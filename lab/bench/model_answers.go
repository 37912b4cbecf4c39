package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/gauze-mcp/gauze/llm"
)

// recordedAnswer is a line of a file of answers: what a reader said about a call. It belongs to the
// tool and the arguments, so that it stays when the wording of a question changes.
type recordedAnswer struct {
	Key       string          `json:"key"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Decline   string          `json:"decline,omitempty"` // why the reader gave no arguments
}

// modelQuestion is a line of a file of questions: a call that has no recorded answer, without the
// accepted ones.
type modelQuestion struct {
	Key         string          `json:"key"`
	Tool        string          `json:"tool"`
	Description string          `json:"description,omitempty"`
	ReadOnly    bool            `json:"read_only"`
	Schema      json.RawMessage `json:"schema"`
	Arguments   json.RawMessage `json:"arguments"` // a string is the text that was sent
	Error       string          `json:"error"`
}

// answerBook holds recorded answers by their key.
type answerBook map[string]recordedAnswer

// readAnswers reads a file of answers; none without a name.
func readAnswers(name string) (answerBook, error) {
	if name == "" {
		return answerBook{}, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	book, err := parseAnswers(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return book, nil
}

func parseAnswers(from io.Reader) (answerBook, error) {
	book := answerBook{}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var a recordedAnswer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case a.Key == "" || (a.Arguments == nil) == (a.Decline == ""):
			return nil, fmt.Errorf("line %d: must have a key, and either arguments or decline", n)
		case book.has(a.Key):
			return nil, fmt.Errorf("line %d: %s was answered before", n, a.Key)
		}
		book[a.Key] = a
	}
	return book, lines.Err()
}

func (b answerBook) has(key string) bool {
	_, there := b[key]
	return there
}

// answers returns a model that says what was recorded about a call.
func (b answerBook) answers(c wrongCall) []answerer {
	a, ok := b[c.key()]
	if !ok {
		return []answerer{{model: unrecorded{}}}
	}
	answer := map[string]any{"arguments": a.Arguments}
	if a.Decline != "" {
		answer = map[string]any{"corrected": false, "reason": a.Decline}
	}
	text, _ := json.Marshal(answer) // parts of decoded JSON: cannot fail
	return []answerer{{model: scripted(text)}}
}

// errUnrecorded is the answer about a call without a recorded one.
var errUnrecorded = errors.New("no answer is recorded")

type unrecorded struct{}

// Ask returns errUnrecorded.
func (unrecorded) Ask(context.Context, llm.Question) (llm.Answer, error) {
	return llm.Answer{}, errUnrecorded
}

// writeQuestions writes the calls without an answer, each once. It does nothing without a name.
func (b answerBook) writeQuestions(name string, calls []wrongCall) error {
	record, done, err := openLog[modelQuestion](name)
	if err != nil {
		return err
	}
	asked := map[string]bool{}
	for _, c := range calls {
		if key := c.key(); !b.has(key) && !asked[key] {
			asked[key] = true
			err = errors.Join(err, record(c.asQuestion()))
		}
	}
	return errors.Join(err, done())
}

// asQuestion returns what is known about the call when it was refused.
func (c wrongCall) asQuestion() modelQuestion {
	q := modelQuestion{Key: c.key(), Tool: c.Tool, Description: c.Description, ReadOnly: c.readOnly(), Schema: c.Schema, Error: c.message()}
	q.Arguments, _ = json.Marshal(parsed([]byte(c.sent()))) // decoded from JSON: cannot fail
	if !json.Valid([]byte(c.sent())) {
		q.Arguments, _ = json.Marshal(c.sent())
	}
	return q
}

// key names the call by its tool and its arguments, whatever the order of their keys.
func (c wrongCall) key() string {
	sent := c.sent()
	if json.Valid([]byte(sent)) {
		sent = exact(parsed([]byte(sent)))
	}
	sum := sha256.Sum256([]byte(c.Tool + "\n" + sent))
	return hex.EncodeToString(sum[:6])
}

// readOnly reports whether the tool only reads. A corpus of calls does not say so as a rule: then
// the verbs in the tool's name decide.
func (c wrongCall) readOnly() bool {
	if c.ReadOnly != nil {
		return *c.ReadOnly
	}
	has := func(verbs []string) bool {
		return slices.ContainsFunc(wordsOfName(c.Tool), func(word string) bool { return slices.Contains(verbs, word) })
	}
	return has(readVerbs) || !has(writeVerbs)
}

var (
	readVerbs  = strings.Fields("calculate check fetch find get list lookup query read recommend search")
	writeVerbs = strings.Fields("add banking book buy cancel change cmd connect control create delete deposit edit execute generate insert make modify " +
		"move order pay play plot post publish purchase put record register remove rename reserve reset resize restart run save send set start stop " +
		"submit switch transfer turn update upload write")
)

var nameWord = regexp.MustCompile(`[A-Z]*[a-z]+|[A-Z]+|[0-9]+`)

// wordsOfName returns the words of a name in snake case or camel case, in lower case.
func wordsOfName(name string) []string {
	words := nameWord.FindAllString(name, -1)
	for i, word := range words {
		words[i] = strings.Map(unicode.ToLower, word)
	}
	return words
}
