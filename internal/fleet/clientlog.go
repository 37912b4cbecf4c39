package fleet

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// logPlaces are the logs that clients keep of each server, by client and system, below the home
// directory. NAME stands for the server.
var logPlaces = map[string]map[string]string{
	"claude-desktop": {
		"darwin":  "Library/Logs/Claude/mcp-server-NAME.log",
		"windows": "AppData/Roaming/Claude/logs/mcp-server-NAME.log",
		"linux":   ".config/Claude/logs/mcp-server-NAME.log",
	},
	"claude-code": {
		"darwin":  "Library/Caches/claude-cli-nodejs/*/mcp-logs-NAME/*",
		"windows": "AppData/Local/claude-cli-nodejs/*/mcp-logs-NAME/*",
		"linux":   ".cache/claude-cli-nodejs/*/mcp-logs-NAME/*",
	},
}

// maxLogAge is how old a client's log may be to say something about the server as it is today.
const maxLogAge = 7 * 24 * time.Hour

// clientLog returns the latest log that the client keeps of a server, or "".
func (f *Fleet) clientLog(s *Server) string {
	place := logPlaces[s.Client.ID][f.Home.OS]
	if place == "" || s.Config.InProject() {
		return "" // a project chooses the names of its servers
	}
	name := notInFileNames.ReplaceAllLiteralString(s.Name, "-")
	path := filepath.Join(f.Home.Home, filepath.FromSlash(strings.ReplaceAll(place, "NAME", name)))
	files, err := filepath.Glob(path)
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

var notInFileNames = regexp.MustCompile(`[^A-Za-z0-9_-]`)

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
	seen.Explanation = c.Hide(seen.Explanation) + " (This is in the client's log, " + c.hideValues(f.Tilde(file)) + ".)"
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
