package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gauze-mcp/gauze/internal/mend/repair"
)

// The answers that a caller can get to its refused call.
const (
	armRaw       = "raw"        // the error of a validator
	armOurs      = "ours"       // the message of gauze
	armNoExample = "no-example" // the message of gauze without the call to copy
)

var nextTryArms = []string{armRaw, armOurs, armNoExample}

// wrongCall is a line of the corpus: a call that a model got wrong.
type wrongCall struct {
	ID         string          `json:"id"`
	Channel    string          `json:"channel"`
	Core       bool            `json:"core"`
	Tool       string          `json:"tool"`
	ReadOnly   *bool           `json:"read_only,omitempty"` // nil: not known
	Schema     json.RawMessage `json:"schema"`
	Args       json.RawMessage `json:"args"` // a JSON string is the text that a model wrote
	ErrorClass string          `json:"error_class"`
	Accept     json.RawMessage `json:"accept"`
	Question   string          `json:"question"`

	Description string `json:"description,omitempty"` // the tool's
}

// nextTry is the next call that the model made after one answer.
type nextTry struct {
	ID     string `json:"id"`
	Class  string `json:"error_class"`
	Arm    string `json:"arm"`
	Answer string `json:"answer"`
	Reply  string `json:"reply"`
	Valid  bool   `json:"valid"`
	Right  bool   `json:"right"`
}

