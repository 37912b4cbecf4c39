package repair

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
)

// unreadDoubt is why a proposal is only shown if sent text is more or less than its arguments.
const unreadDoubt = "the arguments that were sent are not JSON, and the call differs from them in more than punctuation"

// readParts finds the values of the proposal, each after its own key, in sent text that cannot be read
// as a whole: it contains a second call, a schema or sentences. The proposal is only shown then. It is
// refused if the text has a value for a field that the proposal lacks or that cannot be compared.
func (g *closedGate) readParts() error {
	proposed, ok := g.proposed.(map[string]any)
	if !ok {
		return errReading
	}
	text := unfenced(unescapedLetters(g.text))
	found, sent := placesOf(text), map[string]any{}
	var used []places
	for name, node := range g.schema.properties(nil) {
		at := found[foldKey(name)].saying(node, text)
		if like, there := proposed[name]; there {
			at.read(text, like)
		}
		switch best := at.best(false); {
		case len(at) == 0:
		case best == nil || at.twice(text):
			return fmt.Errorf("%w: %s", errReading, field([]string{name}))
		default:
			sent[name], used = best.is, append(used, at)
		}
	}
	if !ofOneCall(used, false) && !ofOneCall(used, true) {
		return errReading
	}
	g.sent = sent
	g.raise(Shown)
	g.doubts(unreadDoubt)
	return nil
}

// place is where text has a key with a value.
type place struct {
	from, value int  // where the key begins, and where its value does
	is          any  // what the value is, read along the proposed one
	read, same  bool // it could be read, and is the proposed one
}

// places are those of one key, in the order of the text.
type places []place

var keyInText = regex.New(`(?:"([^"'\x60\\,:={}\[\]]+)"|'([^"'\x60\\,:={}\[\]]+)'|([\pL_][\pL\pN_.-]*))\s*[:=]`)

// placesOf returns where text has which key.
func placesOf(text string) map[string]places {
	found := map[string]places{}
	for _, at := range keyInText.FindAllStringSubmatchIndex(text, -1) {
		for i := 2; i < len(at); i += 2 {
			if at[i] >= 0 {
				name := foldKey(text[at[i]:at[i+1]])
				found[name] = append(found[name], place{from: at[0], value: at[1]})
			}
		}
	}
	return found
}

// saying returns the places with a value that can be meant for a key with a schema: neither nothing nor
// an object or array that it does not accept, as in a schema that was sent before the call.
func (list places) saying(node *jsonschema.Schema, text string) (saying places) {
	d := gather(node)
	for _, p := range list {
		value := strings.TrimLeft(text[p.value:], "\"'` \t\r\n")
		switch {
		case strings.HasPrefix(value, "{") && !d.accepts("object"), strings.HasPrefix(value, "[") && !d.accepts("array"):
		case !strings.HasPrefix(value, "{") && !strings.HasPrefix(value, "[") && isNothing(firstToken(value)):
		default:
			saying = append(saying, p)
		}
	}
	return saying
}

// firstToken returns text up to the next punctuation of JSON.
func firstToken(text string) string {
	if n := strings.IndexAny(text, endsOfBare+")"); n >= 0 {
		text = text[:n]
	}
	return strings.TrimSpace(text)
}

// read reads the values along a proposed one.
func (list places) read(text string, like any) {
	for i := range list {
		r := textReader{text: text, at: list[i].value, inCall: true}
		list[i].is, list[i].read = r.value(like)
		list[i].same = list[i].read && bytes.Equal(encode(list[i].is, nil), encode(like, nil))
	}
}

// best returns the first or last place with the proposed value, or else the first that could be read.
func (list places) best(last bool) (found *place) {
	for i := range list {
		p := &list[i]
		isBetter := p.same && (last || found == nil || !found.same)
		if isBetter || p.read && found == nil {
			found = p
		}
	}
	return found
}

// twice reports whether an object has the key twice.
func (list places) twice(text string) bool {
	for i := 1; i < len(list); i++ {
		if !strings.ContainsAny(text[list[i-1].value:list[i].from], "})") {
			return true
		}
	}
	return false
}

// ofOneCall reports whether the best places of several keys are those of one call: no key has another
// value between them.
func ofOneCall(keys []places, last bool) bool {
	var at []int
	for _, list := range keys {
		at = append(at, list.best(last).from)
	}
	return !slices.ContainsFunc(keys, func(list places) bool {
		between := func(p place) bool { return p.from >= slices.Min(at) && p.from <= slices.Max(at) }
		first := slices.IndexFunc(list, between)
		return first >= 0 && slices.ContainsFunc(list[first+1:], between)
	})
}

// isInText reports whether text contains a value, and not as a part of a longer one.
func isInText(text string, value any) bool {
	switch v := value.(type) {
	case string:
		return v != "" && hasWord(text, v)
	case json.Number:
		return slices.ContainsFunc(numberInText.FindAllString(text, -1), func(found string) bool {
			n, ok := number(strings.TrimRight(found, "."))
			return ok && exactNumber(n, v)
		})
	}
	return false
}

var numberInText = regex.New(`[\pL_]*-?\d[\pL\d_.]*`)
