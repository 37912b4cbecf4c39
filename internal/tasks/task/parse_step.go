package task

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
)

var stepID = regex.New(`^[A-Za-z_][A-Za-z0-9_-]*$`)

func (r *planReader) readSteps(n *node, p *Plan) {
	if !r.expect(n, isList, "steps", "a list") {
		return
	}
	if len(n.items) == 0 {
		r.report(n.position, "steps is empty: add at least one step, or a goal instead of steps")
		return
	}
	lines := map[string]int{}
	for _, item := range n.items {
		id := stepIDOf(item)
		if first := lines[id]; id != "" && first > 0 {
			r.report(item.position, "the id %q is used twice: choose another id here or on line %d", redact.Quote(id), first)
		} else if id != "" {
			lines[id] = item.line
		}
		r.ids = append(r.ids, id)
	}
	for i, item := range n.items {
		p.Steps = append(p.Steps, r.step(item, i))
	}
}

func stepIDOf(n *node) string {
	for _, f := range n.fields {
		if s, ok := f.value.scalar.(string); ok && f.key == "id" {
			return s
		}
	}
	return ""
}

// step reads the step at an index. References are checked after everything else, because they
// depend on the name of the loop's item.
func (r *planReader) step(n *node, index int) (s Step) {
	var arguments, when, loop *node
	seen := r.fieldsOf(n, "a step", map[string]func(*node){
		"id": func(n *node) {
			if s.ID = r.text(n, "id"); s.ID != "" && !stepID.MatchString(s.ID) {
				r.report(n.position, "invalid id %q: use letters, digits, - and _, and begin with a letter", redact.Quote(s.ID))
			}
		},
		"server": func(n *node) {
			if s.Server = r.text(n, "server"); s.Server != "" && r.servers != nil && !slices.Contains(r.servers, s.Server) {
				r.report(n.position, "unknown server %q: must be one of %s%s", redact.Quote(s.Server), strings.Join(r.servers, ", "), didYouMean(s.Server, r.servers))
			}
		},
		"tool":      func(n *node) { s.Tool = r.text(n, "tool") },
		"arguments": func(n *node) { arguments = n },
		"when":      func(n *node) { when = n },
		"for":       func(n *node) { loop = n },
		"on-error":  func(n *node) { s.OnError = r.onError(n) },
		"unlisted": func(n *node) {
			ok := false
			if s.Unlisted, ok = n.scalar.(bool); !ok {
				r.report(n.position, "unlisted must be true or false, not %s", n.says())
			}
		},
	})
	for _, key := range []string{"id", "server", "tool"} {
		if n.kind == isMapping && !seen[key] {
			r.report(n.position, "the step has no %s: add one", key)
		}
	}
	in := scope{steps: r.ids[:index], later: r.ids[index:]}
	if loop != nil {
		s.For = r.text(loop, "for")
		in.item = r.loop(loop, s.For, in)
	}
	if when != nil {
		s.When = r.conditions(when, in)
	}
	if arguments != nil && r.expect(arguments, isMapping, "arguments", "a mapping") {
		r.references(arguments, in)
		s.Arguments, _ = plaintext.EncodeJSON(arguments.value(), "")
	}
	return s
}

// loop checks a for and returns the name of its item.
func (r *planReader) loop(n *node, text string, in scope) string {
	if text == "" {
		return ""
	}
	l, err := parseLoop(text, in)
	if err != nil {
		r.report(n.position, "%v", err)
		if words := loopForm.FindStringSubmatch(text); words != nil {
			return words[1]
		}
		return ""
	}
	if slices.Contains(r.ids, l.name) {
		r.report(n.position, "the name %q of the loop's item is also the id of a step: choose another name", l.name)
	}
	return l.name
}

func (r *planReader) conditions(n *node, in scope) (all []string) {
	items := []*node{n}
	if n.kind == isList {
		items = n.items
	}
	for _, item := range items {
		text := r.text(item, "when")
		if text == "" {
			continue
		}
		if _, err := parseCondition(text, in); err != nil {
			r.report(item.position, "%v", err)
		}
		all = append(all, text)
	}
	return all
}

// references checks the references in all strings of the arguments.
func (r *planReader) references(n *node, in scope) {
	for _, f := range n.fields {
		r.references(f.value, in)
	}
	for _, item := range n.items {
		r.references(item, in)
	}
	if s, ok := n.scalar.(string); ok {
		if _, err := splitText(s, in); err != nil {
			r.report(n.position, "%v", err)
		}
	}
}

// maxAttempts limits on-error: {retry: N}.
const maxAttempts = 20

func (r *planReader) onError(n *node) (o OnError) {
	if n.kind == isScalar {
		switch n.scalar {
		case "stop":
		case "continue":
			o.Continue = true
		case "retry":
			o.Attempts = defaultAttempts
		default:
			r.report(n.position, "invalid on-error: must be stop, continue, retry or {retry: N, then: stop|continue}%s", didYouMean(fmt.Sprint(n.scalar), []string{"stop", "continue", "retry"}))
		}
		return o
	}
	seen := r.fieldsOf(n, "on-error", map[string]func(*node){
		"retry": func(n *node) { o.Attempts = r.count(n, "retry", maxAttempts) },
		"then": func(n *node) {
			switch n.scalar {
			case "stop":
			case "continue":
				o.Continue = true
			default:
				r.report(n.position, "invalid then: must be stop or continue")
			}
		},
	})
	if n.kind == isMapping && !seen["retry"] {
		r.report(n.position, "on-error has no retry: use on-error: stop or on-error: continue, or add retry: N")
	}
	return o
}
