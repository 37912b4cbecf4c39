package fault

import (
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
)

func (f *Fault) detail() string { return f.passage(f.Detail) }

// detailWith returns the detail to show next to a cause, which stands for any detail but the server's response.
func (f *Fault) detailWith(c Cause) string {
	if c.Known() && !f.entry().response {
		return ""
	}
	return f.detail()
}

func (f *Fault) passage(s string) string { return plaintext.Cap(f.Secrets.Hide(s), redact.MaxPassage) }

func (f *Fault) foreign(s string) string {
	if s == "" {
		return ""
	}
	return f.Secrets.Quote(s)
}

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
