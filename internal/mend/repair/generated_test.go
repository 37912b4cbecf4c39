package repair

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	second "github.com/google/jsonschema-go/jsonschema"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

const (
	generatorsAtOnce = 8
	callsPerTool     = 12
	toolName         = "get_weather"
)

// allRules are all there are: each must happen in generated calls.
var allRules = []string{RuleReadText, RuleNoArguments, RuleEncodedTwice, RuleWrapped, RuleNumberText, RulePhrase, RuleBooleanText, RuleJSONText, RulePythonText,
	RuleNumberToText, RuleNull, RuleEmpty, RuleNullWord, RuleChoice, RuleKey, RuleToList, RuleOneElement, RuleTyped, RuleDefault,
	RuleRenamed, RuleSplit, RuleRejectedDefault}

// tally counts what happened.
type tally struct {
	mu    sync.Mutex
	count map[string]int
}

func (s *tally) add(what ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range what {
		s.count[w]++
	}
}

func (s *tally) String() string {
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(s.count)) {
		fmt.Fprintf(&b, "%8d  %s\n", s.count[what], what)
	}
	return b.String()
}

// failedSeeds are seeds of TestGeneratedCalls that failed once.
var failedSeeds = []uint64{0x9b1d, 0xa832, 0xb25f, 0x777a81, 0x77809d, 0xfd5d3434d629740d, 0xfd5d3434d6297553}

// Properties of every call, checked with generated calls.
func TestGeneratedCalls(t *testing.T) {
	seeds := sample.Seeds(sample.Seed(t), 100_000/callsPerTool, failedSeeds...)
	tally := &tally{count: map[string]int{}}
	t.Run("seeds", func(t *testing.T) {
		for part := range slices.Chunk(seeds, len(seeds)/generatorsAtOnce+1) {
			t.Run(fmt.Sprintf("%#x", part[0]), func(t *testing.T) {
				t.Parallel()
				sample.Each(t, part, func(seed uint64) { judgeTool(t, newGenerator(seed), tally) })
			})
		}
	})
	t.Logf("what happened:\n%s", tally)
	if !t.Failed() {
		tally.reachesAll(t)
	}
}

// reachesAll looks whether the generator reached everything there is to check.
func (s *tally) reachesAll(t *testing.T) {
	calls := s.count["calls"]
	for _, what := range append(slices.Clone(allRules), Valid.String(), Repaired.String(), Refused.String(), Unverified.String()) {
		if s.count[what] <= calls/20_000 {
			t.Errorf("%q happened %d times in %d calls: the generator does not reach it", what, s.count[what], calls)
		}
	}
	if n := s.count["plainly valid"]; n < calls/1000 {
		t.Errorf("%d calls were plainly valid: the generator hardly reaches that", n)
	}
	if none := s.count["message without an example"]; none > s.count["message with an example"]/1000 {
		t.Errorf("%d messages are without an example", none)
	}
	if s.count["undamaged and valid"] < s.count["undamaged"]*9/10 {
		t.Errorf("of %d undamaged calls only %d are valid", s.count["undamaged"], s.count["undamaged and valid"])
	}
}

// judgeTool makes a tool and some calls of it.
func judgeTool(t *testing.T, g *generator, tally *tally) {
	tool := g.tool()
	raw := asJSON(tool.schema)
	other, err := otherValidator(tool.schema)
	if err != nil {
		tally.add("second validator: none")
	}
	for i := range callsPerTool {
		c := generatedCall{t: t, tally: tally, schema: Compile(raw), raw: raw, other: other}
		arguments := reread(tool.sample())
		if c.sent = asJSON(arguments); i > 1 {
			c.sent = g.damaged(arguments, toolName)
			c.meant = g.meant
		} else if other != nil {
			tally.add("undamaged")
			if c.schema.Arguments(c.sent, Options{}).Verdict == Valid {
				tally.add("undamaged and valid")
			}
		}
		if c.schema.Ready().plain.fits(c.sent, false) {
			tally.add("plainly valid")
			if c.out = c.schema.checked(c.sent, Options{Tier: Told}); c.out.Verdict != Valid || c.out.Reason != "" || len(c.out.Notes) > 0 {
				c.errorf("plainly valid, but the validator says otherwise")
			}
		}
		c.judge()
		if t.Failed() {
			return
		}
	}
}

