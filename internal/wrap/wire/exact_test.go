package wire

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestDecodeExact(t *testing.T) {
	type document struct {
		Name   string          `json:"name"`
		Count  *int            `json:"count,omitempty"`
		Raw    json.RawMessage `json:"raw"`
		Hidden string          `json:"-"`
		Plain  string
	}
	one := 1
	for text, want := range map[string]document{
		`{}`: {},
		` { "name" : "a" , "count" : 1 , "raw" : { "b" : [ 2 ] } } `: {Name: "a", Count: &one, Raw: json.RawMessage(`{ "b" : [ 2 ] }`)},
		`{"n\u0061me":"a"}`: {Name: "a"},
		`{"Name":"a","COUNT":1,"Plain":"p","plain":"p","-":"h","":"e","x":{"name":"b"}}`: {},
		`{"name":null,"count":null}`:                     {},
		`{"raw":{"x":1,"x":2}}`:                          {Raw: json.RawMessage(`{"x":1,"x":2}`)},
		`{"name":"a","Name":"b","NAME":"c","ſname":"d"}`: {Name: "a"},
	} {
		var got document
		if err := DecodeExact([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		``, `null`, `"a"`, `[]`, `[{"name":"a"}]`, `{`, `{"name"`, `{"name":}`, `{"name":"a"`, `{"name":"a",}`, `{"name":"a"}}`, `{"name":"a"} {}`, `{1:2}`, `{"name":"a" "x":1}`,
		`{"name":"a","name":"a"}`, `{"name":"a","n\u0061me":"b"}`, `{"x":1,"x":1}`, `{"name":7}`, `{"count":"1"}`,
	} {
		if err := DecodeExact([]byte(text), &document{}); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}
