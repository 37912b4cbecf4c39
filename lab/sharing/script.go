package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// request is one step of a client.
type request struct{ method, params string }

// tool is a tool as the server lists it.
type tool struct {
	Name        string
	InputSchema schema
}

type schema struct {
	Type       any
	Properties map[string]schema
	Required   []string
	Enum       []any
	Default    any
	Items      *schema
	AnyOf      []schema
	Minimum    *float64
}

// tools returns what the server lists.
func (w *workplace) tools(ctx context.Context) ([]tool, error) {
	u, err := w.up(ctx, "session")
	if err != nil {
		return nil, err
	}
	defer u.stop()
	c, err := u.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.tools()
}

// tools returns what the server lists, once it has started. A list waits only two seconds for a server that has never
// answered.
func (c *client) tools() ([]tool, error) {
	for range 20 {
		var answer struct{ Result struct{ Tools []tool } }
		if json.Unmarshal([]byte("{"+c.ask(request{"tools/list", "{}"})+"}"), &answer) == nil && len(answer.Result.Tools) > 0 {
			return answer.Result.Tools, nil
		}
		time.Sleep(3 * time.Second)
	}
	return nil, errors.New("it does not list any tools")
}

// names tell what each client asks for.
var names = []string{"alpha", "beta"}

const maxCalls = 40

// script returns the requests of one of two clients: every tool in turn, with values of its own.
func script(tools []tool, client int, w *workplace) (all []request) {
	for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		all = append(all, request{method, "{}"})
	}
	var callable []tool
	for _, t := range tools {
		if !skipped(t.Name) {
			callable = append(callable, t)
		}
	}
	for n := 0; len(callable) > 0 && n < max(24, min(2*len(callable), maxCalls)); n++ {
		t := callable[n%len(callable)]
		v := values{w, names[(client+n/len(callable))%2], n / len(callable)}
		arguments, _ := json.Marshal(v.object(t.InputSchema, n%3 == 2)) // cannot fail: it is of JSON
		all = append(all, request{"tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, t.Name, arguments)})
	}
	return all
}

// skipped reports whether a tool waits, or does something that a comparison must not do.
func skipped(name string) bool {
	for _, part := range []string{"browser", "install", "navigate", "new_page", "long", "trigger", "simulate", "toggle", "subscri", "wait", "port_forward", "exec", "sampling", "elicit", "kill", "terminate", "process", "speech", "voice", "feedback"} {
		if strings.Contains(strings.ToLower(name), part) {
			return true
		}
	}
	return false
}

// values makes arguments that fit a schema.
type values struct {
	w     *workplace
	name  string
	round int
}

func (v values) object(s schema, optional bool) map[string]any {
	made := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		if optional || slices.Contains(s.Required, key) {
			made[key] = v.value(key, s.Properties[key])
		}
	}
	return made
}

func (v values) value(key string, s schema) any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[(len(v.name)+v.round)%len(s.Enum)]
	case len(s.AnyOf) > 0:
		return v.value(key, s.AnyOf[0])
	}
	if several, ok := s.Type.([]any); ok && len(several) > 0 {
		s.Type = several[0]
	}
	switch s.Type {
	case "string":
		return v.text(strings.ToLower(key))
	case "integer", "number":
		n := float64(len(v.name) + v.round)
		if s.Minimum != nil {
			n = max(n, *s.Minimum)
		}
		return n
	case "boolean":
		return v.name == names[0]
	case "array":
		if s.Items == nil {
			return []any{}
		}
		return []any{v.value(key, *s.Items)}
	case "object":
		return v.object(s, false)
	}
	return v.name
}

// text returns a string for a parameter, by its name.
func (v values) text(key string) string {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(key, part) })
	}
	switch {
	case has("timezone"):
		return map[string]string{"alpha": "Asia/Tokyo", "beta": "Europe/Oslo"}[v.name]
	case key == "time":
		return map[string]string{"alpha": "10:30", "beta": "16:45"}[v.name]
	case key == "uri":
		return "data:text/plain,the%20text%20of%20" + v.name + fmt.Sprint(v.round)
	case has("url"):
		return v.w.web.URL + "/" + v.name
	case has("repo"):
		return filepath.Join(v.w.root, "repo")
	case has("dir", "folder"):
		return v.w.dir()
	case has("path", "file"):
		return filepath.Join(v.w.dir(), v.name+".txt")
	}
	return v.name
}
