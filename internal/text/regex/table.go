package regex

import (
	"strings"
	"sync"
)

// Table is a text with regular expressions by name. It is read when it is first used, and a section is
// compiled when it is first used. It looks so:
//
//	# a comment
//	[name] ^(?:Error: )?(?:%)
//	one alternative
//	one more
//
// The alternatives take the place of a % in what follows the name. All are without regard to case.
type Table struct {
	text     string
	once     sync.Once
	sections []*Section
}

// Section is a part of a Table.
type Section struct {
	Name  string
	Head  string // what follows the name
	Lines []string
	lazy  Lazy
}

var sectionHead = New(`^\[([a-z -]+)\](?: (.*))?$`)

// NewTable returns the table in a text.
func NewTable(text string) *Table { return &Table{text: text} }

// Sections returns all sections, in order.
func (t *Table) Sections() []*Section {
	t.once.Do(func() {
		for line := range strings.Lines(t.text) {
			line = strings.TrimRight(line, "\r\n")
			switch head := sectionHead.FindStringSubmatch(line); {
			case line == "" || strings.HasPrefix(line, "# "):
			case head != nil:
				t.sections = append(t.sections, &Section{Name: head[1], Head: head[2]})
			default:
				last := t.sections[len(t.sections)-1]
				last.Lines = append(last.Lines, line)
			}
		}
	})
	return t.sections
}

// Of returns the expression with a name, which must be in the table.
func (t *Table) Of(name string) *Lazy {
	for _, s := range t.Sections() {
		if s.Name == name {
			return s.Lazy()
		}
	}
	panic("regex: no section " + name)
}

// Lazy returns the expression of the section.
func (s *Section) Lazy() *Lazy {
	s.lazy.once.Do(func() {
		source := strings.Join(s.Lines, "|")
		if strings.Contains(s.Head, "%") {
			source = strings.Replace(s.Head, "%", source, 1)
		}
		s.lazy.re = New("(?i)" + source).Regexp()
	})
	return &s.lazy
}
