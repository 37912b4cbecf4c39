package task

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/document"
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
	root, problems := document.Read(text, "name, servers and steps")
	if root == nil {
		return nil, problems.In(file)
	}
	r := &planReader{Reader: document.Reader{Problems: problems}}
	plan := r.plan(root)
	if plan.Name == "" {
		plan.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	if len(r.Problems) > 0 {
		return nil, r.Problems.In(file)
	}
	return plan, nil
}

// Problem is one error in a task file.
type Problem = document.Problem

// Problems are all errors in a task file, in the order of the file.
type Problems = document.Problems

// planReader reads a task file.
type planReader struct {
	document.Reader
	servers []string
	ids     []string // of all steps, in order
}

func (r *planReader) plan(root *document.Node) *Plan {
	p := &Plan{Servers: map[string]Server{}}
	var steps *document.Node
	seen := r.FieldsOf(root, "the task", map[string]func(*document.Node){
		"name":    func(n *document.Node) { p.Name = r.Text(n, "name") },
		"goal":    func(n *document.Node) { p.Goal = r.Text(n, "goal") },
		"servers": func(n *document.Node) { r.readServers(n, p) },
		"steps":   func(n *document.Node) { steps = n },
		"budget":  func(n *document.Node) { p.Budget = r.budget(n) },
	})
	if root.Kind != document.IsMapping {
		return p
	}
	if !seen["servers"] {
		r.Report(root.Position, "servers is missing: add at least one server")
	}
	switch {
	case steps != nil:
		r.readSteps(steps, p)
	case !seen["steps"] && !seen["goal"]:
		r.Report(root.Position, "steps is missing: add at least one step, or a goal for a model")
	}
	return p
}

func (r *planReader) readServers(n *document.Node, p *Plan) {
	if !r.Expect(n, document.IsMapping, "servers", "a mapping of names to servers") {
		return
	}
	if len(n.Fields) == 0 {
		r.Report(n.Position, "servers is empty: add at least one server")
	}
	for _, f := range n.Fields {
		r.servers = append(r.servers, f.Name)
		p.Servers[f.Name] = ReadServer(&r.Reader, f, nil)
	}
}

const maxCount = 1_000_000_000

func (r *planReader) budget(n *document.Node) (b Budget) {
	r.FieldsOf(n, "budget", map[string]func(*document.Node){
		"steps":  func(n *document.Node) { b.Steps = r.Count(n, "steps", maxCount) },
		"tokens": func(n *document.Node) { b.Tokens = r.Count(n, "tokens", maxCount) },
		"time":   func(n *document.Node) { b.Time = r.Duration(n, "time") },
		"cost": func(n *document.Node) {
			number, _ := n.Scalar.(json.Number)
			cost, err := number.Float64()
			if err != nil || cost <= 0 {
				r.Report(n.Position, "invalid cost: must be a number of US dollars greater than 0")
			}
			b.Cost = cost
		},
	})
	return b
}
