package task

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// Parse reads a task file, YAML or JSON, and validates it completely. The error is of type Problems
// and contains every problem that was found.
//
//	name: weekly report
//	servers:
//	  notes: cursor/notes                 # as a client knows it
//	  files: {command: [npx, -y, "@modelcontextprotocol/server-filesystem", .]}
//	  issues: {url: https://example.com/mcp}
//	steps:
//	  - id: list
//	    server: notes
//	    tool: list_notes
//	  - id: read
//	    server: notes
//	    tool: read_note
//	    for: note in ${list.json.notes}
//	    when: ${note.archived} != true
//	    arguments: {path: "${note.path}"}
//	    on-error: continue                # or stop, retry, {retry: 5, then: continue}
//	budget: {steps: 100, time: 10m}
func Parse(file string, text []byte) (*Plan, error) {
	root, problem := readDocument(text)
	if problem != nil {
		return nil, Problems{problem}.sorted(file)
	}
	r := &planReader{}
	plan := r.plan(root)
	if plan.Name == "" {
		plan.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	if len(r.problems) > 0 {
		return nil, r.problems.sorted(file)
	}
	return plan, nil
}

// planReader collects the problems of a file while it is read.
type planReader struct {
	problems Problems
	servers  []string
	ids      []string // of all steps, in order
}

func (r *planReader) report(at position, format string, args ...any) {
	r.problems = append(r.problems, problemAt(at, fmt.Sprintf(format, args...)))
}

// expect reports whether a node is of this kind, and reports it if not.
func (r *planReader) expect(n *node, want kind, what, example string) bool {
	if n.kind == want && (want != isScalar || n.scalar != nil) {
		return true
	}
	r.report(n.position, "%s must be %s, not %s", what, example, n.says())
	return false
}

// text returns a string that must not be empty.
func (r *planReader) text(n *node, what string) string {
	s, ok := n.scalar.(string)
	if n.kind != isScalar || !ok || strings.TrimSpace(s) == "" {
		r.report(n.position, "%s must be a string, not %s", what, n.says())
		return ""
	}
	return s
}

// fieldsOf calls the function for each key of a mapping. Unknown keys are reported with the closest
// match.
func (r *planReader) fieldsOf(n *node, what string, read map[string]func(*node)) (seen map[string]bool) {
	seen = map[string]bool{}
	if !r.expect(n, isMapping, what, "a mapping") {
		return seen
	}
	known := slices.Sorted(maps.Keys(read))
	for _, f := range n.fields {
		if read[f.key] == nil {
			if hint := didYouMean(f.key, known); hint != "" {
				r.report(f.position, "unknown key %q in %s%s", redact.Quote(f.key), what, hint)
			} else {
				r.report(f.position, "unknown key %q in %s: must be one of %s", redact.Quote(f.key), what, strings.Join(known, ", "))
			}
			for _, near := range plaintext.Nearest(f.key, known) {
				seen[near] = true // one report for one mistake
			}
			continue
		}
		seen[f.key] = true
		read[f.key](f.value)
	}
	return seen
}

func (r *planReader) plan(root *node) *Plan {
	p := &Plan{Servers: map[string]Server{}}
	var steps *node
	seen := r.fieldsOf(root, "the task", map[string]func(*node){
		"name":    func(n *node) { p.Name = r.text(n, "name") },
		"goal":    func(n *node) { p.Goal = r.text(n, "goal") },
		"servers": func(n *node) { r.readServers(n, p) },
		"steps":   func(n *node) { steps = n },
		"budget":  func(n *node) { p.Budget = r.budget(n) },
	})
	if root.kind != isMapping {
		return p
	}
	if !seen["servers"] {
		r.report(root.position, "servers is missing: add at least one server")
	}
	switch {
	case steps != nil:
		r.readSteps(steps, p)
	case !seen["steps"] && !seen["goal"]:
		r.report(root.position, "steps is missing: add at least one step, or a goal for a model")
	}
	return p
}

func (r *planReader) readServers(n *node, p *Plan) {
	if !r.expect(n, isMapping, "servers", "a mapping of names to servers") {
		return
	}
	if len(n.fields) == 0 {
		r.report(n.position, "servers is empty: add at least one server")
	}
	for _, f := range n.fields {
		r.servers = append(r.servers, f.key)
		p.Servers[f.key] = r.server(f)
	}
}

var configuredName = regex.New(`^[^/\s]+/\S+$`)

func (r *planReader) server(f field) (s Server) {
	what := fmt.Sprintf("the server %q", redact.Quote(f.key))
	if name, ok := f.value.scalar.(string); ok && f.value.kind == isScalar {
		if !configuredName.MatchString(name) {
			r.report(f.value.position, "%s must be CLIENT/NAME such as cursor/notes, {command: [...]} or {url: ...}, not %q", what, redact.Quote(name))
		}
		s.Configured = name
		return s
	}
	seen := r.fieldsOf(f.value, what, map[string]func(*node){
		"command": func(n *node) { s.Command = r.words(n, "command") },
		"url":     func(n *node) { s.URL = r.text(n, "url") },
		"cwd":     func(n *node) { s.Cwd = r.text(n, "cwd") },
		"env":     func(n *node) { s.Env = r.env(n) },
	})
	switch {
	case f.value.kind != isMapping:
	case seen["command"] == seen["url"]:
		r.report(f.position, "%s must have either command or url", what)
	case seen["url"] && (seen["env"] || seen["cwd"]):
		r.report(f.position, "%s has a url, but env and cwd apply only to a command: remove them", what)
	case s.URL != "" && !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://"):
		r.report(f.value.position, "invalid url of %s: must begin with http:// or https://", what)
	}
	return s
}

// words returns a list of strings that is not empty.
func (r *planReader) words(n *node, what string) (words []string) {
	if n.kind != isList || len(n.items) == 0 {
		r.report(n.position, "%s must be a list of strings such as [npx, -y, some-server], not %s", what, n.says())
		return nil
	}
	for _, item := range n.items {
		switch v := item.scalar.(type) {
		case string:
			words = append(words, v)
		case json.Number:
			words = append(words, v.String())
		default:
			r.report(item.position, "%s must contain only strings, not %s: put the value in quotes", what, item.says())
		}
	}
	return words
}

func (r *planReader) env(n *node) map[string]string {
	env := map[string]string{}
	if !r.expect(n, isMapping, "env", "a mapping of names to values") {
		return nil
	}
	for _, f := range n.fields {
		switch v := f.value.scalar.(type) {
		case string:
			if _, err := expandEnv(v, func(string) (string, bool) { return "", true }); err != nil {
				r.report(f.value.position, "env %s: %v", redact.Quote(f.key), err)
			}
			env[f.key] = v
		case json.Number:
			env[f.key] = v.String()
		case bool:
			env[f.key] = fmt.Sprint(v)
		default:
			r.report(f.value.position, "the variable %q must be a string, not %s", redact.Quote(f.key), f.value.says())
		}
	}
	return env
}

// count returns a whole number of at least 1.
func (r *planReader) count(n *node, what string, most int) int {
	number, ok := n.scalar.(json.Number)
	value, err := number.Int64()
	if isWhole := ok && err == nil; !isWhole || value < 1 || value > int64(most) {
		r.report(n.position, "invalid %s: must be a whole number between 1 and %d", what, most)
		return 0
	}
	return int(value)
}

const maxCount = 1_000_000_000

func (r *planReader) budget(n *node) (b Budget) {
	r.fieldsOf(n, "budget", map[string]func(*node){
		"steps":  func(n *node) { b.Steps = r.count(n, "steps", maxCount) },
		"tokens": func(n *node) { b.Tokens = r.count(n, "tokens", maxCount) },
		"time": func(n *node) {
			text, _ := n.scalar.(string)
			d, err := time.ParseDuration(text)
			if err != nil || d <= 0 {
				r.report(n.position, "invalid time: must be a duration such as 90s, 10m or 2h")
			}
			b.Time = d
		},
		"cost": func(n *node) {
			number, _ := n.scalar.(json.Number)
			cost, err := number.Float64()
			if err != nil || cost <= 0 {
				r.report(n.position, "invalid cost: must be a number of US dollars greater than 0")
			}
			b.Cost = cost
		},
	})
	return b
}
