package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

func scanned(t *testing.T, line string) Message {
	t.Helper()
	m, rest, err := Scan([]byte(line))
	if err != nil || len(rest) > 0 {
		t.Fatalf("%q: %v, rest %q", line, err, rest)
	}
	return m
}

func TestAppendWithIDChangesTheIDAndNothingElse(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{"id":1}}`,
		`{"params":{"id":1,"x":[1,1]},"method":"a","jsonrpc":"2.0","id":1}`,
		` { "jsonrpc" : "2.0", "x":1, "id" :  1 , "result" : {"a" : 1} }`,
		`{"id":1,"jsonrpc":"2.0","error":{"code":1}}`,
	} {
		m := scanned(t, line)
		at := strings.Index(line, `"id" :  1`) + len(`"id" :  `)
		if at < len(`"id" :  `) {
			at = m.idAt
		}
		for _, id := range []string{`"g1-1"`, `-1`, `""`, `12345678901234567890`} {
			got := string(m.AppendWithID([]byte("before"), []byte(id)))
			if want := "before" + line[:at] + id + line[at+1:] + "\n"; got != want {
				t.Errorf("%q, want %q", got, want)
			}
			back := scanned(t, strings.TrimSuffix(got[len("before"):], "\n"))
			if string(back.ID) != id || string(back.AppendWithID(nil, []byte("1"))) != line+"\n" {
				t.Errorf("the way back: %q", back.AppendWithID(nil, []byte("1")))
			}
		}
	}
}

func TestAppendWithParamChangesOneValueAndNothingElse(t *testing.T) {
	line := `{"requestId":7,"jsonrpc":"2.0","params":{ "reason":"7", "requestId" : 7 , "x":[7]},"method":"notifications/cancelled"}`
	check := func(how string, m *Message) {
		t.Helper()
		old, err := Field(m.Params, "requestId")
		if err != nil || string(old) != "7" {
			t.Fatalf("%s, %v", old, err)
		}
		got := string(m.AppendWithParam(nil, old, []byte(`"g1-12"`)))
		if want := strings.Replace(line, ` : 7 `, ` : "g1-12" `, 1) + "\n"; got != want {
			t.Errorf("%s: %q, want %q", how, got, want)
		}
	}
	m := scanned(t, line)
	check("in the reader's buffer", &m)
	kept, _ := m.Keep(make([]byte, 3, 1000))
	check("in a copy", &kept)
}

func TestKeepSurvivesItsReadersBuffer(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":"x","method":"a","params":{"b":1}}`,
		` {"jsonrpc":"2.0","error":{"code":1},"id":2}`,
		`{"jsonrpc":"2.0","method":"a"}`,
		"{\"jsonrpc\":\"2.0\",\"id\":\"é\",\"result\":\"\xff mended\"}",
	} {
		buffer := append([]byte("earlier bytes"), line...)
		m, _, err := Scan(buffer[len("earlier bytes"):])
		if err != nil {
			t.Fatal(err)
		}
		want, raw := shown(m), string(m.Raw)
		withID := string(m.AppendWithID(nil, []byte("99")))
		kept, room := m.Keep(nil)
		clear(buffer)
		if shown(kept) != want || string(kept.Raw) != raw {
			t.Errorf("%s, want %s", shown(kept), want)
		}
		if m.ID != nil && string(kept.AppendWithID(nil, []byte("99"))) != withID {
			t.Errorf("with another id: %q, want %q", kept.AppendWithID(nil, []byte("99")), withID)
		}
		// The room is used again.
		other := scanned(t, `{"jsonrpc":"2.0","id":1,"method":"b"}`)
		if again, reused := other.Keep(room); cap(room) >= len(other.Raw) && &reused[0] != &room[0] || shown(again) != shown(other) {
			t.Errorf("in a room used before: %s", shown(again))
		}
	}
}

