package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// shown is a message in one line, for comparison.
func shown(m Message) string {
	kind := [...]string{"invalid", "request", "notification", "response"}[m.Kind]
	var b strings.Builder
	fmt.Fprintf(&b, "%s id=%s method=%s", kind, m.ID, m.Method)
	for _, part := range []struct {
		name string
		raw  []byte
	}{{"params", m.Params}, {"result", m.Result}, {"error", m.Error}} {
		if part.raw != nil {
			fmt.Fprintf(&b, " %s=%s", part.name, part.raw)
		}
	}
	return b.String()
}

func TestScanReads(t *testing.T) {
	for _, story := range []struct{ says, line, want string }{
		{"a method and an id are a request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `request id=1 method=ping`},
		{"its params stay as they are", `{"jsonrpc":"2.0","id":1,"method":"a","params":{ "b" : 1.0 }}`, `request id=1 method=a params={ "b" : 1.0 }`},
		{"params may be anything", `{"jsonrpc":"2.0","id":1,"method":"a","params":null}`, `request id=1 method=a params=null`},
		{"a method without an id is a notification", `{"jsonrpc":"2.0","method":"a/b"}`, `notification id= method=a/b`},
		{"an id and a result are a response", `{"jsonrpc":"2.0","id":1,"result":{}}`, `response id=1 method= result={}`},
		{"an id and an error are one too", `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, `response id=1 method= error={"code":1}`},
		{"an error may come without an id", `{"jsonrpc":"2.0","error":{"code":1}}`, `response id= method= error={"code":1}`},
		{"or with a null one", `{"jsonrpc":"2.0","id":null,"error":{}}`, `response id=null method= error={}`},
		{"both result and error are left to the reader", `{"jsonrpc":"2.0","id":1,"result":1,"error":{}}`, `response id=1 method= result=1 error={}`},
		{"and so is neither", `{"jsonrpc":"2.0","id":1}`, `response id=1 method=`},
		{"a null error beside a result says nothing", `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, `response id=1 method= result={}`},
		{"nor does a null result beside an error", `{"jsonrpc":"2.0","id":1,"result":null,"error":{}}`, `response id=1 method= error={}`},
		{"a null result alone is a result", `{"jsonrpc":"2.0","id":1,"result":null}`, `response id=1 method= result=null`},
		{"a null error alone is nothing", `{"jsonrpc":"2.0","id":1,"error":null}`, `response id=1 method=`},
		{"nulls beside a method say nothing", `{"jsonrpc":"2.0","id":1,"method":"a","result":null,"error":null}`, `request id=1 method=a`},
		{"a null method beside a result says nothing", `{"jsonrpc":"2.0","id":1,"method":null,"result":{}}`, `response id=1 method= result={}`},
		{"nor does the null id of a notification", `{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}`, `notification id= method=notifications/initialized`},
		{"wherever it is", `{"method":"notifications/x","jsonrpc":"2.0","id":null}`, `notification id= method=notifications/x`},
		{"the order of the keys does not matter", `{"params":[],"method":"a","id":"x","jsonrpc":"2.0"}`, `request id="x" method=a params=[]`},
		{"nor does white space", " {\t\"jsonrpc\" : \"2.0\" ,\r \"id\" : 1 , \"method\":\"a\" } ", `request id=1 method=a`},
		{"unknown keys pass", `{"jsonrpc":"2.0","id":1,"method":"a","x":{"id":2,"method":"b"},"_meta":null}`, `request id=1 method=a`},
		{"unknown keys may stand twice", `{"jsonrpc":"2.0","x":1,"x":2,"X":3,"method":"a"}`, `notification id= method=a`},
		{"known keys deeper down are not ours", `{"jsonrpc":"2.0","method":"a","params":{"method":"b","Method":"c","id":1,"id":2}}`, `notification id= method=a params={"method":"b","Method":"c","id":1,"id":2}`},
		{"a method may have escapes", `{"jsonrpc":"2.0","id":1,"method":"tools\/c\u0061ll"}`, `request id=1 method=tools/call`},
		{"a method we do not know is a method", `{"jsonrpc":"2.0","id":1,"method":"ä/😀"}`, `request id=1 method=ä/😀`},
		{"an id is kept to the byte", `{"jsonrpc":"2.0","id":9007199254740993,"method":"a"}`, `request id=9007199254740993 method=a`},
		{"an id may be negative", `{"jsonrpc":"2.0","id":-1,"method":"a"}`, `request id=-1 method=a`},
		{"or a fraction", `{"jsonrpc":"2.0","id":1.50,"method":"a"}`, `request id=1.50 method=a`},
		{"or have an exponent", `{"jsonrpc":"2.0","id":1e2,"method":"a"}`, `request id=1e2 method=a`},
		{"or be an empty string", `{"jsonrpc":"2.0","id":"","method":"a"}`, `request id="" method=a`},
		{"or one with escapes", `{"jsonrpc":"2.0","id":"\u00e9\"","method":"a"}`, `request id="\u00e9\"" method=a`},
		{"invalid UTF-8 in the params stays", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":[\"caf\xe9\"]}", "request id=1 method=a params=[\"caf\xe9\"]"},
		{"in a result", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\xfe\"}", "response id=1 method= result=\"\xff\xfe\""},
		{"in an error", "{\"jsonrpc\":\"2.0\",\"error\":\"a\xffb\",\"id\":1}", "response id=1 method= error=\"a\xffb\""},
		{"in a key of the payload", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"\xff\":1}}", "response id=1 method= result={\"\xff\":1}"},
		{"in an unknown value", "{\"jsonrpc\":\"2.0\",\"id\":1,\"x\":\"\xff\",\"result\":1}", "response id=1 method= result=1"},
		{"valid text beyond ASCII is left alone", `{"jsonrpc":"2.0","id":1,"result":"é😀\u00e9\ud83d"}`, `response id=1 method= result="é😀\u00e9\ud83d"`},
		{"payloads nest as deep as the limit", deep(MaxDepth), `response id=1 method= result=` + nest(MaxDepth)},
	} {
		t.Run(story.says, func(t *testing.T) {
			m, rest, err := Scan([]byte(story.line))
			if err != nil || len(rest) > 0 {
				t.Fatalf("%v, rest %q", err, rest)
			}
			if got := shown(m); got != story.want {
				t.Errorf("%.300s\nwant %.300s", got, story.want)
			}
			if !bytes.HasPrefix([]byte(story.line), m.Raw) {
				t.Errorf("other bytes: %q", m.Raw)
			}
		})
	}
}

func nest(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
func deep(n int) string { return `{"jsonrpc":"2.0","id":1,"result":` + nest(n) + `}` }

func TestScanRefuses(t *testing.T) {
	for _, story := range []struct{ says, line, id, why string }{
		{"an empty line", ``, "", "unexpected end"},
		{"an empty object", `{}`, "", "not a message"},
		{"a log line", `Server started`, "", "not a JSON object"},
		{"a number", `42`, "", "not a JSON object"},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"a"}]`, "", "not a JSON object"},
		{"a byte order mark", "\xef\xbb\xbf{}", "", "not a JSON object"},
		{"a JSON log", `{"level":"info"}`, "", `"jsonrpc" is missing`},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"a"}`, "", `must be "2.0"`},
		{"a version that is a number", `{"jsonrpc":2.0,"id":1,"method":"a"}`, "", `must be "2.0"`},
		{"no version, but tells the id", `{"id":1,"method":"a"}`, "1", `"jsonrpc" is missing`},
		{"neither method nor id", `{"jsonrpc":"2.0","result":{}}`, "", "neither a method nor an id"},
		{"a null error and nothing else", `{"jsonrpc":"2.0","error":null}`, "", "neither a method nor an id"},
		{"a request with a null id", `{"jsonrpc":"2.0","id":null,"method":"a"}`, "null", "the request's id is null"},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"a"}`, "", "a string or a number"},
		{"an id that is an array", `{"jsonrpc":"2.0","id":[1],"method":"a"}`, "", "a string or a number"},
		{"an id that is a word", `{"jsonrpc":"2.0","id":true,"method":"a"}`, "", "a string or a number"},
		{"a method that is a number", `{"jsonrpc":"2.0","id":1,"method":1}`, "1", "method must be a string"},
		{"an empty method", `{"jsonrpc":"2.0","id":1,"method":""}`, "1", "the method is empty"},
		{"a method twice", `{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`, "1", `duplicate key "method"`},
		{"an id twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}`, "1", `duplicate key "id"`},
		{"the same result twice", `{"jsonrpc":"2.0","id":1,"result":1,"result":1}`, "1", `duplicate key "result"`},
		{"a method in another case", `{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call"}`, "1", `only in case`},
		{"a lone key in another case", `{"jsonrpc":"2.0","id":1,"METHOD":"a"}`, "1", `only in case`},
		{"a key that folds to a known one", `{"jsonrpc":"2.0","id":1,"reſult":1}`, "1", `only in case`},
		{"a key written with escapes", `{"jsonrpc":"2.0","\u0069d":1,"method":"a"}`, "", `must not contain escape sequences`},
		{"a key in another case with escapes", `{"jsonrpc":"2.0","id":1,"\u004dethod":"a"}`, "1", `must not contain escape sequences`},
		{"a method and a result", `{"jsonrpc":"2.0","id":1,"method":"a","result":{}}`, "1", "a method together with a result"},
		{"a method and an error", `{"jsonrpc":"2.0","id":1,"error":{},"method":"a"}`, "1", "a method together with a result"},
		{"invalid UTF-8 in a method", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "1", "invalid UTF-8"},
		{"invalid UTF-8 in an id", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"result\":1}", "", "invalid UTF-8"},
		{"invalid UTF-8 in an id, and something else", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":1}", "", "invalid UTF-8"},
		{"invalid UTF-8 in a key", "{\"jsonrpc\":\"2.0\",\"id\":1,\"\xff\":1,\"result\":1}", "1", "invalid UTF-8"},
		{"invalid UTF-8 in a key and in the payload", "{\"jsonrpc\":\"2.0\",\"id\":1,\"\xff\":1,\"result\":\"\xff\"}", "1", "invalid UTF-8"},
		{"a payload levels deep than the limit", deep(MaxDepth + 1), "1", "levels deep"},
		{"one that is nested a hundred thousand deep", deep(100_000), "1", "levels deep"},
		{"an unknown key nested too deep", `{"jsonrpc":"2.0","id":1,"x":` + nest(MaxDepth+1) + `}`, "1", "levels deep"},
		{"half a message", `{"jsonrpc":"2.0","id":1,"result":{"a"`, "1", "unexpected end"},
		{"a message without its last brace", `{"jsonrpc":"2.0","id":1,"result":{}`, "1", "unexpected end"},
		{"a comma too much", `{"jsonrpc":"2.0","id":1,"result":{},}`, "1", "expected a key"},
		{"a comma too little", `{"jsonrpc":"2.0" "id":1}`, "", "unexpected"},
		{"a control character in a string", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\tb\"}", "1", "control character"},
		{"a control character behind much text", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"" + strings.Repeat("abc", 50) + "\x01\"}", "1", "control character"},
		{"a NUL", "{\"jsonrpc\":\"2.0\",\"id\":1,\x00\"result\":1}", "1", "expected a key"},
		{"a number with a leading zero", `{"jsonrpc":"2.0","id":01,"result":1}`, "0", "unexpected"},
		{"a number without digits", `{"jsonrpc":"2.0","id":-,"result":1}`, "", "invalid number"},
		{"NaN", `{"jsonrpc":"2.0","id":1,"result":NaN}`, "1", "unexpected"},
		{"a invalid escape", `{"jsonrpc":"2.0","id":1,"result":"\x41"}`, "1", "invalid escape"},
		{"half an escape", `{"jsonrpc":"2.0","id":1,"result":"\u00"}`, "1", `invalid \u escape`},
	} {
		t.Run(story.says, func(t *testing.T) {
			m, _, err := Scan([]byte(story.line))
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("accepted as %s (%v)", shown(m), err)
			}
			if !strings.Contains(err.Error(), story.why) {
				t.Errorf("because: %v; want %s", err, story.why)
			}
			if string(m.ID) != story.id {
				t.Errorf("id %s, want %s", m.ID, story.id)
			}
		})
	}
}

