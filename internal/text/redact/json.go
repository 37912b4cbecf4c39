package redact

import (
	"bytes"
	"encoding/json"
)

// JSON returns a JSON value without secrets: text makes every string safe, such as Quote, and the
// values of members whose name suggests a secret are removed. What is not JSON becomes a string.
func JSON(raw json.RawMessage, text func(string) string) json.RawMessage {
	if raw == nil {
		return nil
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		value = string(raw)
	}
	var safe bytes.Buffer
	encoder := json.NewEncoder(&safe)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(safeValue(value, text)) != nil {
		return nil // cannot happen: the value was decoded from JSON
	}
	return bytes.TrimSpace(safe.Bytes())
}

// safeValue is JSON for a decoded value.
func safeValue(value any, text func(string) string) any {
	switch v := value.(type) {
	case string:
		return text(v)
	case []any:
		for i := range v {
			v[i] = safeValue(v[i], text)
		}
	case map[string]any:
		safe := make(map[string]any, len(v))
		for name, member := range v {
			if value, ok := member.(string); ok && NamesSecret(name, value) {
				member = Redacted
			}
			safe[text(name)] = safeValue(member, text)
		}
		return safe
	}
	return value
}
