package fault

import (
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

func (f *Fault) detail() string { return f.passage(f.Detail) }

// detailWith returns the detail to show next to a cause, which stands for any detail but the server's response.
func (f *Fault) detailWith(c Cause) string {
	if c.Known() && !f.entry().response {
		return ""
	}
	return f.detail()
}

// redacted returns a text without control characters and the values that Hide names. Patterns are
// applied to the result: one that hides half of a value would leave the other half.
func (f *Fault) redacted(s string) string {
	s = plaintext.Clean(s)
	if f.hide != nil {
		s = f.hide(s)
	}
	return s
}

func (f *Fault) passage(s string) string { return redact.Passage(f.redacted(s)) }

func (f *Fault) foreign(s string) string { return redact.Quote(f.redacted(s)) }

// foreignLines returns the last n lines that are not empty, safe to show: a program's last output
// usually says why it exited.
func (f *Fault) foreignLines(lines []string, n int) []string {
	var out []string
	for _, l := range redact.PrivateKeys(redact.Recent(lines)) {
		if q := f.foreign(l); q != "" {
			out = append(out, q)
		}
	}
	if len(out) > n {
		out = out[len(out)-n:]
	}
	return out
}