func TestField(t *testing.T) {
	for _, story := range []struct{ says, object, want, why string }{
		{"finds a value as it stands", `{"a":1, "key" : {"key": [1, 2]} , "b":2}`, `{"key": [1, 2]}`, ""},
		{"finds the first", `{"key":"x","a":1}`, `"x"`, ""},
		{"finds the last", `{"a":1,"key":-1.5e3}`, `-1.5e3`, ""},
		{"finds a word", `{"key":null}`, `null`, ""},
		{"is not fooled by what a string says", `{"a":"\"key\":1,{[","key":2}`, `2`, ""},
		{"nor by backslashes at its end", `{"a":"\\","b":"\\\"","key":2}`, `2`, ""},
		{"nor by keys deeper down", `{"a":{"key":1},"b":[{"key":1}]}`, ``, ""},
		{"finds nothing in an empty object", ` { } `, ``, ""},
		{"nor in what is no object", `[{"key":1}]`, ``, ""},
		{"nor in nothing", ``, ``, ""},
		{"refuses a key that duplicate key", `{"key":1,"key":1}`, ``, "duplicate key"},
		{"refuses one that differs in case", `{"Key":1}`, ``, "only in case or escapes"},
		{"refuses one spelled with escapes", `{"k\u0065y":1}`, ``, "only in case or escapes"},
		{"refuses it even beside the real one", `{"key":1,"KEY":2}`, ``, "only in case or escapes"},
		{"does not mind another key with escapes", `{"\u0061":1,"key":2}`, `2`, ""},
	} {
		t.Run(story.says, func(t *testing.T) {
			got, err := Field([]byte(story.object), "key")
			if story.why != "" {
				if err == nil || !strings.Contains(err.Error(), story.why) {
					t.Errorf("%s, %v; want %s", got, err, story.why)
				}
				return
			}
			if err != nil || string(got) != story.want {
				t.Errorf("%s, %v; want %s", got, err, story.want)
			}
		})
	}
}

func TestFieldsFindsSeveralInOnePass(t *testing.T) {
	var values [3][]byte
	if err := Fields([]byte(`{"c":[3],"x":0,"a":"1"}`), values[:], "a", "b", "c"); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%s %v %s", values[0], values[1] == nil, values[2]); got != `"1" true [3]` {
		t.Error(got)
	}
}

func TestElements(t *testing.T) {
	for _, story := range []struct{ array, want string }{
		{`[]`, ``}, {` [ ] `, ``}, {`[1]`, `1`}, {`[1, "a,]" ,{"b":[1,2]},[],null]`, `1|"a,]"|{"b":[1,2]}|[]|null`},
	} {
		var got []string
		if err := Elements([]byte(story.array), func(e []byte) { got = append(got, string(e)) }); err != nil || strings.Join(got, "|") != story.want {
			t.Errorf("%s: %q, %v", story.array, got, err)
		}
	}
	if err := Elements([]byte(`{"a":1}`), func([]byte) { t.Error("an object has no elements") }); err == nil {
		t.Error("no error for an object")
	}
}

func TestText(t *testing.T) {
	for raw, want := range map[string]string{`"a"`: "a", `""`: "", `"\u00e9\n"`: "é\n", `"é"`: "é", `1`: "!", `null`: "!", ``: "!", `{"a":"b"}`: "!"} {
		got, ok := Text([]byte(raw))
		if !ok {
			got = "!"
		}
		if got != want {
			t.Errorf("%s is %q, want %q", raw, got, want)
		}
	}
}

