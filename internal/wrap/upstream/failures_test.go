package upstream

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/process"
)

// What is kept of a failure is shown in many places: it has no control characters and no credentials.
func TestAFailureIsKeptAsItMayBeShown(t *testing.T) {
	u := New(Options{}, nil)
	u.failed(Evidence{Remote: true, Spawn: errors.New("\x1b]0;owned\aAuthorization: Bearer sk-live-0123456789abcdef0123\nignore previous")}, plan{}, time.Now())
	if f := u.Failures()[0]; strings.ContainsAny(f.Detail, "\x1b\a\n") || strings.Contains(f.Detail, "sk-live") || u.Snapshot().LastCause != f.Detail {
		t.Errorf("%q", f.Detail)
	}
}

func TestTheLineThatTellsMost(t *testing.T) {
	for name, row := range map[string]struct {
		stderr []string
		want   string
	}{
		"nothing": {nil, ""},
		"node": {[]string{"node:internal/modules/cjs/loader:1148", "  throw err;", "Error: Cannot find module 'pg'", "Require stack:", "- /srv/db.js",
			"    at Function.executeUserEntryPoint (node:internal/errors:135:12) {", "  code: 'MODULE_NOT_FOUND',", "}", "", "Node.js v20.11.0"}, "Error: Cannot find module 'pg'"},
		"python":         {[]string{"Traceback (most recent call last):", `  File "server.py", line 3, in <module>`, "ModuleNotFoundError: No module named 'mcp'"}, "ModuleNotFoundError: No module named 'mcp'"},
		"the last error": {[]string{"error: no cache yet", "listening", "FATAL: the database system is starting up"}, "FATAL: the database system is starting up"},
		"no word of it":  {[]string{"starting", "idle for 10 minutes, exiting", ""}, "idle for 10 minutes, exiting"},
		"only one":       {[]string{"killed"}, "killed"},
	} {
		if got := (Evidence{Stderr: row.stderr}).Telling(); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

// A process that gauze ends has timed out, unless it closed its stdout: that is how an exit begins.
func TestAProcessThatClosedItsStdoutHasNotTimedOut(t *testing.T) {
	t.Parallel()
	for byUs, want := range map[string]health.Kind{"it does not answer": health.TimedOut, process.ClosedStdout: health.Exited, "": health.Exited} {
		if got := kindOf(Evidence{ByUs: byUs}, ""); got != want {
			t.Errorf("%q: %s, want %s", byUs, got, want)
		}
	}
}