func TestScanSeesThatAResultMayBeAnError(t *testing.T) {
	for line, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}`:                  true,
		`{"jsonrpc":"2.0","id":1,"result":{"isError":false,"content":[]}}`:                 true,
		`{"jsonrpc":"2.0","id":1,"result":{"structuredContent":[{"isError":true}]}}`:       true,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"isError"}]}}`: false,
		`{"jsonrpc":"2.0","id":1,"result":{"iserror":true}}`:                               false,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                             false,
	} {
		if m, _, err := Scan([]byte(line)); err != nil || m.MayBeError != want {
			t.Errorf("%s: %v, %v", line, m.MayBeError, err)
		}
	}
}

func TestScanRefusesEveryBeginningOfAMessage(t *testing.T) {
	whole := `{"jsonrpc":"2.0","id":-1.5e3,"method":"a","params":{"t":[true,false,null],"s":"\u00e9\"x"}}`
	for at := range len(whole) {
		if m, _, err := Scan([]byte(whole[:at])); err == nil {
			t.Errorf("%q was taken for %s", whole[:at], shown(m))
		}
	}
}

func TestScanLeavesWhatFollowsOnTheLine(t *testing.T) {
	one, two := `{"jsonrpc":"2.0","id":1,"result":1}`, `{"jsonrpc":"2.0","id":2,"result":2}`
	for _, story := range []struct{ line, rest string }{
		{one, ""}, {one + "  \t", ""}, {one + two, two}, {one + " " + two, two}, {one + " and a log line", "and a log line"}, {one + "}", "}"}, {one + "\x00", "\x00"},
	} {
		m, rest, err := Scan([]byte(story.line))
		if err != nil || string(rest) != story.rest || string(m.Raw) != one {
			t.Errorf("%q: %q and %q, %v", story.line, m.Raw, rest, err)
		}
	}
}

