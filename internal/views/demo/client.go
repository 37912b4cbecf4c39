package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// client is a minimal MCP client. It does not expect failures.
type client struct {
	w     io.Writer
	tally *tally

	mu      sync.Mutex
	lastID  int
	waiting map[int]chan answer
	partial []byte
}

// answer is a response as the caller sees it.
type answer struct {
	tool    string
	text    string
	fault   string // gauze's fault code, empty if the server answered
	changes []change
	model   string // the model that corrected the call, empty if none did
}

// change is a receipt of a repaired call.
type change struct {
	Path, Rule    string
	Before, After json.RawMessage
}

// pending is a call in flight.
type pending struct {
	id     int
	tool   string
	answer chan answer
}

func newClient(w io.Writer, t *tally) *client {
	return &client{w: w, tally: t, waiting: map[int]chan answer{}}
}

// Write receives messages from gauze.
func (c *client) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.partial = append(c.partial, b...)
	for {
		at := bytes.IndexByte(c.partial, '\n')
		if at < 0 {
			return len(b), nil
		}
		c.take(c.partial[:at])
		c.partial = c.partial[at+1:]
	}
}

func (c *client) take(line []byte) {
	var m struct {
		ID     *int   `json:"id"`
		Method string `json:"method"`
		Result struct {
			Content []struct{ Text string }
			Meta    struct {
				Fault  struct{ Code string } `json:"io.github.gauze-mcp/fault"`
				Repair struct {
					Changes []change
					Model   string
				} `json:"io.github.gauze-mcp/repair"`
				Report json.RawMessage `json:"io.github.gauze-mcp/arguments"`
			} `json:"_meta"`
		} `json:"result"`
		Error *struct{ Message string }
	}
	if err := json.Unmarshal(line, &m); err != nil {
		c.tally.broke(fmt.Sprintf("the client received a line that is not a message: %.60q", line))
		return
	}
	if m.Method != "" || m.ID == nil {
		return
	}
	waiting := c.waiting[*m.ID]
	if waiting == nil {
		c.tally.broke(fmt.Sprintf("the client received a second or unsolicited response (id %d)", *m.ID))
		return
	}
	delete(c.waiting, *m.ID)
	a := answer{fault: m.Result.Meta.Fault.Code, changes: m.Result.Meta.Repair.Changes, model: m.Result.Meta.Repair.Model}
	if m.Error != nil {
		a.fault, a.text = "error", m.Error.Message
	} else if len(m.Result.Content) > 0 {
		a.text = m.Result.Content[0].Text
	}
	if blocks := m.Result.Content; m.Result.Meta.Report != nil && len(blocks) == 2 { // gauze's content follows the server's
		a.fault, a.text = "arguments-invalid", a.text+"\n"+blocks[1].Text
	}
	waiting <- a
}

func (c *client) send(method, params string) (chan answer, int, error) {
	c.mu.Lock()
	c.lastID++
	id := c.lastID
	result := make(chan answer, 1)
	c.waiting[id] = result
	c.mu.Unlock()
	_, err := fmt.Fprintf(c.w, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
	return result, id, err
}

// initialize opens the session.
func (c *client) initialize(ctx context.Context) error {
	for _, step := range []struct{ method, params string }{
		{"initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"gauze demo","version":"1"}}`},
		{"tools/list", `{}`},
	} {
		result, _, err := c.send(step.method, step.params)
		if err != nil {
			return err
		}
		select {
		case a := <-result:
			if a.fault != "" {
				return fmt.Errorf("%s: %s", step.method, a.text)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		if step.method == "initialize" {
			if _, err := io.WriteString(c.w, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
				return err
			}
		}
	}
	return nil
}

// start sends a tool call. key names its side effect, if it has one.
func (c *client) start(tool, arguments, key string) (*pending, error) {
	result, id, err := c.send("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
	if err != nil {
		return nil, err
	}
	c.tally.called(id, tool, key)
	return &pending{id: id, tool: tool, answer: result}, nil
}

// finish waits for the response.
func (c *client) finish(ctx context.Context, p *pending) (answer, error) {
	select {
	case a := <-p.answer:
		a.tool = p.tool
		c.tally.answered(p.id, a)
		return a, nil
	case <-ctx.Done():
		return answer{}, fmt.Errorf("no response to %s: %w", p.tool, ctx.Err())
	}
}
