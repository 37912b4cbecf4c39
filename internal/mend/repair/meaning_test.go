package repair

import "testing"

// TestMeaningIsKeptForWrites has proposals whose values all come from the caller or the schema, and
// that mean something else. None of them may be sent to a tool that writes.
func TestMeaningIsKeptForWrites(t *testing.T) {
	schema := func(required, properties string) string {
		return `{"type":"object","properties":{"id":{"type":"integer"},` + properties + `},"required":[` + required + `],"additionalProperties":false}`
	}
	const (
		text   = `{"type":"string"}`
		number = `{"type":"integer"}`
		matrix = `{"type":"array","items":{"type":"array","items":{"type":"integer"}}}`
		path   = `{"type":"object","properties":{"path":{"type":"string"}}}`
	)
	for _, tt := range []struct{ name, schema, sent, proposed string }{
		// Valid values that are empty or the default say something.
		{"empty string left out", schema(``, `"assignee":`+text), `{"id":"5","assignee":""}`, `{"id":5}`},
		{"null left out", schema(``, `"assignee":{"type":["string","null"]}`), `{"id":"5","assignee":null}`, `{"id":5}`},
		{"word left out", schema(``, `"title":`+text), `{"id":"5","title":"None"}`, `{"id":5}`},
		{"empty array left out", schema(``, `"labels":{"type":"array"}`), `{"id":"5","labels":[]}`, `{"id":5}`},
		{"empty object left out", schema(``, `"meta":{"type":"object"}`), `{"id":"5","meta":{}}`, `{"id":5}`},
		{"empty array in JSON text left out", schema(``, `"d":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"array"}}}`), `{"d":"{\"a\":1,\"b\":[]}"}`, `{"d":{"a":1}}`},
		{"default left out", schema(``, `"state":{"type":"string","default":"open"}`), `{"id":"5","state":"open"}`, `{"id":5}`},
		{"null in a row left out", schema(``, `"row":{"type":"array","items":{"type":["string","null"]}}`), `{"id":"5","row":["a",null,"b"]}`, `{"id":5,"row":["a","b"]}`},
		// Places.
		{"keys that are numbers", schema(``, `"y":{"type":"object","properties":{"1":`+number+`,"2":`+number+`,"3":`+number+`}}`), `{"id":"5","y":{"1":7,"2":8}}`, `{"id":5,"y":{"2":7,"3":8}}`},
		{"rows of a matrix", schema(``, `"m":`+matrix), `{"id":"5","m":[[1,2],[3,4]]}`, `{"id":5,"m":[[1,2,3],[4]]}`},
		{"rows joined", schema(``, `"m":`+matrix), `{"id":"5","m":[[1,2],[3,4]]}`, `{"id":5,"m":[[1,2,3,4]]}`},
		{"list of a different item", schema(``, `"items":{"type":"array","items":{"type":"object","properties":{"name":`+text+`,"tags":{"type":"array","items":`+text+`}}}}`),
			`{"id":"5","items":[{"name":"a","tags":["x"]},{"name":"b"}]}`, `{"id":5,"items":[{"name":"a"},{"name":"b","tags":["x"]}]}`},
		{"different object", schema(``, `"delete":`+path), `{"keep":{"path":"/x"}}`, `{"delete":{"path":"/x"}}`},
		{"one of two objects", schema(``, `"src":`+path+`,"dst":`+path), `{"path":"/x"}`, `{"dst":{"path":"/x"}}`},
		{"different name", schema(`"user_id"`, `"user_id":`+number), `{"limit":5}`, `{"user_id":5}`},
		{"name with a word in common", schema(`"user_id"`, `"user_id":`+number), `{"user_limit":5}`, `{"user_id":5}`},
		{"fee as amount", schema(`"to","amount"`, `"to":`+text+`,"amount":{"type":"number"}`), `{"to":"x","fee":5}`, `{"to":"x","amount":5}`},
		// Forms.
		{"spelling changed with the key", schema(``, `"filename":`+text), `{"file_name":"My-File"}`, `{"filename":"my_file"}`},
		{"trimmed with the key", schema(``, `"text":`+text), `{"Text":" a "}`, `{"text":"a"}`},
		{"notation of a date changed with the key", schema(``, `"text":`+text), `{"Text":"March 1, 2024"}`, `{"text":"2024-03-01"}`},
		{"minus", schema(``, `"n":{"type":"integer","description":"minus or plus"}`), `{"n":"minus 5"}`, `{"n":5}`},
		{"limit", schema(``, `"n":{"type":"integer","description":"at most this number"}`), `{"n":"at most 5"}`, `{"n":5}`},
		{"unit that the description excludes", schema(``, `"n":{"type":"integer","description":"Timeout in seconds (not minutes)"}`), `{"n":"5 minutes"}`, `{"n":5}`},
		{"arithmetic that loses precision", schema(``, `"n":`+number), `{"n":"9007199254740993 + 0"}`, `{"n":9007199254740992}`},
		{"comma in a name", schema(``, `"to":{"type":"array","items":`+text+`}`), `{"to":"Smith, John"}`, `{"to":["Smith","John"]}`},
		{"choice without its separator", schema(``, `"do":{"enum":["resign","stay"]}`), `{"do":"re-sign"}`, `{"do":"resign"}`},
		{"choice of a different unit", schema(``, `"unit":{"enum":["Mbps","kbps"]}`), `{"unit":"MBps"}`, `{"unit":"Mbps"}`},
		// Values of the schema.
		{"default for a word that refuses it", schema(`"notify"`, `"notify":{"enum":["email","sms"],"default":"email"}`), `{"notify":"none"}`, `{"notify":"email"}`},
		{"consent", schema(`"confirm"`, `"confirm":{"const":true}`), `{"id":"5"}`, `{"id":5,"confirm":true}`},
		{"consent by default", schema(`"force"`, `"force":{"type":"boolean","default":true}`), `{"id":"5"}`, `{"id":5,"force":true}`},
	} {
		p, err := Compile([]byte(tt.schema)).Propose([]byte(tt.sent), []byte(tt.proposed), ProposeOptions{})
		if err == nil && p.Tier <= Told && !p.Touched {
			t.Errorf("%s: %s may be sent for %s", tt.name, p.Arguments, tt.sent)
		}
	}
}