// generatedCall is one call under test.
type generatedCall struct {
	t       *testing.T
	tally   *tally
	schema  *Schema
	raw     []byte
	other   *second.Resolved // nil if the second validator cannot read the schema
	sent    []byte
	meant   string // what sent says, if a lexer cannot tell
	out     Outcome
	message Message // of a refused call
}

func (c *generatedCall) errorf(format string, args ...any) {
	c.t.Helper()
	c.t.Errorf("%s\nschema:   %s\nsent:     %s\nverdict:  %s %s\nreturned: %s\nchanges:  %s", fmt.Sprintf(format, args...), c.raw, c.sent, c.out.Verdict, c.out.Reason, c.out.Arguments, receiptsOf(c.out))
}

func receiptsOf(out Outcome) string {
	data, _ := json.Marshal(out.Changes)
	return string(data)
}

func (c *generatedCall) judge() {
	c.out = c.schema.Arguments(c.sent, Options{Tool: toolName, Tier: Told})
	c.tally.add("calls", c.out.Verdict.String())
	if c.out.Verdict == Refused || c.out.Verdict == Repaired {
		c.failsTheOther()
	}
	switch c.out.Verdict {
	case Valid:
		c.unchanged(c.out)
		c.passesTheOther("a valid call", c.out.Arguments)
	case Repaired:
		c.repaired()
	case Refused:
		c.refused()
	case Unverified:
		c.unchanged(c.out)
		if c.out.Reason == "" {
			c.errorf("unverified without a reason")
		}
	}
	c.tiers()
}

func (c *generatedCall) unchanged(out Outcome) {
	c.t.Helper()
	if !bytes.Equal(out.Arguments, c.sent) || len(out.Changes) > 0 {
		c.errorf("a call that was not repaired is not returned as it came: %s %s", out.Arguments, receiptsOf(out))
	}
}

// inexact numbers are rounded by the second validator, and not by ours.
var inexact = regexp.MustCompile(`[0-9]{16}`)

// failsTheOther: what the second validator takes is not ours to change or to
// refuse, except by formats, which it does not look at.
func (c *generatedCall) failsTheOther() {
	var value any
	if c.other == nil || c.out.onlyFormats() || json.Unmarshal(c.sent, &value) != nil || bytes.Contains(c.raw, []byte(`"format"`)) || inexact.Match(c.sent) {
		return
	}
	if c.other.Validate(value) == nil {
		c.tally.add("taken by the other")
		c.errorf("the second validator takes what was sent")
	}
}

func (c *generatedCall) passesTheOther(what string, arguments []byte) {
	if c.other == nil || c.out.Reason != "" {
		return
	}
	var value any
	if err := json.Unmarshal(arguments, &value); err != nil {
		c.errorf("%s is no JSON: %v", what, err)
		return
	}
	if err := c.other.Validate(value); err != nil {
		c.errorf("%s does not pass the second validator: %v", what, err)
	}
}

func (c *generatedCall) repaired() {
	if len(c.out.Changes) == 0 {
		c.errorf("repaired without a receipt")
	}
	for _, change := range c.out.Changes {
		c.tally.add(change.Rule)
		if change.Path == "" || change.Rule == "" || change.Tier == Off || change.Before == nil && change.After == nil {
			c.errorf("an incomplete receipt: %+v", change)
		}
	}
	c.passesTheOther("a repaired call", c.out.Arguments)
	again := c.schema.Arguments(c.out.Arguments, Options{Tool: toolName, Tier: Told})
	if partly := again.Verdict == Unverified && again.Reason != ""; again.Verdict != Valid && !partly || !bytes.Equal(again.Arguments, c.out.Arguments) {
		c.errorf("a repaired call is repaired again: %s %s %s", again.Verdict, again.Arguments, receiptsOf(again))
	}
	c.sameScalars()
	c.othersUntouched()
}

