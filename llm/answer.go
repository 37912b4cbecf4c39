package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
)

// Limits of an answer.
const (
	maxSchema = 256 << 10 // bytes of a question's schema
	maxAnswer = 256 << 10 // bytes of a model's text
	maxProse  = 500       // bytes of text around the JSON
	maxDepth  = 200       // nested objects and arrays
	maxDigits = 400       // characters of a number, and its exponent
)

// answerSchema is the compiled schema of a question.
type answerSchema struct{ schema *jsonschema.Schema }

// compileSchema compiles the schema of a question. It loads nothing: the schema may quote text from
// elsewhere.
func compileSchema(raw json.RawMessage) (s answerSchema, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("invalid answer schema: %v", problem)
		}
	}()
	if len(raw) > maxSchema {
		return s, fmt.Errorf("invalid answer schema: must be at most %d bytes", maxSchema)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return s, fmt.Errorf("invalid answer schema: %w", err)
	}
	if _, ok := doc.(map[string]any); !ok {
		return s, errors.New("invalid answer schema: must be an object")
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource("gauze:///answer", doc); err != nil {
		return s, fmt.Errorf("invalid answer schema: %w", err)
	}
	if s.schema, err = compiler.Compile("gauze:///answer"); err != nil {
		return s, fmt.Errorf("invalid answer schema: %w", err)
	}
	return s, nil
}

// noLoader keeps references from being loaded.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("schemas in other documents are not loaded")
}

// read returns the one JSON object in a model's text. The error says what is wrong with it.
func (s answerSchema) read(text string) (answer json.RawMessage, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			answer, err = nil, errors.New("it cannot be validated")
		}
	}()
	answer, err = oneObject(text)
	if err != nil {
		return nil, err
	}
	if err := unambiguous(answer); err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer))
	if err != nil {
		return nil, errors.New("it is not valid JSON")
	}
	if err := s.schema.Validate(value); err != nil {
		return nil, errors.New("it does not match the schema: " + mismatch(err))
	}
	return answer, nil
}

// mismatch returns the first reason why an answer does not match its schema.
func mismatch(err error) string {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return redact.Quote(err.Error())
	}
	for len(invalid.Causes) > 0 {
		invalid = invalid.Causes[0]
	}
	reason, _, _ := strings.Cut(invalid.Error(), "\n")
	return redact.Quote(strings.TrimPrefix(reason, "at '': ")) // the whole answer
}

// oneObject finds the one JSON object in a text: bare, in a code fence, or with a short sentence
// around it. The same object twice counts as one.
func oneObject(text string) (json.RawMessage, error) {
	switch {
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("it is longer than %d bytes", maxAnswer)
	case !utf8.ValidString(text):
		return nil, errors.New("it is not valid UTF-8")
	}
	rest, prose := withoutThoughts(strings.TrimSpace(text)), 0
	var found json.RawMessage
	for {
		before, _, ok := strings.Cut(rest, "{")
		if prose += len(before); prose > maxProse {
			return nil, errors.New("it is mostly text, not JSON")
		}
		if inArray(before, found != nil) || strings.Contains(before, "}") {
			return nil, errors.New("it is not a JSON object")
		}
		if !ok {
			break
		}
		rest = rest[len(before):]
		var object json.RawMessage
		decoder := json.NewDecoder(strings.NewReader(rest))
		if err := decoder.Decode(&object); err != nil {
			return nil, errors.New("it is not valid JSON")
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, object); err != nil {
			return nil, errors.New("it is not valid JSON")
		}
		if found != nil && !bytes.Equal(found, compact.Bytes()) {
			return nil, errors.New("it contains more than one JSON object")
		}
		found, rest = compact.Bytes(), rest[decoder.InputOffset():]
	}
	if found == nil {
		return nil, errors.New("it does not contain a JSON object")
	}
	return found, nil
}

// withoutThoughts drops the reasoning that some local models put before their answer. The tag that
// opens it may be part of the prompt.
func withoutThoughts(text string) string {
	if _, answer, ok := strings.Cut(text, "</think>"); ok && !strings.HasPrefix(text, "{") {
		return strings.TrimSpace(answer)
	}
	return text
}

// inArray reports whether the object after or before this text is an element of an array.
func inArray(between string, after bool) bool {
	between = strings.TrimSpace(between)
	return strings.HasSuffix(between, "[") || after && (strings.HasPrefix(between, "]") || strings.HasPrefix(between, ","))
}

// unambiguous rejects keys that occur twice in an object, and numbers that are expensive to compare.
// At the root, keys must also differ in more than case, because Go's decoder ignores it.
func unambiguous(object []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber()
	return uniqueKeys(decoder, 0)
}

// uniqueKeys reads one value.
func uniqueKeys(decoder *json.Decoder, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("it is nested more than %d levels deep", maxDepth)
	}
	token, err := decoder.Token()
	if err != nil {
		return errors.New("it is not valid JSON")
	}
	if number, ok := token.(json.Number); ok && isHuge(string(number)) {
		return errors.New("it contains a number that is too long or too large")
	}
	opening, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for decoder.More() {
		if opening == '{' {
			name, err := decoder.Token()
			if err != nil {
				return errors.New("it is not valid JSON")
			}
			key := name.(string)
			if depth == 0 {
				key = strings.ToLower(key)
			}
			if seen[key] {
				return fmt.Errorf("it contains the key %q twice", redact.Quote(key))
			}
			seen[key] = true
		}
		if err := uniqueKeys(decoder, depth+1); err != nil {
			return err
		}
	}
	_, err = decoder.Token()
	return err
}

// isHuge reports whether a number has very many digits, written out or not.
func isHuge(number string) bool {
	at := strings.IndexAny(number, "eE")
	if at < 0 {
		return len(number) > maxDigits
	}
	exponent, err := strconv.Atoi(number[at+1:])
	return at > maxDigits || err != nil || exponent > maxDigits || exponent < -maxDigits
}
