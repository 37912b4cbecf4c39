package breakable

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// tool is one row of the table.
type tool struct {
	name     string
	readOnly bool
	schema   string
	about    string
	run      func(*server, arguments) (text string, err error)
}

var tools = []tool{
	{"echo", true, `{"type":"object","properties":{"text":{"type":"string"}}}`,
		"returns text", (*server).echo},
	{"append", false, `{"type":"object","properties":{"key":{"type":"string"},"value":{"type":"string"}},"required":["key"]}`,
		"adds key to the ledger", (*server).append},
	{"forecast", true, forecastSchema,
		"returns the weather if the arguments match the schema exactly", (*server).forecast},
	{"sleep", true, `{"type":"object","properties":{"ms":{"type":"integer"}},"required":["ms"]}`,
		"responds after `ms` milliseconds", (*server).sleep},
	{"busy", true, `{"type":"object","properties":{"ms":{"type":"integer"}},"required":["ms"]}`,
		"keeps the CPU busy for `ms` milliseconds", (*server).busy},
	{"stray", true, `{"type":"object","properties":{"kind":{"type":"string","enum":["banner","ansi"]}},"required":["kind"]}`,
		"prints a line that is not a message, then responds", (*server).stray},
	{"die", false, `{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}`,
		"adds key to the ledger and kills the server", (*server).die},
	{"die_read", true, `{"type":"object","properties":{"key":{"type":"string"},"times":{"type":"integer"}},"required":["times"]}`,
		"kills the server, at most `times` times for each key", (*server).dieRead},
}

// forecastSchema is a strict schema, which models get wrong in many ways.
const forecastSchema = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":14},` +
	`"units":{"type":"string","enum":["celsius","fahrenheit"]},"tags":{"type":"array","items":{"type":"string"}}},` +
	`"required":["city","days"],"additionalProperties":false}`

// listed returns the tools as tools/list has them.
func listed() (all []map[string]any) {
	for _, t := range tools {
		all = append(all, map[string]any{
			"name": t.name, "description": t.about, "inputSchema": json.RawMessage(t.schema),
			"annotations": map[string]bool{"readOnlyHint": t.readOnly},
		})
	}
	return all
}

// arguments are the arguments of all tools.
type arguments struct {
	Text  string   `json:"text"`
	Key   string   `json:"key"`
	MS    int      `json:"ms"`
	Kind  string   `json:"kind"`
	Times int      `json:"times"`
	City  string   `json:"city"`
	Days  int      `json:"days"`
	Units string   `json:"units"`
	Tags  []string `json:"tags"`
}

// call runs a tool. An error of the tool is a result, so that a model can read it.
func (s *server) call(params json.RawMessage) (result any, failure *rpcError) {
	var p struct {
		Name      string
		Arguments json.RawMessage
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &rpcError{Code: -32602, Message: err.Error()}
	}
	for _, t := range tools {
		if t.name != p.Name {
			continue
		}
		text, err := s.run(t, p.Arguments)
		if err != nil {
			text = err.Error()
		}
		return map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}, "isError": err != nil}, nil
	}
	return nil, &rpcError{Code: -32602, Message: fmt.Sprintf("unknown tool %q", p.Name)}
}

// run validates the arguments as most servers do, and fails with one opaque line.
func (s *server) run(t tool, raw json.RawMessage) (text string, err error) {
	var a arguments
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &a); err != nil {
			return "", err
		}
	}
	return t.run(s, a)
}

func (s *server) echo(a arguments) (string, error) { return a.Text, nil }

func (s *server) append(a arguments) (string, error) {
	return "appended " + a.Key, s.ledger.record("append", a.Key)
}

func (s *server) forecast(a arguments) (string, error) {
	return fmt.Sprintf("%s, %d days, %s: rain", a.City, a.Days, cmp.Or(a.Units, "celsius")), nil
}

func (s *server) sleep(a arguments) (string, error) {
	time.Sleep(time.Duration(a.MS) * time.Millisecond)
	return "slept", nil
}

func (s *server) busy(a arguments) (string, error) {
	for until := time.Now().Add(time.Duration(a.MS) * time.Millisecond); time.Now().Before(until); {
	}
	return "no longer busy", nil
}

// strays are lines that servers print on stdout although only messages belong there.
var strays = map[string]string{
	"banner": "Server started on stdio, have a nice day\n",
	"ansi":   "\x1b[32m⠋\x1b[0m installing\r\x1b[2K\x1b[32m✔\x1b[0m ready\n",
}

func (s *server) stray(a arguments) (string, error) {
	_, err := io.WriteString(s.out, strays[a.Kind])
	return "strayed", err
}

func (s *server) die(a arguments) (string, error) {
	if err := s.ledger.record("die", a.Key); err != nil {
		return "", err
	}
	return "", kill()
}

func (s *server) dieRead(a arguments) (string, error) {
	if s.ledger.count("die_read", a.Key) >= a.Times {
		return "survived " + a.Key, nil
	}
	if err := s.ledger.record("die_read", a.Key); err != nil {
		return "", err
	}
	return "", kill()
}

// kill kills this process. It returns only an error.
func kill() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := self.Kill(); err != nil {
		return err
	}
	for { // the signal may be delayed
		time.Sleep(time.Hour)
	}
}
