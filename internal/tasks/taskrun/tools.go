package taskrun

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// maxPages limits a list that does not end.
const maxPages = 1000

// list returns the tools, from the server if they may have changed.
func (s *server) list(ctx context.Context) ([]task.Tool, *task.Reply) {
	if lost := s.greet(ctx); lost != nil {
		return nil, lost
	}
	s.mu.Lock()
	stale, tools := s.stale, s.tools
	s.stale = false
	s.mu.Unlock()
	if !stale {
		return tools, nil
	}
	tools = nil
	params := s.params("")
	for range maxPages {
		a, err := s.request(ctx, "tools/list", params)
		if lost := lostBy(a, err); lost != nil {
			s.mu.Lock()
			s.stale = true
			s.mu.Unlock()
			return nil, lost
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		_ = json.Unmarshal(a.Result, &page) // a list that cannot be read is empty
		for _, item := range page.Tools {
			if t, ok := s.toolOf(item); ok {
				tools = append(tools, t)
			}
		}
		if page.NextCursor == "" {
			break
		}
		params = s.params(`"cursor":` + quoted(page.NextCursor))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = tools
	return tools, nil
}

// toolOf reads one tool of the list. Its class is the one by which the session replays.
func (s *server) toolOf(item json.RawMessage) (task.Tool, bool) {
	var t struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Annotations json.RawMessage `json:"annotations"`
	}
	if json.Unmarshal(item, &t) != nil || t.Name == "" {
		return task.Tool{}, false
	}
	shape := sha256.Sum256([]byte(t.Name + "\x00" + string(t.InputSchema) + "\x00" + string(t.Annotations)))
	out := task.Tool{Name: t.Name, About: t.Description, Schema: t.InputSchema, Class: task.Unsafe, Shape: hex.EncodeToString(shape[:8])}
	switch s.session.ToolClass(t.Name) {
	case proxy.ReadOnly:
		out.Class = task.ReadOnly
	case proxy.Idempotent:
		out.Class = task.Idempotent
	}
	schema := repair.Compile(t.InputSchema)
	out.Accepts = func(arguments json.RawMessage) error {
		checked := schema.Arguments(arguments, repair.Options{Tool: t.Name, Tier: repair.Silent})
		if checked.Verdict == repair.Refused {
			return errors.New(schema.Explain(t.Name, checked, 1).Text)
		}
		return nil
	}
	return out, true
}