func TestSplitBatch(t *testing.T) {
	for _, story := range []struct {
		says, line string
		want       []string
		why        string
	}{
		{"every element, as it stands", ` [ {"a":[1,2]} ,"x", [3] ] `, []string{`{"a":[1,2]}`, `"x"`, `[3]`}, ""},
		{"as many as allowed", `[1,2,3]`, []string{"1", "2", "3"}, ""},
		{"not more", `[1,2,3,4]`, nil, "more than 3"},
		{"not an empty one", `[ ]`, nil, "batch is empty"},
		{"not a message", `{}`, nil, "not a batch"},
		{"not nothing", ``, nil, "not a batch"},
		{"not half of one", `[1,2`, nil, "unexpected end"},
		{"not one with a comma too much", `[1,]`, nil, "unexpected"},
		{"not one with a comma too little", `[1 2]`, nil, "expected ','"},
		{"not one with something behind it", `[1] 2`, nil, "after the batch"},
		{"not one that is nested too deep", "[" + nest(MaxDepth+1) + "]", nil, "levels deep"},
	} {
		t.Run(story.says, func(t *testing.T) {
			parts, err := SplitBatch([]byte(story.line), 3)
			if story.why != "" {
				if err == nil || !strings.Contains(err.Error(), story.why) {
					t.Errorf("%q, %v; want %s", parts, err, story.why)
				}
				return
			}
			if got := fmt.Sprintf("%s", parts); err != nil || got != fmt.Sprintf("%s", story.want) {
				t.Errorf("%s, %v; want %s", got, err, story.want)
			}
		})
	}
}

