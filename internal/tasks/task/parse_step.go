package task

import (
	"fmt"
	"slices"

	"github.com/gauze-mcp/gauze/internal/text/document"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
)

var stepID = regex.New(`^[A-Za-z_][A-Za-z0-9_-]*$`)

func (r *planReader) readSteps(n *document.Node, p *Plan) {
	if !r.Expect(n, document.IsList, "steps", "a list") {
		return
	}
	if len(n.Items) == 0 {
		r.Report(n.Position, "steps is empty: add at least one step, or a goal instead of steps")
		return
	}
	lines := map[string]int{}
	for _, item := range n.Items {
		id := stepIDOf(item)
		if first := lines[id]; id != "" && first > 0 {
			r.Report(item.Position, "the id %q is used twice: choose another id here or on line %d", redact.Quote(id), first)
		} else if id != "" {
			lines[id] = item.Line
		}
		r.ids = append(r.ids, id)
	}
	for i, item := range n.Items {
		p.Steps = append(p.Steps, r.step(item, i))
	}
}

func stepIDOf(n *document.Node) string {
	for _, f := range n.Fields {
		if s, ok := f.Value.Scalar.(string); ok && f.Name == "id" {
			return s
		}
	}
	return ""
}

// step reads the step at an index. References are checked after everything else, because they
// depend on the name of the loop's item.
func (r *planReader) step(n *document.Node, index int) (s Step) {
	var arguments, when, loop *document.Node
	seen := r.FieldsOf(n, "a step", map[string]func(*document.Node){
		"id": func(n *document.Node) {
			if s.ID = r.Text(n, "id"); s.ID != "" && !stepID.MatchString(s.ID) {
				r.Report(n.Position, "invalid id %q: use letters, digits, - and _, and begin with a letter", redact.Quote(s.ID))
			}
		},
		"server": func(n *document.Node) {
			if s.Server = r.Text(n, "server"); s.Server != "" && r.servers != nil && !slices.Contains(r.servers, s.Server) {
				r.Report(n.Position, "unknown server %q: %s", redact.Quote(s.Server), document.OneOf(s.Server, r.servers))
			}
		},
		"tool":      func(n *document.Node) { s.Tool = r.Text(n, "tool") },
		"arguments": func(n *document.Node) { arguments = n },
		"when":      func(n *document.Node) { when = n },
		"for":       func(n *document.Node) { loop = n },
		"on-error":  func(n *document.Node) { s.OnError = r.onError(n) },
		"unlisted": func(n *document.Node) {
			ok := false
			if s.Unlisted, ok = n.Scalar.(bool); !ok {
				r.Report(n.Position, "unlisted must be true or false, not %s", n.Says())
			}
		},
	})
	for _, key := range []string{"id", "server", "tool"} {
		if n.Kind == document.IsMapping && !seen[key] {
			r.Report(n.Position, "the step has no %s: add one", key)
		}
	}
	in := scope{steps: r.ids[:index], later: r.ids[index:]}
	if loop != nil {
		s.For = r.Text(loop, "for")
		in.item = r.loop(loop, s.For, in)
	}
	if when != nil {
		s.When = r.conditions(when, in)
	}
	if arguments != nil && r.Expect(arguments, document.IsMapping, "arguments", "a mapping") {
		r.references(arguments, in)
		s.Arguments, _ = plaintext.EncodeJSON(arguments.JSON(), "")
	}
	return s
}

// loop checks a for and returns the name of its item.
func (r *planReader) loop(n *document.Node, text string, in scope) string {
	if text == "" {
		return ""
	}
	l, err := parseLoop(text, in)
	if err != nil {
		r.Report(n.Position, "%v", err)
		if words := loopForm.FindStringSubmatch(text); words != nil {
			return words[1]
		}
		return ""
	}
	if slices.Contains(r.ids, l.name) {
		r.Report(n.Position, "the name %q of the loop's item is also the id of a step: choose another name", l.name)
	}
	return l.name
}

func (r *planReader) conditions(n *document.Node, in scope) (all []string) {
	items := []*document.Node{n}
	if n.Kind == document.IsList {
		items = n.Items
	}
	for _, item := range items {
		text := r.Text(item, "when")
		if text == "" {
			continue
		}
		if _, err := parseCondition(text, in); err != nil {
			r.Report(item.Position, "%v", err)
		}
		all = append(all, text)
	}
	return all
}

// references checks the references in all strings of the arguments.
func (r *planReader) references(n *document.Node, in scope) {
	for _, f := range n.Fields {
		r.references(f.Value, in)
	}
	for _, item := range n.Items {
		r.references(item, in)
	}
	if s, ok := n.Scalar.(string); ok {
		if _, err := splitText(s, in); err != nil {
			r.Report(n.Position, "%v", err)
		}
	}
}

// maxAttempts limits on-error: {retry: N}.
const maxAttempts = 20

func (r *planReader) onError(n *document.Node) (o OnError) {
	if n.Kind == document.IsScalar {
		switch n.Scalar {
		case "stop":
		case "continue":
			o.Continue = true
		case "retry":
			o.Attempts = defaultAttempts
		default:
			r.Report(n.Position, "invalid on-error: must be stop, continue, retry or {retry: N, then: stop|continue}%s", document.DidYouMean(fmt.Sprint(n.Scalar), []string{"stop", "continue", "retry"}))
		}
		return o
	}
	seen := r.FieldsOf(n, "on-error", map[string]func(*document.Node){
		"retry": func(n *document.Node) { o.Attempts = r.Count(n, "retry", maxAttempts) },
		"then": func(n *document.Node) {
			switch n.Scalar {
			case "stop":
			case "continue":
				o.Continue = true
			default:
				r.Report(n.Position, "invalid then: must be stop or continue")
			}
		},
	})
	if n.Kind == document.IsMapping && !seen["retry"] {
		r.Report(n.Position, "on-error has no retry: use on-error: stop or on-error: continue, or add retry: N")
	}
	return o
}
