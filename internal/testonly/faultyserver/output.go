package faultyserver

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"unicode/utf16"
)

// output is the only writer of stdout. A message is a single write call, so that a killed server
// leaves whole lines unless a fault asks for half of one.
type output struct {
	mu     sync.Mutex
	w      io.Writer
	each   string   // written before every message
	shape  []string // alterations of messages, in order
	silent bool     // wedged: nothing more is written
}

// shapes maps a kind to a function that turns a message without newline into the bytes to write.
var shapes = map[string]func(line []byte) []byte{
	"crlf":   func(b []byte) []byte { return append(b[:len(b)-1], '\r', '\n') },
	"pretty": pretty,
	"glued":  func(b []byte) []byte { return append([]byte("2026-10-01 INFO "), b...) },
	"twin": func(b []byte) []byte {
		return append([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":"twin"}}`), b...)
	},
	"bom":       func(b []byte) []byte { return append([]byte("\xEF\xBB\xBF"), b...) },
	"spaces":    func(b []byte) []byte { return append([]byte(" \t "), b...) },
	"nul":       func(b []byte) []byte { return append(b[:len(b)-1], 0, '\n') },
	"utf16":     toUTF16,
	"nonl":      func(b []byte) []byte { return b[:len(b)-1] },
	"idlast":    idLast,
	"noversion": func(b []byte) []byte { return bytes.Replace(b, []byte(`"jsonrpc":"2.0",`), nil, 1) },
}

func shapeNames() []string { return namesOf(shapes) }

func pretty(line []byte) []byte {
	var out bytes.Buffer
	if json.Indent(&out, line, "", "  ") != nil {
		return line
	}
	return out.Bytes()
}

// idLast moves the id to the end of a response, as the TypeScript SDK does.
func idLast(line []byte) []byte {
	rest, ok := bytes.CutPrefix(line, []byte(`{"jsonrpc":"2.0","id":`))
	id, rest, found := bytes.Cut(rest, []byte(","))
	if !ok || !found || bytes.HasPrefix(rest, []byte(`"method"`)) {
		return line
	}
	out := append([]byte("{"), bytes.TrimSuffix(rest, []byte("}\n"))...)
	return append(append(append(out, `,"jsonrpc":"2.0","id":`...), id...), "}\n"...)
}

func toUTF16(line []byte) []byte {
	var out []byte
	for _, u := range utf16.Encode([]rune(string(line))) {
		out = append(out, byte(u), byte(u>>8))
	}
	return out
}

// send writes one message as a line. It ignores write errors: a server whose client is gone notices
// it at the end of stdin.
func (o *output) send(message []byte) {
	line := make([]byte, 0, len(message)+1)
	line = append(append(line, message...), '\n')
	for _, name := range o.shape {
		line = shapes[name](line)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.silent {
		return
	}
	if o.each != "" {
		line = append([]byte(o.each), line...)
	}
	_, _ = o.w.Write(line)
}

// writeRaw writes bytes unaltered and without a newline.
func (o *output) writeRaw(b []byte) { o.writeAlone(func(w io.Writer) { _, _ = w.Write(b) }) }

// writeAlone passes the writer to f. Nothing else is written until f returns; f may also end the
// process, so that nothing follows.
func (o *output) writeAlone(f func(w io.Writer)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.silent {
		f(o.w)
	}
}

// silence makes the last message the last one ever. The server keeps running without writing.
func (o *output) silence() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.silent = true
}