// reference is what encoding/json sees in a message, held to the rules of the
// envelope: an independent and slow Scan. ok is false if it is to be refused;
// sure is false where the rules depend on depth.
func reference(text []byte) (m Message, ok, sure bool) {
	if !json.Valid(text) || bytes.TrimLeft(text, " \t\r\n")[0] != '{' {
		return m, false, true
	}
	if depthOf(text) > MaxDepth {
		return m, false, false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.Token()
	seen := map[string]json.RawMessage{}
	clean := bytes.Clone(text) // the values blanked out that are only passed on
	for d.More() {
		from := d.InputOffset()
		token, _ := d.Token()
		name := token.(string)
		spelled := bytes.Trim(text[from:d.InputOffset()], " \t\r\n,")
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return m, false, true
		}
		for _, known := range envelopeKeys {
			if !strings.EqualFold(name, known) {
				continue
			}
			if string(spelled) != `"`+known+`"` || seen[known] != nil {
				return m, false, true
			}
			seen[known] = value
		}
		if name != "id" && name != "method" {
			at := int(d.InputOffset()) - len(value)
			copy(clean[at:], bytes.Repeat([]byte("."), len(value)))
		}
	}
	if !utf8.Valid(clean) {
		return m, false, true
	}
	null := func(key string) bool { return string(seen[key]) == "null" }
	for _, key := range []string{"error", "method"} {
		if null(key) {
			delete(seen, key)
		}
	}
	var method string
	if seen["method"] != nil && (json.Unmarshal(seen["method"], &method) != nil || method == "") {
		return m, false, true
	}
	if null("result") && (seen["error"] != nil || method != "") {
		delete(seen, "result")
	}
	if null("id") && strings.HasPrefix(method, "notifications/") {
		delete(seen, "id")
	}
	m = Message{ID: seen["id"], Method: method, Params: seen["params"], Result: seen["result"], Error: seen["error"]}
	idOK := m.ID == nil || null("id") || m.ID[0] == '"' || m.ID[0] == '-' || m.ID[0] >= '0' && m.ID[0] <= '9'
	if string(seen["jsonrpc"]) != `"2.0"` || !idOK {
		return m, false, true
	}
	switch {
	case method != "" && (m.Result != nil || m.Error != nil || null("id")):
		return m, false, true
	case method != "" && m.ID == nil:
		m.Kind = Notification
	case method != "":
		m.Kind = Request
	case m.ID != nil || m.Error != nil:
		m.Kind = Response
	default:
		return m, false, true
	}
	return m, true, true
}