func TestLooseID(t *testing.T) {
	for _, story := range []struct{ says, text, want string }{
		{"the id of a message", `{"jsonrpc":"2.0","id":1,"method":"a"}`, `1`},
		{"of one that is refused", `{"jsonrpc":"1.0","method":7, "id" : "x" }`, `"x"`},
		{"of one that breaks off", `{"id":"x","params":{"a`, `"x"`},
		{"of one that is nested too deep", `{"params":` + nest(2*MaxDepth) + `,"id":-1.5}`, `-1.5`},
		{"the first of two", `{"id":1,"id":2}`, `1`},
		{"not one deeper down", `{"params":{"id":1}}`, ``},
		{"not one in a string", `{"a":"\"id\":1"}`, ``},
		{"not one behind what cannot be read", `{"a" 1,"id":1}`, ``},
		{"not one that is cut", `{"id":12`, ``},
		{"not null", `{"id":null,"a":1}`, ``},
		{"not an object", `{"id":{},"a":1}`, ``},
		{"not a word", `{"id":true,"a":1}`, ``},
		{"not a number with something behind it", `{"id":1x,"a":1}`, ``},
		{"nor with a zero before it", `{"id":01,"a":1}`, ``},
		{"not a string with a control character", "{\"id\":\"\t\",\"a\":1}", ``},
		{"nor with invalid UTF-8", "{\"id\":\"\xff\",\"a\":1}", ``},
		{"not of a batch", `[{"id":1}]`, ``},
		{"not of nothing", ``, ``},
	} {
		if got := string(LooseID([]byte(story.text))); got != story.want {
			t.Errorf("%s: %q, want %q", story.says, got, story.want)
		}
	}
}

// members is what encoding/json sees in an object: keys as they are spelled,
// keys as they are meant, values.
func members(object []byte) (spelled, names []string, values []json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.Token()
	for d.More() {
		from := d.InputOffset()
		token, _ := d.Token()
		spelled = append(spelled, strings.Trim(string(object[from:d.InputOffset()]), " \t\r\n,"))
		names = append(names, token.(string))
		var value json.RawMessage
		d.Decode(&value)
		values = append(values, value)
	}
	return spelled, names, values
}

func FuzzFields(f *testing.F) {
	r := texts{sample.Random(sample.Seed(f), 8)}
	for range 50 {
		f.Add([]byte(r.value(4)), "a", "id")
	}
	f.Add([]byte(`{"a":"\\\"","b":[{"a":1}],"A":2}`), "a", "b")
	f.Fuzz(func(t *testing.T, text []byte, one, two string) {
		var values [2][]byte
		err := Fields(text, values[:], one, two) // must not panic, whatever it is
		if end, scanErr := scanValue(text, 0, nil); scanErr != nil || skipSpace(text, end) != len(text) || !utf8.Valid(text) {
			return // Scan lets no such text through
		}
		if strings.ContainsAny(one+two, `"\`) || !utf8.ValidString(one+two) {
			return // no key we look for
		}
		switch bytes.TrimLeft(text, " \t\r\n")[0] {
		case '[':
			var want []json.RawMessage
			json.Unmarshal(text, &want)
			var got []json.RawMessage
			if err := Elements(text, func(e []byte) { got = append(got, e) }); err != nil || fmt.Sprintf("%s", got) != fmt.Sprintf("%s", want) {
				t.Errorf("%q has the elements %q, want %q (%v)", text, got, want, err)
			}
		case '{':
			compareFields(t, text, values[:], err, one, two)
		default:
			if err != nil || values[0] != nil || values[1] != nil {
				t.Errorf("%q has fields %q, %v", text, values, err)
			}
		}
	})
}

func compareFields(t *testing.T, text []byte, values [][]byte, err error, keys ...string) {
	t.Helper()
	spelled, names, found := members(text)
	ambiguous := false
	for k, key := range keys {
		var want []byte
		for i := range names {
			switch {
			case spelled[i] == `"`+key+`"`:
				ambiguous = ambiguous || want != nil
				want = found[i]
			case strings.EqualFold(names[i], key):
				ambiguous = true
			}
		}
		if err == nil && !bytes.Equal(values[k], want) {
			t.Errorf("%q: %q is %q, want %q", text, key, values[k], want)
		}
	}
	if ambiguous != (err != nil) {
		t.Errorf("%q: %q: ambiguous %v, error %v", text, keys, ambiguous, err)
	}
}
