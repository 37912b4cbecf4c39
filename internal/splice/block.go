package splice

import "strings"

// Edits of YAML's block style, where lines and columns define the structure.

// endOfBlock returns the end of the last line of a node, including its comment.
func (d *Document) endOfBlock(at int) int {
	if end, clean := d.trimmedTail(at); clean {
		return end
	}
	return lineEnd(d.text, at)
}

func column(text string, at int) int { return at - lineStart(text, at) }

func (e *editor) insertBlock(at *place, index int, fresh Map) string {
	n, text := at.node, e.d.text
	p := e.printer(n)
	if n.absent || len(n.children) == 0 { // an empty file
		if at.parent != nil {
			return e.replaceBlock(at, fresh)
		}
		from := len(text)
		with := p.block(n, fresh, "")
		if strings.Contains(text, "\n...") || strings.HasPrefix(text, "...") {
			return "the document ends with an explicit ... marker"
		}
		if from > 0 && text[from-1] != '\n' {
			e.patch(from, from, p.nl+with)
		} else {
			e.patch(from, from, with+p.nl)
		}
		return ""
	}
	first := n.children[0].start
	indent := strings.Repeat(" ", column(text, first))
	with := p.block(n, fresh, indent)
	if index == 0 {
		e.patch(first, first, with+p.nl+indent)
		return ""
	}
	last := &n.children[index-1]
	end := e.d.endOfBlock(max(last.after, last.node.end))
	e.patch(end, end, p.nl+indent+with)
	return ""
}

// replaceBlock replaces a value that follows a colon or a dash.
func (e *editor) replaceBlock(at *place, want any) string {
	n, text := at.node, e.d.text
	p := e.printer(at.parent)
	model := n
	if kindOf(want) != n.kind || len(n.children) == 0 {
		model = nil
		if at.parent != nil {
			model = at.parent.model(want, at.child().name)
		}
	}
	if at.parent == nil {
		if n.bracketed && len(n.children) > 0 || !isContainer(want) || isEmpty(want) {
			e.patch(n.start, n.end, p.flow(want, model, "", false))
			return ""
		}
		if end, clean := e.d.tail(n.end); !clean || strings.TrimSpace(text[n.end:end]) != "" {
			return "a comment follows the value"
		}
		e.patch(n.start, n.end, p.blockOf(want, "", nil))
		return ""
	}
	c := at.child()
	if !isContainer(want) || isEmpty(want) || p.flowStyle(want, model) {
		with := " " + p.flow(want, modelOf(n, model), "", false)
		from := c.after
		if n.anchor != "" || n.tagged {
			from = int(n.props) + len(strings.TrimRight(text[n.props:n.start], " \t\r\n"))
		}
		to := max(n.end, from)
		// Keep the gap between the colon and the value.
		if gap := text[from:n.start]; !n.absent && gap != "" && strings.Trim(gap, " \t") == "" {
			from, with = n.start, with[1:]
		}
		e.patch(from, to, with)
		return ""
	}
	if n.anchor != "" || n.tagged {
		return "the value has an anchor or a tag"
	}
	e.patch(c.after, max(n.end, c.after), "")
	indent := strings.Repeat(" ", column(text, c.start))
	if at.parent.kind == ListKind {
		end, clean := e.d.tail(max(n.end, c.after))
		if !clean || strings.TrimSpace(text[max(n.end, c.after):end]) != "" {
			return "a comment follows the value"
		}
		e.patch(max(n.end, c.after), max(n.end, c.after), " "+p.blockOf(want, indent+"  ", model))
		return ""
	}
	inner := indent + p.style.unit
	if _, isList := want.([]any); isList {
		inner = indent + p.style.dashes
	}
	end := e.d.endOfBlock(max(n.end, c.after))
	e.patch(end, end, p.nl+inner+p.blockOf(want, inner, model))
	return ""
}

func modelOf(old, model *node) *node {
	if old.kind == StringKind {
		return old
	}
	return model
}

func (e *editor) removeBlock(holder *place, gone []int) string {
	n, text := holder.node, e.d.text
	isGone := map[int]bool{}
	for _, i := range gone {
		isGone[i] = true
	}
	if len(gone) == len(n.children) {
		return e.emptyBlock(holder)
	}
	for i := 0; i < len(n.children); i++ {
		if !isGone[i] {
			continue
		}
		c := &n.children[i]
		end := e.d.endOfBlock(max(c.after, c.node.end))
		start := lineStart(text, c.start)
		if _, own := margin(text, c.start); own {
			if start == 0 {
				e.patch(0, nextLine(text, end), "")
			} else {
				e.patch(prevLineEnd(text, start), end, "")
			}
			continue
		}
		// The first member after a dash: the next one takes its place.
		for {
			end = e.d.endOfBlock(max(n.children[i].after, n.children[i].node.end))
			i++
			if strings.TrimSpace(text[end:n.children[i].start]) != "" {
				return "a comment is between the members"
			}
			if !isGone[i] {
				break
			}
		}
		e.patch(c.start, n.children[i].start, "")
	}
	return ""
}

// emptyBlock writes {} or [] for a map or list that loses its last entry.
func (e *editor) emptyBlock(holder *place) string {
	n, text := holder.node, e.d.text
	empty := " {}"
	if n.kind == ListKind {
		empty = " []"
	}
	last := &n.children[len(n.children)-1]
	end := e.d.endOfBlock(max(last.after, last.node.end))
	if holder.parent == nil {
		if n.kind == ListKind {
			e.patch(n.start, n.end, "[]")
			return ""
		}
		start := lineStart(text, n.start)
		if _, own := margin(text, n.start); !own {
			e.patch(n.start, n.end, "{}")
			return ""
		}
		if start == 0 || nextLine(text, end) > end {
			e.patch(start, nextLine(text, end), "")
		} else {
			e.patch(prevLineEnd(text, start), end, "")
		}
		return ""
	}
	c := holder.child()
	at := c.after
	if n.anchor != "" || n.tagged {
		at = int(n.props) + len(strings.TrimRight(text[n.props:n.start], " \t\r\n"))
	}
	if _, own := margin(text, n.start); !own {
		e.patch(n.start, n.end, empty[1:])
		return ""
	}
	e.patch(at, at, empty)
	e.patch(prevLineEnd(text, lineStart(text, n.start)), end, "")
	return ""
}
