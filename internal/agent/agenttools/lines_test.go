package agenttools

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// wired is a server of ours, spoken to by the byte.
type wired struct {
	t       *testing.T
	to      *io.PipeWriter
	answers *bufio.Reader
	ended   chan error
}

func newWire(t *testing.T) *wired {
	dir := t.TempDir()
	in, to := io.Pipe()
	from, out := io.Pipe()
	w := &wired{t: t, to: to, answers: bufio.NewReader(from), ended: make(chan error, 1)}
	home := clientconfig.Home{OS: "linux", Home: dir, Project: filepath.Join(dir, "project")}
	go func() {
		w.ended <- Serve(t.Context(), in, out, Options{Fleet: &fleet.Fleet{
			Home: home, Store: backup.Store{Dir: filepath.Join(dir, "state")}, Machine: doctor.ThisMachine(), Gauze: "gauze", Version: "test"}})
		out.Close()
	}()
	return w
}

// say sends bytes as they are, until they are read.
func (w *wired) say(text string) { _, _ = io.WriteString(w.to, text) }

// hear is the next answer: its id and the code of its error.
func (w *wired) hear() (id string, code int) {
	w.t.Helper()
	line, err := w.answers.ReadBytes('\n')
	if err != nil {
		select {
		case err = <-w.ended:
		default:
		}
		w.t.Fatalf("no answer: %v", err)
	}
	var answer struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   struct{ Code int }
	}
	if err := json.Unmarshal(line, &answer); err != nil || answer.Version != "2.0" {
		w.t.Fatalf("%v: %s", err, line)
	}
	return string(answer.ID), answer.Error.Code
}

func TestNoLineEndsTheServer(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	w.say(`{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	if id, code := w.hear(); id != `"first"` || code != 0 {
		t.Fatal(id, code)
	}
	const parse, invalid = -32700, -32600
	for n, c := range []struct {
		line string
		id   string
		code int // 0: no answer
	}{
		{line: `{bad`, id: "null", code: parse},
		{line: `{"jsonrpc":"2.0","id":1,"method":"pi`, id: "null", code: parse},
		{line: `{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}`, id: "null", code: parse},
		{line: "\x00\xff\xfe", id: "null", code: parse},
		{line: strings.Repeat("[", 20_000), id: "null", code: parse},
		{line: strings.Repeat("a", 16<<20+2), id: "null", code: parse},
		{line: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("a", 16<<20) + `"}}`, id: "null", code: parse},
		{line: ""}, {line: " \t\r"},
		{line: `1`, id: "null", code: invalid},
		{line: `null`, id: "null", code: invalid},
		{line: `"text"`, id: "null", code: invalid},
		{line: `[]`, id: "null", code: invalid},
		{line: `[1]`, id: "null", code: invalid},
		{line: `{}`, id: "null", code: invalid},
		{line: `{"jsonrpc":"1.0","id":7,"method":"ping"}`, id: "7", code: invalid},
		{line: `{"id":"a<b","method":"ping"}`, id: `"a\u003cb"`, code: invalid},
		{line: `{"jsonrpc":"2.0","id":{},"method":"ping"}`, id: "null", code: invalid},
		{line: `{"jsonrpc":"2.0","id":7,"method":5}`, id: "7", code: invalid},
		{line: `{"jsonrpc":"2.0","id":"nobody","result":{}}`},
		{line: `  {"jsonrpc":"2.0","id":"blanks","method":"ping"} ` + "\r", id: `"blanks"`},
		{line: `[{"jsonrpc":"2.0","id":"batch","method":"ping"}]`, id: `"batch"`},
	} {
		w.say(c.line + "\n")
		shown := c.line[:min(len(c.line), 60)]
		if c.id != "" {
			if id, code := w.hear(); id != c.id || code != c.code {
				t.Errorf("%q: answered to %s with %d, want %s and %d", shown, id, code, c.id, c.code)
			}
		}
		w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":"after %d","method":"ping"}`, n) + "\n")
		if id, code := w.hear(); id != fmt.Sprintf(`"after %d"`, n) || code != 0 {
			t.Fatalf("%q: then %s, %d", shown, id, code)
		}
	}
	// The last line may lack its end.
	w.say(`{"jsonrpc":"2.0","id":"last","method":"ping"}`)
	w.to.Close()
	if id, code := w.hear(); id != `"last"` || code != 0 {
		t.Error(id, code)
	}
	if err := <-w.ended; err != nil {
		t.Error(err)
	}
}