// depthOf is how deep a valid text nests below its own braces.
func depthOf(text []byte) (deepest int) {
	depth, inString := -1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// compareWithReference holds Scan against the slow reading of a text.
func compareWithReference(t *testing.T, text []byte) {
	t.Helper()
	m, rest, err := Scan(text)
	if err != nil {
		if want, ok, _ := reference(text); ok {
			t.Errorf("%q was refused (%v), it is %s", text, err, shown(want))
		}
		return
	}
	one := bytes.TrimRight(text[:len(text)-len(rest)], " \t\r\n")
	want, ok, sure := reference(one)
	if !sure {
		t.Errorf("%.100q was accepted although it is deep", text)
	}
	if !ok || shown(m) != shown(want) {
		t.Errorf("%q is %s\nwant %s (%v)", text, shown(m), shown(want), ok)
	}
	if !bytes.Equal(m.Raw, one) || !json.Valid(m.Raw) {
		t.Errorf("%q: raw bytes %q", text, m.Raw)
	}
	again, rest, err := Scan(m.Raw)
	if err != nil || len(rest) > 0 || shown(again) != shown(m) {
		t.Errorf("%q at the second look: %s, %v", m.Raw, shown(again), err)
	}
}

// texts writes random JSON, mostly valid.
type texts struct{ *rand.Rand }

func (r texts) pick(words ...string) string { return words[r.IntN(len(words))] }

func (r texts) value(depth int) string {
	if depth <= 0 || r.IntN(3) == 0 {
		return r.pick(`1`, `-0`, `0.5`, `1e400`, `12345678901234567890`, `-1.5E-3`, `true`, `false`, `null`, `""`, `"a"`, `"\""`,
			`"\\"`, `"é"`, `"\u00e9\ud83d\ude00"`, `"\ud83d"`, `"a\/b\n"`, `" {[,:]} "`, "\"\x7f\"", `"`+strings.Repeat("long ", r.IntN(20))+`"`)
	}
	var parts []string
	for range r.IntN(4) {
		parts = append(parts, r.value(depth-1))
	}
	if r.IntN(2) == 0 {
		return "[" + strings.Join(parts, r.pick(",", " , ", ",\t")) + "]"
	}
	for i := range parts {
		parts[i] = r.pick(`"a"`, `"b c"`, `""`, `"id"`, `"Method"`, `"\u0061"`, `"é"`) + r.pick(":", " : ", ":\r") + parts[i]
	}
	return "{" + strings.Join(parts, r.pick(",", " , ")) + "}"
}

func (r texts) message() string {
	members := []string{`"jsonrpc":"2.0"`}
	add := func(oneIn int, member string) {
		if r.IntN(oneIn) == 0 {
			members = append(members, member)
		}
	}
	add(1, `"id":`+r.pick(`1`, `"a"`, `-1`, `1e2`, `""`, `null`, `"\u0061"`, `{}`))
	add(2, `"method":`+r.pick(`"ping"`, `"a/b"`, `"notifications/a"`, `null`, `"tools\/call"`, `""`, `1`, `"é"`))
	add(2, `"params":`+r.value(3))
	add(3, `"result":`+r.value(3))
	add(4, `"error":`+r.value(2))
	add(4, r.pick(`"x"`, `"_meta"`, `"ID"`, `"result"`, `"\u0069d"`, `"reſult"`, `"method"`)+":"+r.value(2))
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	space := r.pick("", " ")
	return space + "{" + space + strings.Join(members, ","+space) + space + "}" + space
}

// bend changes a few bytes.
func (r texts) bend(text string) string {
	b := []byte(text)
	for range r.IntN(3) {
		at := r.IntN(len(b))
		switch r.IntN(4) {
		case 0:
			b[at] = byte(r.Uint32())
		case 1:
			b = append(b[:at], b[at+1:]...)
		case 2:
			b = append(b[:at], append([]byte(r.pick(`"`, `,`, `{`, `}`, `[`, `]`, `\`, `:`, "\x00", "\xff", "0", "e", " ", "\n")), b[at:]...)...)
		default:
			b[at] = r.pick(`"`, `,`, `}`, `]`, `\`, `1`)[0]
		}
		if len(b) == 0 {
			return "{"
		}
	}
	return string(b)
}

func TestScanSeesWhatEncodingJSONSees(t *testing.T) {
	seeds, accepted := sample.Seeds(sample.Seed(t), 20_000), 0
	sample.Each(t, seeds, func(seed uint64) {
		r := texts{sample.Random(seed, 2)}
		text := []byte(r.bend(r.message()))
		compareWithReference(t, text)
		if _, ok, _ := reference(text); ok {
			accepted++
		}
	})
	if accepted < len(seeds)/10 {
		t.Errorf("only %d of the texts were messages: the test says little", accepted)
	}
}

func TestScanValueAcceptsWhatEncodingJSONAccepts(t *testing.T) {
	seeds, valid := sample.Seeds(sample.Seed(t), 40_000), 0
	sample.Each(t, seeds, func(seed uint64) {
		r := texts{sample.Random(seed, 4)}
		text := []byte(r.bend(r.value(4)))
		end, err := scanValue(text, 0, nil)
		got := err == nil && skipSpace(text, end) == len(text)
		if want := json.Valid(text); got != want {
			t.Errorf("%q: %v (%v), json.Valid says %v", text, got, err, want)
		} else if want {
			valid++
		}
	})
	if valid < len(seeds)/5 {
		t.Errorf("only %d of the texts were valid: the test says little", valid)
	}
}

func FuzzScan(f *testing.F) {
	r := texts{sample.Random(sample.Seed(f), 6)}
	for range 50 {
		f.Add([]byte(r.message()))
		f.Add([]byte(r.bend(r.message())))
	}
	f.Add([]byte(deep(MaxDepth + 1)))
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"\xff\",\"result\":\"\xfe\"} {"))
	f.Fuzz(func(t *testing.T, text []byte) {
		compareWithReference(t, text)
		if id := LooseID(text); id != nil && (!json.Valid(id) || !utf8.Valid(id) || strings.IndexByte("{[tfn", id[0]) >= 0) {
			t.Errorf("%q has the id %q", text, id)
		}
		if parts, err := SplitBatch(text, 100); err == nil {
			var want []json.RawMessage
			if json.Unmarshal(text, &want) != nil || fmt.Sprintf("%s", parts) != fmt.Sprintf("%s", want) {
				t.Errorf("%q was split into %q, want %q", text, parts, want)
			}
		}
	})
}
