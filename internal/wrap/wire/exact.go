package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// DecodeExact decodes a JSON object from a stranger into a struct. Its members are those that have the
// exact names of the struct's json tags: encoding/json would also accept AUD for aud. A name that
// occurs twice is an error, because readers would disagree on it. Objects within members are decoded
// as encoding/json does.
func DecodeExact(text []byte, into any) error {
	members, err := membersOf(text)
	if err != nil {
		return err
	}
	for field, value := range reflect.ValueOf(into).Elem().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		raw, ok := members[name]
		if name == "" || name == "-" || !ok {
			continue
		}
		if err := json.Unmarshal(raw, value.Addr().Interface()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// membersOf returns the members of a JSON object whose names are unique.
func membersOf(text []byte) (map[string]json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	members := map[string]json.RawMessage{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name := token.(string) // in an object, what is not a name is an error
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("duplicate key %q", name)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		members[name] = value
	}
	if _, err := decoder.Token(); err != nil { // the closing brace
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("unexpected text after the JSON object")
	}
	return members, nil
}