// othersUntouched looks for arguments that changed without a receipt.
func (c *generatedCall) othersUntouched() {
	touched := map[string]bool{}
	for _, change := range c.out.Changes {
		if change.Path == Path(nil) {
			return // all of them came out of something
		}
		key, _, _ := strings.Cut(change.Path, ".")
		touched[key] = true
		var renamed map[string]json.RawMessage
		if (change.Rule == RuleKey || change.Rule == RuleRenamed) && json.Unmarshal(change.Before, &renamed) == nil {
			for key := range renamed {
				touched[key] = true
			}
		}
	}
	sent, _ := readExactly(c.sent).(map[string]any)
	returned, _ := readExactly(c.out.Arguments).(map[string]any)
	for _, one := range []map[string]any{sent, returned} {
		for key := range one {
			if !touched[key] && !reflect.DeepEqual(sent[key], returned[key]) {
				c.errorf("%q changed without a receipt", key)
			}
		}
	}
}

// explained reports whether a refused call is also explained, which is slow: some only.
func (c *generatedCall) explained() bool { return len(c.sent)%4 == 0 }

// refused looks at the example of the message.
func (c *generatedCall) refused() {
	if !c.explained() {
		return
	}
	c.message = c.schema.Explain(toolName, c.out, 1)
	var data struct {
		ValidExample json.RawMessage `json:"validExample"`
	}
	if err := json.Unmarshal(c.message.Data, &data); err != nil {
		c.errorf("the message has no data: %v\n%s", err, c.message.Data)
		return
	}
	if data.ValidExample == nil || string(data.ValidExample) == "null" {
		c.tally.add("message without an example")
		return
	}
	c.tally.add("message with an example")
	if again := c.schema.Arguments(data.ValidExample, Options{}); again.Verdict != Valid && again.Verdict != Unverified {
		c.errorf("the example %s is %s", data.ValidExample, again.Verdict)
	}
	c.passesTheOther("the example "+string(data.ValidExample), data.ValidExample)
}

// tiers compares what the tiers make of the same call, and that it is always the same.
func (c *generatedCall) tiers() {
	off := c.schema.Arguments(c.sent, Options{Tool: toolName, Tier: Off})
	if c.unchanged(off); off.Verdict == Repaired {
		c.errorf("repaired although nothing may be")
	}
	none := slices.Contains([]string{"", "null"}, string(bytes.TrimSpace(c.sent))) // stands for {}, and nothing says it must be written so
	if (off.Verdict == Valid) != (c.out.Verdict == Valid) && !none {
		c.errorf("%s if nothing may be changed", off.Verdict)
	}
	if c.out.Verdict == Valid {
		return
	}
	silent := c.schema.Arguments(c.sent, Options{Tool: toolName, Tier: Silent})
	for _, change := range silent.Changes {
		if change.Tier > Silent {
			c.errorf("a change that must be told, made silently: %s", receiptsOf(silent))
		}
	}
	if silent.Verdict == Repaired && (c.out.Verdict != Repaired || !bytes.Equal(silent.Arguments, c.out.Arguments)) {
		c.errorf("the silent tier makes something else of it: %s %s", silent.Arguments, receiptsOf(silent))
	}
	fresh := &Schema{raw: c.raw}
	for i, schema := range []*Schema{c.schema, c.schema, fresh} {
		if !c.explained() || i > 1 && len(c.sent)%8 != 0 {
			break // so is compiling
		}
		again := schema.Arguments(c.sent, Options{Tool: toolName, Tier: Told})
		if again.Verdict != c.out.Verdict || !bytes.Equal(again.Arguments, c.out.Arguments) || receiptsOf(again) != receiptsOf(c.out) || again.Reason != c.out.Reason {
			c.errorf("another outcome the next time: %s %s %s", again.Verdict, again.Arguments, receiptsOf(again))
		}
		if c.out.Verdict != Refused {
			continue
		}
		if message := schema.Explain(toolName, again, 1); message.Text != c.message.Text || !bytes.Equal(message.Data, c.message.Data) {
			c.errorf("another message the next time:\n%s\n%s", c.message.Text, message.Text)
		}
	}
}

