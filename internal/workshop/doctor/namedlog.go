package doctor

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// logFile matches how programs name the file that has the details of a failure.
var logFile = regex.New(`(?i)\b(?:logs?|logfile|details|report|trace)\b[^\n]{0,60}?[:\s"'` + "`" +
	`(](?P<path>(?:/|~/|[A-Z]:[\\/])[^\s"'` + "`" + `<>|*?()]{1,300}\.(?:log|txt))\b`)

// A log file is read only if it was written a moment ago, by a program of this user, and only its
// end.
const (
	maxLogAge  = 10 * time.Minute
	maxLogTail = 32 << 10
)

// withNamedLog returns the case of a program with the end of the log file that its output names, if
// its output alone does not show the cause. A program of this machine could have printed the file
// itself, so this shows nothing new to anyone. What runs elsewhere cannot choose a file here.
func withNamedLog(c Case) Case {
	if !c.Live || runsElsewhere(c) {
		return c
	}
	found := logFile.FindStringSubmatch(c.Stderr + "\n" + c.Stdout)
	if found == nil || Diagnose(c).Confidence >= strong {
		return c
	}
	if text := recentLog(found[1]); text != "" {
		c.Log += "\n" + text
	}
	return c
}

// runsElsewhere reports whether the output of a server may be from a different machine or a container: the
// server is at a URL, or its command connects to one.
func runsElsewhere(c Case) bool {
	cmd := newCommand(c.Command, c.URL)
	return cmd.remote() || cmd.container() || cmd.runs("ssh", "wsl", "kubectl") || strings.Contains(cmd.line, "://")
}

// recentLog returns the end of a log file, or "" if it is not one that this user's programs have just
// written.
func recentLog(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		path = filepath.Join(home, rest)
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) > maxLogAge || !isOurs(path) {
		return ""
	}
	return tailOf(path)
}

// tailOf returns the last whole lines of a file, or "".
func tailOf(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	from := max(0, size-maxLogTail)
	text, err := io.ReadAll(io.NewSectionReader(file, from, maxLogTail))
	if err != nil {
		return ""
	}
	if from > 0 {
		_, rest, _ := strings.Cut(string(text), "\n") // half a line could be misread
		return rest
	}
	return string(text)
}

// DiagnoseLog diagnoses a server from the end of its client's log. It returns false if the log does
// not show a likely cause.
func DiagnoseLog(spec launch.Spec, file string) (Diagnosis, bool) {
	c := FromLog("", tailOf(file))
	c.URL, c.Secrets = spec.URL, spec.Secrets()
	if spec.Command != "" {
		c.Command = append([]string{spec.Command}, spec.Args...)
	}
	d := Diagnose(c)
	return d, !d.Unexplained() && d.Confidence >= likely
}
