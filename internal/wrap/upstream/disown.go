package upstream

import (
	"io"

	"github.com/gauze-mcp/gauze/fault"
)

// maxHeldMark bounds what is held back because it may be the beginning of a mark.
const maxHeldMark = 1 << 10

// disowner passes a server's stderr on so that no line of it reads as one of gauze's. What may be
// the beginning of a mark is held back until more arrives. Every Write counts as the beginning of a
// line, because a line of ours may have come before it.
type disowner struct {
	w    io.Writer
	held []byte
}

func (d *disowner) Write(b []byte) (int, error) {
	text := string(append(d.held, b...))
	d.held = d.held[:0]
	var out []byte
	for {
		at, open := fault.FindMark(text, fault.LogMark)
		if at < 0 {
			if open >= 0 && len(text)-open <= maxHeldMark {
				d.held = append(d.held, text[open:]...)
				text = text[:open]
			}
			break
		}
		out = append(append(append(out, text[:at]...), fault.Disowned...), text[at])
		text = text[at+1:]
	}
	if _, err := d.w.Write(append(out, text...)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// flush writes what was held back: nothing follows that could complete a mark.
func (d *disowner) flush() {
	if len(d.held) > 0 {
		d.w.Write(d.held)
		d.held = nil
	}
}