// share is a proportion with its 95 % confidence interval, in percent.
type share struct {
	Hits    int     `json:"hits"`
	Percent float64 `json:"percent"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
}

type nextTryRow struct {
	Arm   string `json:"arm"`
	N     int    `json:"n"`
	Right share  `json:"right"`
	Valid share  `json:"valid"`
}

// runNextTry measures what a model does with the answer to a refused call.
func runNextTry(args []string) error {
	flags := flag.NewFlagSet("nexttry", flag.ContinueOnError)
	corpus := flags.String("corpus", "", "file of wrong calls, one JSON object per line (required)")
	url := flags.String("model", "http://127.0.0.1:18080/v1", "base URL of an OpenAI-compatible API")
	n := flags.Int("n", 40, "number of refused calls; 0 for all")
	skip := flags.Int("skip", 0, "number of refused calls to skip, for a different sample with the same seed")
	seed := flags.Uint64("seed", 1, "seed of the sample")
	arms := flags.String("arms", strings.Join(nextTryArms, ","), "answers to compare")
	schema := flags.Bool("schema", false, "show the model the tool's schema before its first call")
	log := flags.String("log", "", "write every next call as a line of JSON to this file")
	jsonTo := flags.String("json", "", "write the result as JSON to this file (-: to stdout, after the table)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *corpus == "" {
		return errors.New("missing -corpus: a file of wrong calls, one JSON object per line")
	}
	file, err := os.Open(*corpus)
	if err != nil {
		return err
	}
	defer file.Close()
	calls, err := refusedCalls(file)
	if err != nil {
		return err
	}
	calls = sampleCalls(calls, *seed, *skip, *n)
	record, done, err := openLog[nextTry](*log)
	if err != nil {
		return err
	}
	tries, err := play(context.Background(), caller{chatModel{*url}, *schema}, calls, strings.Split(*arms, ","), record)
	if err := errors.Join(err, done()); err != nil {
		return err
	}
	rows := tallyTries(tries)
	printNextTries(os.Stdout, rows)
	return writeJSON(*jsonTo, rows)
}

// refusedCalls returns the function calls of a corpus that gauze refuses and whose right answer is
// known.
func refusedCalls(corpus io.Reader) ([]wrongCall, error) {
	calls, err := coreCalls(corpus)
	return slices.DeleteFunc(calls, func(c wrongCall) bool { return c.Channel != "fc" || c.message() == "" }), err
}

// coreCalls returns the core calls of a corpus whose right answer is known.
func coreCalls(corpus io.Reader) (calls []wrongCall, err error) {
	lines := bufio.NewScanner(corpus)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		var c wrongCall
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("line %d of the corpus: %w", n, err)
		}
		if c.Core && c.scored() {
			calls = append(calls, c)
		}
	}
	return calls, lines.Err()
}

// scored reports whether the right arguments are known. Wrong tool names are a different problem.
func (c wrongCall) scored() bool {
	known := len(c.Accept) > 0 && !slices.Contains([]string{"null", "{}", "[]"}, string(c.Accept))
	return known && !slices.Contains([]string{"unknown_tool", "tool_name", "wrong_tool"}, c.ErrorClass)
}

// sent returns the arguments as the model wrote them.
func (c wrongCall) sent() string {
	var text string
	if json.Unmarshal(c.Args, &text) == nil {
		return text
	}
	return string(c.Args)
}

// message returns what gauze answers to the call; empty if the call is not refused.
func (c wrongCall) message() string {
	d := c.admitted()
	if d.Verdict != repair.Refused {
		return ""
	}
	return d.Refusal().Message
}

// admitted returns what the rules decide about the call of a tool that only reads.
func (c wrongCall) admitted() repair.Decision {
	gate := repair.Gate{Authoritative: true}
	return gate.Admit(repair.Call{Tool: c.Tool, Arguments: []byte(c.sent())}, repair.Only{Schema: repair.Compile(c.Schema), Safe: true})
}

// validatorError returns what a server answers that passes on the error of its validator.
func (c wrongCall) validatorError() (string, error) {
	sent, err := jsonschema.UnmarshalJSON(strings.NewReader(c.sent()))
	if err != nil {
		return "Input validation error: " + err.Error(), nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Schema))
	if err != nil {
		return "", err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("arguments.json", doc); err != nil {
		return "", err
	}
	schema, err := compiler.Compile("arguments.json")
	if err != nil {
		return "", err
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(schema.Validate(sent), &invalid) {
		return "Input validation error", nil
	}
	_, detail, _ := strings.Cut(invalid.Error(), "\n") // the first line is the address of the schema
	return "Input validation error:\n" + detail, nil
}

// exampleLabel begins the line of a message that has a call to copy.
const exampleLabel = "Call that would pass: "

// answer returns what the caller reads in an arm.
func (c wrongCall) answer(arm string) (string, error) {
	switch arm {
	case armRaw:
		return c.validatorError()
	case armOurs:
		return c.message(), nil
	case armNoExample:
		lines := strings.Split(c.message(), "\n")
		return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, exampleLabel) }), "\n"), nil
	}
	return "", fmt.Errorf("invalid -arms %q: must be of %s", arm, strings.Join(nextTryArms, ", "))
}

// sampleCalls returns n of the calls in a random order that the seed determines. A call that is no
// longer refused does not change the order of the others, so that samples can be compared.
func sampleCalls(calls []wrongCall, seed uint64, skip, n int) []wrongCall {
	order := func(c wrongCall) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, c.ID))
		return string(sum[:])
	}
	slices.SortFunc(calls, func(a, b wrongCall) int { return strings.Compare(order(a), order(b)) })
	calls = calls[min(skip, len(calls)):]
	if n > 0 {
		calls = calls[:min(n, len(calls))]
	}
	return calls
}

// caller is the model that makes the next call.
type caller struct {
	model  chatModel
	schema bool // it sees the tool's schema before its first call
}

// play lets the caller try again after every answer to every call, and records every try.
func play(ctx context.Context, caller caller, calls []wrongCall, arms []string, record func(nextTry) error) (tries []nextTry, err error) {
	for _, c := range calls {
		for _, arm := range arms {
			answer, err := c.answer(arm)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.ID, err)
			}
			reply, err := caller.model.complete(ctx, c.conversation(answer, caller.schema))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.ID, err)
			}
			try := nextTry{ID: c.ID, Class: c.ErrorClass, Arm: arm, Answer: answer, Reply: reply}
			if args, ok := repliedArguments(reply, c.Tool); ok {
				try.Valid = matches(parsed(c.Schema), args)
				try.Right = try.Valid && accepts(parsed(c.Accept), args)
			}
			tries = append(tries, try)
			if err := record(try); err != nil {
				return nil, err
			}
		}
	}
	return tries, nil
}

// chatMessage is one message of a conversation.
type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// conversation is what the model has seen when it makes its next call.
func (c wrongCall) conversation(answer string, withSchema bool) []chatMessage {
	system := "You answer the user by calling the tool `" + c.Tool + "`. Write only the arguments of the call, as one JSON object."
	if withSchema {
		system += "\nInput schema of the tool: " + string(c.Schema)
	}
	return []chatMessage{
		{"system", system},
		{"user", c.Question},
		{"assistant", c.sent()},
		{"user", "The tool returned this error:\n" + answer + "\n\nWrite the corrected arguments as one JSON object, and nothing else."},
	}
}

// repliedArguments returns the arguments in a model's reply, which may also name the tool and have
// text around them.
func repliedArguments(reply, tool string) (map[string]any, bool) {
	for at, c := range reply {
		if c != '{' {
			continue
		}
		decoder := json.NewDecoder(strings.NewReader(reply[at:]))
		decoder.UseNumber()
		var object map[string]any
		if decoder.Decode(&object) != nil {
			continue
		}
		if inner, ok := object["arguments"].(map[string]any); ok && object["name"] == tool && len(object) == 2 {
			object = inner
		}
		return object, true
	}
	return nil, false
}

// chatModel is a model with an OpenAI-compatible API.
type chatModel struct{ url string }

// replyTimeout limits how long a model may take for one reply.
const replyTimeout = 5 * time.Minute

// complete returns the model's most likely reply.
func (m chatModel) complete(ctx context.Context, messages []chatMessage) (string, error) {
	body, err := json.Marshal(map[string]any{"model": "local", "messages": messages, "temperature": 0, "seed": 1, "max_tokens": 400, "cache_prompt": true})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(m.url, "/")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("the model: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return "", fmt.Errorf("the model: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the model answered %s: %.200s", response.Status, text)
	}
	var completion struct {
		Choices []struct {
			Message chatMessage `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(text, &completion); err != nil {
		return "", fmt.Errorf("the model: %w", err)
	}
	if len(completion.Choices) == 0 {
		return "", errors.New("the model answered without a choice")
	}
	return completion.Choices[0].Message.Content, nil
}

func tallyTries(tries []nextTry) (rows []nextTryRow) {
	for _, arm := range nextTryArms {
		var n, right, valid int
		for _, try := range tries {
			if try.Arm != arm {
				continue
			}
			n++
			if try.Right {
				right++
			}
			if try.Valid {
				valid++
			}
		}
		if n > 0 {
			rows = append(rows, nextTryRow{arm, n, shareOf(right, n), shareOf(valid, n)})
		}
	}
	return rows
}

// shareOf returns a proportion with Wilson's interval.
func shareOf(hits, n int) share {
	const z = 1.96
	p, m := float64(hits)/float64(n), float64(n)
	centre := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return share{hits, 100 * p, 100 * max(0, centre-half), 100 * min(1, centre+half)}
}

func printNextTries(w io.Writer, rows []nextTryRow) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "answer\tn\tright\t95 %\tvalid\t95 %\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%d\t%.0f %%\t%.0f..%.0f\t%.0f %%\t%.0f..%.0f\t\n", r.Arm, r.N,
			r.Right.Percent, r.Right.Low, r.Right.High, r.Valid.Percent, r.Valid.Low, r.Valid.High)
	}
	t.Flush()
}
