package faultyserver

import (
	"fmt"
	"io"
	"strings"
)

// Tools whose responses the protocol does not allow.

// raw responds with exactly the given result, byte for byte.
func (c *call) raw() { c.s.reply(c.id, c.args.Result) }

// duplicate responds n times. The responses differ, so that a test sees which one arrived.
func (c *call) duplicate() {
	for i := range max(2, c.args.N) {
		c.say(fmt.Sprintf("answer %d", i+1))
	}
}

// wrongIDs maps a kind to a wrong form of an id.
var wrongIDs = map[string]func(id string) string{
	"unknown": func(string) string { return `"id":999999,` },
	"string":  func(id string) string { return `"id":` + quote(strings.Trim(id, `"`)) + `,` },
	"number":  func(id string) string { return `"id":` + digitsOf(id) + `,` },
	"float":   func(id string) string { return `"id":` + digitsOf(id) + `.0,` },
	"null":    func(string) string { return `"id":null,` },
	"missing": func(string) string { return `` },
	"object":  func(id string) string { return `"id":{"id":` + id + `},` },
}

// digitsOf returns the number at the end of an id: 7 for 7, "7" and "g1-7".
func digitsOf(id string) string {
	id = strings.Trim(id, `"`)
	digits := strings.TrimLeft(id[1+strings.LastIndexFunc(id, func(r rune) bool { return r < '0' || r > '9' }):], "0")
	if digits == "" {
		return "0"
	}
	return digits
}

// wrongID responds with an id that is not that of the request. With then, the right response
// follows.
func (c *call) wrongID() {
	kind := c.args.Kind
	if kind == "" {
		kind = "unknown"
	}
	bend, ok := wrongIDs[kind]
	if !ok {
		c.fail(fmt.Sprintf("invalid kind %q: must be one of %s", kind, strings.Join(namesOf(wrongIDs), ", ")))
		return
	}
	c.s.out.send([]byte(`{"jsonrpc":"2.0",` + bend(string(c.id)) + `"result":` + complete(textResult("wrong id", false), c.modern) + `}`))
	if c.args.Then {
		c.say("right id")
	}
}

func (c *call) both() {
	c.s.out.send([]byte(`{"jsonrpc":"2.0","id":` + string(c.id) + `,"result":` + complete(textResult("a result", false), c.modern) +
		`,"error":{"code":-32603,"message":"and an error"}}`))
}

func (c *call) neither() { c.s.out.send([]byte(`{"jsonrpc":"2.0","id":` + string(c.id) + `}`)) }

// batch responds in an array, together with a notification.
func (c *call) batch() {
	c.s.out.send([]byte(`[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"in a batch"}},` +
		c.envelope(string(c.id), textResult("batched", false)) + `]`))
}

// unknownFields returns a result from a later version: unknown fields, numbers that float64 cannot
// represent, and escapes that must not change.
func (c *call) unknownFields() {
	c.answer(`{"content":[{"type":"text","text":"caf\u00e9 \ud83e\ude79 \u003ctag\u003e","futureField":{"deep":[1,{"x":null}]}},` +
		`{"type":"hologram","data":"unknown content type"}],` +
		`"structuredContent":{"big":12345678901234567890,"huge":1e400,"tiny":-0.0,"long":0.1000000000000000055511151231257827,"z":1,"a":2},` +
		`"futureTopLevel":{"k":[true,false,null]},"isError":false}`)
}

// invalidUTF8 responds with a byte that never occurs in UTF-8.
func (c *call) invalidUTF8() { c.answer(`{"content":[{"type":"text","text":"caf` + "\xff" + `"}]}`) }

// notifyRaw writes the given message as a line and then responds.
func (c *call) notifyRaw() {
	c.s.out.send([]byte(c.args.Message))
	c.say("sent")
}

// stray writes one of the stray lines and then responds.
func (c *call) stray() {
	text, ok := strays[c.args.Kind]
	if !ok {
		c.fail(fmt.Sprintf("invalid kind %q: must be one of %s", c.args.Kind, strings.Join(strayNames(), ", ")))
		return
	}
	c.s.out.writeRaw([]byte(text))
	c.say("strayed")
}

// big responds with n bytes of text.
func (c *call) big() {
	c.answer(`{"content":[{"type":"text","text":"` + strings.Repeat("x", max(0, c.args.N)) + `"}]}`)
}

// deep responds with arrays nested n deep.
func (c *call) deep() {
	n := max(0, c.args.N)
	c.answer(`{"content":[],"structuredContent":{"deep":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}}`)
}

// wide responds with n keys in one object.
func (c *call) wide() {
	var b strings.Builder
	b.WriteString(`{"content":[],"structuredContent":{"last":0`)
	for i := range c.args.N {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	c.answer(b.String() + `}}`)
}

// endless writes a line that does not end: n bytes of it, or without limit.
func (c *call) endless() {
	chunk := []byte(strings.Repeat("x", 4096))
	c.s.out.writeAlone(func(w io.Writer) {
		for written := 0; c.args.N == 0 || written < c.args.N; written += len(chunk) {
			if left := c.args.N - written; c.args.N > 0 && left < len(chunk) {
				chunk = chunk[:left]
			}
			if _, err := w.Write(chunk); err != nil || c.args.N == 0 && c.ctx.Err() != nil {
				return
			}
		}
	})
	<-c.ctx.Done()
}

// drip writes its response n bytes at a time (default 1), with an interval in between.
func (c *call) drip() {
	line := c.envelope(string(c.id), textResult(c.args.Text, false)) + "\n"
	step := max(1, c.args.N)
	c.s.out.writeAlone(func(w io.Writer) {
		for line != "" {
			k := min(step, len(line))
			if _, err := io.WriteString(w, line[:k]); err != nil || !c.wait(millis(c.args.IntervalMS)) {
				return
			}
			line = line[k:]
		}
	})
}

// writeStderr writes the message to stderr unaltered.
func (c *call) writeStderr() {
	_, _ = io.WriteString(c.s.stderr, c.args.Message)
	c.say("spoken")
}
