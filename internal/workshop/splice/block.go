package splice

import (
	"slices"
	"strings"
)

// Edits of YAML's block style, where lines and columns define the structure.

// endOfBlock returns the end of the last line of a node, including its comment.
func (d *Document) endOfBlock(at int) int {
	if end, clean := d.trimmedTail(at); clean {
		return end
	}
	return lineEnd(d.text, at)
}

func (d *Document) refuseComment(at int) {
	if end, clean := d.trimmedTail(at); !clean || end > at {
		refuse("a comment follows the value")
	}
}

func column(text string, at int) int { return at - lineStart(text, at) }

func (e *editor) insertBlock(at *place, index int, fresh Map) {
	n, text := at.node, e.d.text
	p := e.printer(n)
	if n.absent || len(n.children) == 0 { // an empty file
		if at.parent != nil {
			e.replaceBlock(at, fresh)
			return
		}
		if strings.Contains(text, "\n...") || strings.HasPrefix(text, "...") {
			refuse("the document ends with an explicit ... marker")
		}
		e.append(p.nl, p.blockOf(n.filledWith(fresh), "", n))
		return
	}
	first := n.children[0].start
	indent := strings.Repeat(" ", column(text, first))
	with := p.blockOf(n.filledWith(fresh), indent, n)
	if index == 0 {
		e.patch(first, first, with+p.nl+indent)
		return
	}
	last := &n.children[index-1]
	end := e.d.endOfBlock(last.end())
	e.patch(end, end, p.nl+indent+with)
}

// replaceBlock replaces a value that follows a colon or a dash.
func (e *editor) replaceBlock(at *place, want any) {
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
			return
		}
		e.d.refuseComment(n.end)
		e.patch(n.start, n.end, p.blockOf(want, "", nil))
		return
	}
	c := at.child()
	if !isContainer(want) || isEmpty(want) || p.flowStyle(want, model) {
		if n.kind == StringKind {
			model = n
		}
		with := " " + p.flow(want, model, "", false)
		from := e.d.afterProps(c)
		to := max(n.end, from)
		// Keep the gap between the colon and the value.
		if gap := text[from:n.start]; !n.absent && gap != "" && strings.Trim(gap, " \t") == "" {
			from, with = n.start, with[1:]
		}
		e.patch(from, to, with)
		return
	}
	if n.anchor != "" || n.tagged {
		refuse("the value has an anchor or a tag")
	}
	e.patch(c.after, c.end(), "")
	indent := strings.Repeat(" ", column(text, c.start))
	if at.parent.kind == ListKind {
		e.d.refuseComment(c.end())
		e.patch(c.end(), c.end(), " "+p.blockOf(want, indent+"  ", model))
		return
	}
	inner := indent + p.style.unit
	if _, isList := want.([]any); isList {
		inner = indent + p.style.dashes
	}
	end := e.d.endOfBlock(c.end())
	e.patch(end, end, p.nl+inner+p.blockOf(want, inner, model))
}

// afterProps returns where the value of an entry may begin: after its anchor and tag.
func (d *Document) afterProps(c *child) int {
	n := c.node
	if n.anchor == "" && !n.tagged {
		return c.after
	}
	return int(n.props) + len(strings.TrimRight(d.text[n.props:n.start], " \t\r\n"))
}

// dropLines removes whole lines: up to end, from the newline before the line of start.
func (e *editor) dropLines(start, end int) {
	if start = lineStart(e.d.text, start); start == 0 {
		e.patch(0, nextLine(e.d.text, end), "")
	} else {
		e.patch(prevLineEnd(e.d.text, start), end, "")
	}
}

func (e *editor) removeBlock(holder *place, gone []int) {
	n, text := holder.node, e.d.text
	isGone := func(i int) bool {
		_, is := slices.BinarySearch(gone, i)
		return is
	}
	if len(gone) == len(n.children) {
		e.emptyBlock(holder)
		return
	}
	for i := 0; i < len(n.children); i++ {
		if !isGone(i) {
			continue
		}
		c := &n.children[i]
		end := e.d.endOfBlock(c.end())
		if _, own := margin(text, c.start); own {
			e.dropLines(c.start, end)
			continue
		}
		// The first member after a dash: the next one takes its place.
		for {
			end = e.d.endOfBlock(n.children[i].end())
			i++
			if strings.TrimSpace(text[end:n.children[i].start]) != "" {
				refuse("there is a comment between the members")
			}
			if !isGone(i) {
				break
			}
		}
		e.patch(c.start, n.children[i].start, "")
	}
}

// emptyBlock writes {} or [] for a map or list that loses its last entry.
func (e *editor) emptyBlock(at *place) {
	n, text := at.node, e.d.text
	empty := "{}"
	if n.kind == ListKind {
		empty = "[]"
	}
	last := &n.children[len(n.children)-1]
	end := e.d.endOfBlock(last.end())
	_, own := margin(text, n.start)
	switch {
	case !own || at.parent == nil && (n.kind == ListKind || strings.Contains(text[n.end:], "\n...")): // a document must not be empty
		e.patch(n.start, n.end, empty)
	case at.parent != nil:
		key := e.d.afterProps(at.child())
		e.patch(key, key, " "+empty)
		e.dropLines(n.start, end)
	case nextLine(text, end) > end:
		e.patch(lineStart(text, n.start), nextLine(text, end), "")
	default:
		e.dropLines(n.start, end)
	}
}
