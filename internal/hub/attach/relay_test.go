package attach_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/hub/attach"
)

// A client whose gauze up is killed gets one error for each open request, and no second response.
func TestOpenRequestsOfAKilledGauzeUp(t *testing.T) {
	p := place(t)
	conn, from, up, _ := standin(t, p)
	messages := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
		`{"jsonrpc":"2.0","id":"a\"b","method":"tools/call","params":{"name":"pay","arguments":{"id":7,"method":"x"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`[{"id":3,"method":"ping"},{"id":4,"result":{"id":5,"method":"no"}}]`,
		`{"params":{"requestId":3,"reason":"late"},"method":"notifications/cancelled"}`,
		`{"id":6,"method":"tools/list","jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":1,"result":{"id":6}}`, // comes back as the response to the first
	}, "\n") + "\n"
	in, client := io.Pipe()
	defer client.Close()
	out := &killing{after: len(messages), kill: func() { up.Kill() }}
	go io.WriteString(client, messages)
	// The stand-in sends back what it gets: requests, which answer nothing, and one response.
	err := attach.Relay(conn, in, out)
	if _, err := from.ReadByte(); err == nil {
		t.Error("the connection is still open")
	}
	if err == nil || !strings.Contains(err.Error(), "2 open requests") {
		t.Errorf("%v", err)
	}
	added, ok := strings.CutPrefix(out.String(), messages)
	if !ok {
		t.Fatalf("got %q", out.String())
	}
	var ids []string
	for line := range strings.Lines(added) {
		var m struct {
			ID    json.RawMessage
			Error struct {
				Code int
				Data json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if f := fault.Parse(m.Error.Data); f == nil || f.Code != fault.OutcomeUnknown || m.Error.Code != f.RPCCode() {
			t.Errorf("%s", line)
		}
		ids = append(ids, string(m.ID))
	}
	if got := strings.Join(ids, " "); got != `"a\"b" 6` {
		t.Errorf("answered %s", got)
	}
}

// killing is a client's stdout. It calls kill after as many bytes.
type killing struct {
	bytes.Buffer
	after int
	kill  func()
}

func (k *killing) Write(p []byte) (int, error) {
	n, err := k.Buffer.Write(p)
	if k.Len() == k.after {
		k.kill()
	}
	return n, err
}

// A message that was cut off does not make the errors unreadable.
func TestAMessageIsCutOff(t *testing.T) {
	p := place(t)
	conn, _, up, _ := standin(t, p)
	messages := `{"id":1,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":1,"resu`
	in, client := io.Pipe()
	defer client.Close()
	out := &killing{after: len(messages), kill: func() { up.Kill() }}
	go io.WriteString(client, messages)
	attach.Relay(conn, in, out)
	lines := strings.Split(strings.TrimPrefix(out.String(), messages), "\n")
	if len(lines) != 3 || lines[0] != "" || !json.Valid([]byte(lines[1])) || lines[2] != "" {
		t.Errorf("%q", lines)
	}
}

// A session that gauze up ends is not an error, and its output is the server's, byte for byte.
func TestARelayedSession(t *testing.T) {
	p := place(t)
	listen(t, p, echo)
	var out bytes.Buffer
	text := "{\"id\":1}\r\n\n  not JSON \x00\xff\n[[[\"" + strings.Repeat("x", 100_000) + "\n{\"no newline\":"
	if err := attach.Relay(dial(t, p, attach.Hello{}), strings.NewReader(text), &out); err != nil || out.String() != text {
		t.Errorf("%v: %d bytes came back, want %d", err, out.Len(), len(text))
	}
}
