package doctor

import (
	"regexp"
	"slices"
	"strings"
)

// page is a text and the hits of all needles in it.
type page struct {
	text string
	hits []*hits
}

// match is a place where a pattern matched.
type match struct {
	x     *exam
	said  string            // the line, for Reasons
	hit   string            // the part of it that matched
	names map[string]string // what the named groups captured
	own   *sighting         // that the match is, if it is not a place in the text
}

// says reports whether the line contains one of these.
func (m *match) says(words ...string) bool { return containsAny(m.said, words) }

// mentions reports whether the text contains one of these.
func (p *page) mentions(words ...string) bool { return containsAny(p.text, words) }

func containsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

// A pattern is matched against the lines around its needle: many tools break their sentences into
// lines.
const (
	before = 700
	after  = 700
)

// find returns the first match of the pattern that good accepts.
func (p *page) find(pattern *pattern, good func(*match) bool) *match {
	if !p.holds(pattern) {
		return nil
	}
	var found *match
	for _, needle := range pattern.needles {
		h := p.hits[needle]
		if h == nil {
			continue
		}
		done := -1 // end of the last window with the needle in its middle
		h.each(func(at int) bool {
			if at <= done {
				return true
			}
			from, to := p.around(at, pattern.lines)
			found = p.findIn(pattern.compile(), from, to, good)
			done = min(to, at+after/2)
			return found == nil
		})
		if found != nil {
			return found
		}
	}
	return nil
}

// holds reports whether the text contains everything that the pattern needs.
func (p *page) holds(pattern *pattern) bool {
	for _, set := range pattern.needs {
		if !slices.ContainsFunc(set, func(needle int) bool { return p.hits[needle] != nil }) {
			return false
		}
	}
	return true
}

func (p *page) findIn(re *regexp.Regexp, from, to int, good func(*match) bool) *match {
	window := p.text[from:to]
	where := re.FindStringSubmatchIndex(window)
	if where == nil {
		return nil
	}
	if m := p.matchAt(re, window, from, where); good == nil || good(m) {
		return m
	}
	for _, where := range re.FindAllStringSubmatchIndex(window, 8)[1:] {
		if m := p.matchAt(re, window, from, where); good(m) {
			return m
		}
	}
	return nil
}

// around returns the window for a needle that ends at a position: its line, or several lines.
func (p *page) around(at int, lines bool) (from, to int) {
	if !lines {
		from, to = max(0, at-before), min(len(p.text), at+after)
		from += strings.LastIndexByte(p.text[from:at], '\n') + 1
		if end := strings.IndexByte(p.text[at:to], '\n'); end >= 0 {
			to = at + end
		}
		return from, to
	}
	if from = at - before; from <= 0 {
		from = 0
	} else if line := strings.IndexByte(p.text[from:at], '\n'); line >= 0 {
		from += line + 1 // half a line could be misread
	}
	return from, min(len(p.text), at+after)
}

func (p *page) matchAt(re *regexp.Regexp, window string, from int, where []int) *match {
	m := &match{hit: window[where[0]:where[1]], said: p.line(from + where[0])}
	for i, name := range re.SubexpNames() {
		if name != "" && where[2*i] >= 0 && where[2*i] < where[2*i+1] {
			if m.names == nil {
				m.names = map[string]string{}
			}
			m.names[name] = window[where[2*i]:where[2*i+1]]
		}
	}
	return m
}

// line returns the line around a position.
func (p *page) line(at int) string {
	from := strings.LastIndexByte(p.text[:at], '\n') + 1
	to := strings.IndexByte(p.text[at:], '\n')
	if to < 0 {
		return p.text[from:]
	}
	return p.text[from : at+to]
}
