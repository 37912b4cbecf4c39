package doctor

import (
	"strings"
	"testing"
)

// A client that only lost its connection does not know why. The diagnosis says what is known then,
// quotes what the client said, and names no cause.
func TestAClosedConnectionIsExplained(t *testing.T) {
	for _, log := range []string{
		"ERROR: unhandled errors in a TaskGroup (1 sub-exception)\nMCP error -32000: Connection closed\n[error] user-notes: Client closed",
		"[info] notes: Client closed for command\n  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)",
		"MCP error -32000: Connection closed",
		"notes: the connection was closed unexpectedly",
		"Transport closed",
		"McpError: connection lost",
		"Error: write EPIPE: broken pipe",
		"[notes] Server disconnected.",
		"handshaking with MCP server failed: connection closed: initialize response",
	} {
		d := Diagnose(fromLog("uvx notes", log))
		if d.Category != Unknown || !strings.Contains(d.Explanation, "the server's process exited or closed its output") || !strings.Contains(d.Fix, "`gauze test -- uvx notes`") {
			t.Errorf("%s\n%s/%s: %s\n%s", log, d.Category, d.Cause, d.Explanation, d.Fix)
		}
		lines := strings.Split(log, "\n")
		if len(d.Reasons) != len(lines) {
			t.Errorf("%s\nquotes %q", log, d.Reasons)
		}
		if wrapped := strings.Contains(d.Explanation, "only wraps"); wrapped != strings.Contains(log, "TaskGroup") {
			t.Errorf("%s\n%s", log, d.Explanation)
		}
	}
}

// What a client says besides that has its own sentence; what nobody says is not claimed.
func TestSymptomsAreExplained(t *testing.T) {
	for _, c := range []struct{ command, log, want string }{
		{"https://a.example/mcp", "MCP error -32000: Connection closed", "the server, or a proxy in front of it, closed the connection"},
		{"npx notes", "Failed to start MCP client", "could not start the server, or could not parse its first response"},
		{"npx notes", "notes: not connected", "is not connected to the server"},
		{"npx notes", "Error invoking remote method 'add-server': MCP error -32001: Request timed out", "did not get a response in time"},
		{"npx notes", "it just does not work", "it does not match any known cause"},
		{"npx notes", "store closed on Sundays", "it does not match any known cause"},
	} {
		if d := Diagnose(fromLog(c.command, c.log)); d.Category != Unknown || !strings.Contains(d.Explanation, c.want) {
			t.Errorf("%s: %s/%s: %s", c.log, d.Category, d.Cause, d.Explanation)
		}
	}
}

// An error that a group wraps is the cause, not the group and not the lost connection.
func TestAWrappedErrorIsFound(t *testing.T) {
	d := Diagnose(fromLog("uvx notes", "ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n    | KeyError: 'NOTES_TOKEN'\nMCP error -32000: Connection closed"))
	if d.Category != MissingEnvVar {
		t.Errorf("%s/%s: %s", d.Category, d.Cause, d.Explanation)
	}
}
