package terminal

import (
	"io"
	"os"
)

// Paint colors text. It returns text unchanged if it is false.
type Paint bool

// PaintFor returns whether to color what is written to w: if it is a terminal and NO_COLOR is not set
// (no-color.org).
func PaintFor(w io.Writer) Paint { return Paint(os.Getenv("NO_COLOR") == "" && Is(w)) }

// Style is a parameter of SGR, ECMA-48 8.3.117.
type Style string

// The styles that commands use.
const (
	Plain   Style = ""
	Bold    Style = "1"
	Faint   Style = "2"
	Reverse Style = "7"
	Red     Style = "31"
	Green   Style = "32"
	Yellow  Style = "33"
	Cyan    Style = "36"
)

// In returns s in a style.
func (p Paint) In(style Style, s string) string {
	if !p || style == Plain {
		return s
	}
	return "\x1b[" + string(style) + "m" + s + "\x1b[0m"
}

// These methods return s in one style.
func (p Paint) Bold(s string) string   { return p.In(Bold, s) }
func (p Paint) Faint(s string) string  { return p.In(Faint, s) }
func (p Paint) Red(s string) string    { return p.In(Red, s) }
func (p Paint) Green(s string) string  { return p.In(Green, s) }
func (p Paint) Yellow(s string) string { return p.In(Yellow, s) }
func (p Paint) Cyan(s string) string   { return p.In(Cyan, s) }
