//go:build linux

package realtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// script is a language model that makes the calls a test wants, one after the other, in the wire format of its client.
type script struct {
	prefix  string // prefix begins the names of the server's tools, as the model sees them.
	wanted  chan call
	results chan string
	meet    func(tools []string) // meet, unless nil, is called with the tools of each request, and no call is made.

	mu      sync.Mutex
	made    int      // made counts the answers: clients merge those that have the same id.
	offered []string // offered has the names of the server's tools in the last request.
}

func newScript(prefix string) *script {
	return &script{prefix: prefix, wanted: make(chan call), results: make(chan string)}
}

// codexAgain is how often Codex is started again if it did not offer its model any tools. In some sessions Codex 0.166.0 sends
// its only request without them: 4 of 40 with a server that it starts itself, without gauze.
const codexAgain = 2

// converseScripted runs a client with a scripted model until talk returns.
func (h *house) converseScripted(s *script, wire func(*script, http.ResponseWriter, *http.Request), talk func(use func(call) (string, error)),
	run func(url string) (out, errs string, err error)) error {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { wire(s, w, r) }))
	defer web.Close()
	finish := sync.OnceFunc(func() { close(s.wanted) })
	defer finish() // or web.Close would wait for a call that a failed test no longer makes
	ended, said := make(chan error, 1), ""
	start := func() {
		out, errs, err := run(web.URL)
		if said = out + errs; err != nil {
			err = fmt.Errorf("%w\n%s", err, said)
		}
		ended <- err
	}
	go start()
	again := 0
	if h.client == realparts.Codex {
		again = codexAgain
	}
	talk(func(c call) (string, error) {
		for {
			select {
			case s.wanted <- c:
			case result := <-s.results:
				return result, nil
			case err := <-ended:
				if err == nil && s.names() == nil && again > 0 {
					again--
					h.t.Logf("Codex did not offer its model any tools: it is started again. It said: %s", said)
					go start()
					continue
				}
				ended <- err
				return "", errors.Join(fmt.Errorf("it ended: %s", said), err)
			}
		}
	})
	finish()
	return <-ended
}

// turn returns the next call, if the model has one to make. Result is that of the call before.
func (s *script) turn(ctx context.Context, tools []string, result string) (c call, ok bool) {
	s.mu.Lock()
	s.made++
	s.mu.Unlock()
	tools = slices.DeleteFunc(tools, func(name string) bool { return !strings.HasPrefix(name, s.prefix) })
	if s.meet != nil {
		s.meet(tools)
		return c, false
	}
	if len(tools) == 0 {
		return c, false // it is asked for something else
	}
	s.mu.Lock()
	s.offered = tools
	s.mu.Unlock()
	if result != "" {
		select {
		case s.results <- result:
		case <-ctx.Done(): // the client was stopped
		}
	}
	c, ok = <-s.wanted
	return c, ok
}

// id returns an id that only the current answer has.
func (s *script) id(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%s_%d", kind, s.made)
}

// names returns the names of the server's tools in the last request.
func (s *script) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offered
}

// anthropic is the Messages API.
func (s *script) anthropic(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Tools    []struct{ Name string }
		Messages []struct{ Content json.RawMessage }
	}
	_ = json.NewDecoder(r.Body).Decode(&request)
	var tools []string
	for _, tool := range request.Tools {
		tools = append(tools, tool.Name)
	}
	result := ""
	if n := len(request.Messages); n > 0 && strings.Contains(string(request.Messages[n-1].Content), `"tool_result"`) {
		result = string(request.Messages[n-1].Content)
	}
	block, delta, reason := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": "nothing"}, "end_turn"
	if c, ok := s.turn(r.Context(), tools, result); ok {
		args, _ := json.Marshal(c.args)
		block = map[string]any{"type": "tool_use", "id": s.id("toolu"), "name": s.prefix + c.tool, "input": struct{}{}}
		delta, reason = map[string]any{"type": "input_json_delta", "partial_json": string(args)}, "tool_use"
	}
	sendEvents(w, []map[string]any{
		{"type": "message_start", "message": map[string]any{"id": s.id("msg"), "type": "message", "role": "assistant", "model": "none", "content": []any{},
			"usage": map[string]int{"input_tokens": 1, "output_tokens": 1}}},
		{"type": "content_block_start", "index": 0, "content_block": block},
		{"type": "content_block_delta", "index": 0, "delta": delta},
		{"type": "content_block_stop", "index": 0},
		{"type": "message_delta", "delta": map[string]any{"stop_reason": reason}, "usage": map[string]int{"output_tokens": 1}},
		{"type": "message_stop"},
	})
}

// responses is the Responses API, in which Codex has a namespace for each server.
func (s *script) responses(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Tools []struct {
			Name  string
			Tools []struct{ Name string }
		}
		Input []json.RawMessage
	}
	_ = json.NewDecoder(r.Body).Decode(&request)
	var tools []string
	for _, space := range request.Tools {
		for _, tool := range space.Tools {
			tools = append(tools, space.Name+"/"+tool.Name)
		}
	}
	result := ""
	if n := len(request.Input); n > 0 && strings.Contains(string(request.Input[n-1]), `"function_call_output"`) {
		result = string(request.Input[n-1])
	}
	item := map[string]any{"type": "message", "id": s.id("msg"), "role": "assistant", "content": []map[string]any{{"type": "output_text", "text": "nothing"}}}
	if c, ok := s.turn(r.Context(), tools, result); ok {
		args, _ := json.Marshal(c.args)
		item = map[string]any{"type": "function_call", "id": s.id("fc"), "call_id": s.id("call"),
			"namespace": strings.TrimSuffix(s.prefix, "/"), "name": c.tool, "arguments": string(args)}
	}
	sendEvents(w, []map[string]any{
		{"type": "response.created", "response": map[string]any{"id": s.id("resp")}},
		{"type": "response.output_item.done", "output_index": 0, "item": item},
		{"type": "response.completed", "response": map[string]any{"id": s.id("resp"), "usage": map[string]int{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}},
	})
}

// gemini is the Gemini API.
func (s *script) gemini(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Tools    []struct{ FunctionDeclarations []struct{ Name string } }
		Contents []json.RawMessage
	}
	_ = json.NewDecoder(r.Body).Decode(&request)
	var tools []string
	for _, group := range request.Tools {
		for _, tool := range group.FunctionDeclarations {
			tools = append(tools, tool.Name)
		}
	}
	result := ""
	if n := len(request.Contents); n > 0 && strings.Contains(string(request.Contents[n-1]), `"functionResponse"`) {
		result = string(request.Contents[n-1])
	}
	part := map[string]any{"text": "nothing"}
	if c, ok := s.turn(r.Context(), tools, result); ok {
		part = map[string]any{"functionCall": map[string]any{"name": s.prefix + c.tool, "args": c.args}}
	}
	text, _ := json.Marshal(map[string]any{
		"candidates":    []map[string]any{{"index": 0, "finishReason": "STOP", "content": map[string]any{"role": "model", "parts": []any{part}}}},
		"usageMetadata": map[string]int{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
	})
	if !strings.Contains(r.URL.Path, "stream") {
		w.Header().Set("Content-Type", "application/json")
		w.Write(text)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\n", text)
}

// sendEvents sends a stream of events, each named by its type.
func sendEvents(w http.ResponseWriter, events []map[string]any) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range events {
		text, _ := json.Marshal(event)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], text)
	}
}