// sameScalars is a second opinion on whether anything was lost or invented:
// it counts scalars as they are written, with a lexer of its own.
func (c *generatedCall) sameScalars() {
	before, after := wordsIn(cmp.Or(c.meant, string(c.sent))), wordsIn(string(c.out.Arguments))
	for _, change := range c.out.Changes {
		if change.Rule == RuleDefault || change.Rule == RuleSplit || change.Rule == RulePhrase {
			for word, n := range wordsIn(string(change.After)) {
				before[word] += n
			}
		}
		if change.Rule == RuleRejectedDefault || change.Rule == RuleSplit || change.Rule == RulePhrase {
			for word, n := range wordsIn(string(change.Before)) {
				before[word] -= n
			}
		}
		var call struct{ Name, Tool string }
		if change.Rule == RuleWrapped && json.Unmarshal(change.Before, &call) == nil && call.Name == toolName {
			before[wordOf(toolName)]--
		}
		var typed map[string]any
		if change.Rule == RuleTyped && json.Unmarshal(change.Before, &typed) == nil && len(typed) == 2 {
			before[wordOf(strings.ToLower(fmt.Sprint(typed["type"])))]--
		}
		var items []any
		if change.Rule == RuleTyped && json.Unmarshal(change.Before, &items) == nil { // one of them became several
			rest := wordsIn(string(change.After))
			for word, n := range wordsIn(string(change.Before)) {
				if n > rest[word] && typeNames[word] {
					before[word]--
				}
			}
		}
	}
	maps.DeleteFunc(before, func(_ string, n int) bool { return n == 0 })
	if !maps.Equal(before, after) {
		c.errorf("scalars were lost or invented:\n%v\n%v", before, after)
	}
}

var lexeme = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|//[^\n]*|#[^\n]*|[^\s,:\[\]{}()"'#]+`)

// wordsIn counts the scalars in a text, keys left out. A text inside of it
// that starts with a bracket is looked into. Case and separators do not
// count, nothing counts as nothing, and a number counts by its value.
func wordsIn(text string) map[string]int {
	count := map[string]int{}
	text = strings.TrimSpace(text)
	text = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(text, "```json"), "```"), "```")
	for _, at := range lexeme.FindAllStringIndex(text, -1) {
		word := text[at[0]:at[1]]
		if strings.HasPrefix(strings.TrimLeft(text[at[1]:], " \n"), ":") || word[0] == '#' || strings.HasPrefix(word, "//") {
			continue
		}
		quoted := word[0] == '"' || word[0] == '\''
		if quoted {
			word = bodyOf(word)
		}
		if inner := strings.TrimSpace(word); quoted && inner != "" && strings.IndexByte("[{(`", inner[0]) >= 0 {
			for word, n := range wordsIn(inner) {
				count[word] += n
			}
			continue
		}
		word = strings.ToLower(strings.TrimSpace(word))
		if n, ok := new(big.Rat).SetString(word); ok && isNumber(word) {
			count[n.RatString()]++
			continue
		}
		switch word = wordOf(word); word {
		case "", "null", "none", "nil", "undefined", "na":
		default:
			count[word]++
		}
	}
	return count
}

// wordOf is a word without what does not count.
func wordOf(word string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", ".", "", "/", "", "\t", "", "!", "", ",", "", "'", "", `"`, "").Replace(word)
}

func bodyOf(word string) string {
	body := word[1 : len(word)-1]
	if word[0] == '\'' {
		return strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\n`, "\n").Replace(body)
	}
	var text string
	if json.Unmarshal([]byte(word), &text) != nil {
		return body
	}
	return text
}

// otherValidator makes the second validator, which knows drafts 7 and 2020-12
// and no OpenAPI.
func otherValidator(schema any) (*second.Resolved, error) {
	var parsed second.Schema
	if err := json.Unmarshal(asJSON(withoutNullable(reread(schema))), &parsed); err != nil {
		return nil, err
	}
	return parsed.Resolve(nil)
}

// withoutNullable says in JSON Schema what OpenAPI says with nullable.
func withoutNullable(schema any) any {
	for _, p := range append(spots(schema), spot{value: schema}) {
		object, ok := p.value.(map[string]any)
		if !ok || object["nullable"] != true {
			continue
		}
		object["type"] = []any{object["type"], "null"}
		if values, ok := object["enum"].([]any); ok {
			object["enum"] = append(values, nil)
		}
		delete(object, "nullable")
	}
	return schema
}
