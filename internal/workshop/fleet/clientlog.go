package fleet

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
)

// maxLogAge is how old a client's log may be to say something about the server as it is today.
const maxLogAge = 7 * 24 * time.Hour

// clientLog returns the latest log that the client keeps of a server, or "".
func (f *Fleet) clientLog(s *Server) string {
	logs, ok := f.Home.LogsOf(s.Client, notInFileNames.ReplaceAllString(s.Name, "-"))
	if !ok || s.Config.InProject() {
		return "" // a project chooses the names of its servers
	}
	files, err := filepath.Glob(logs)
	if err != nil {
		return ""
	}
	written := func(file string) time.Time {
		info, err := os.Lstat(file)
		if err != nil || !info.Mode().IsRegular() {
			return time.Time{}
		}
		return info.ModTime()
	}
	if len(files) == 0 {
		return ""
	}
	latest := slices.MaxFunc(files, func(a, b string) int { return written(a).Compare(written(b)) })
	if time.Since(written(latest)) > maxLogAge {
		return ""
	}
	return latest
}

var notInFileNames = regex.New(`[^A-Za-z0-9_-]`)

// consultLog diagnoses a server from the log of its client if the test does not show why it failed:
// the client may have seen more of the server, and may start it differently.
func (f *Fleet) consultLog(c *Checked) {
	d := c.Report.Diagnosis
	if !c.Tried || c.Report.Healthy || d == nil || !d.Unexplained() {
		return
	}
	file := f.clientLog(c.Server)
	if file == "" {
		return
	}
	seen, ok := doctor.DiagnoseLog(c.Real(), file)
	if !ok {
		return
	}
	seen.Explanation = c.Hide(seen.Explanation) + " (Found in the client's log: " + c.hideValues(string(f.Tilde(file))) + ")"
	seen.Fix = c.hideValues(seen.Fix)
	for i := range seen.Reasons {
		seen.Reasons[i] = c.Hide(seen.Reasons[i])
	}
	seen.Others = nil
	c.Report.Diagnosis, c.Report.Todo, c.Report.Command = &seen, seen.Fix, seen.Command
}

// wrote returns the last line that a server wrote, for a failure without a known cause.
func (c *Checked) wrote(d *doctor.Diagnosis) string {
	if !d.Unexplained() {
		return ""
	}
	for _, line := range slices.Backward(c.Attempt.LastLines(6)) {
		if text := c.Hide(redact.Quote(line)); strings.TrimSpace(text) != "" {
			return " Its last output: " + text
		}
	}
	return ""
}
