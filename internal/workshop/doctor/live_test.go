package doctor

import (
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// A cause lasts if only a person can end it. What may pass by itself is worth another start.
func TestWhichCausesLast(t *testing.T) {
	t.Parallel()
	doctor := Live(newFakeMachine(t).Machine, false)
	for _, x := range []struct {
		stderr string
		lasts  bool
	}{
		{"Error: BRAVE_API_KEY environment variable is required", true},
		{"Error: Cannot find module '@modelcontextprotocol/sdk/server/index.js'", true},
		{"ModuleNotFoundError: No module named 'mcp'", true},
		{"Error: listen EADDRINUSE: address already in use :::3000", false},
		{"Error: getaddrinfo EAI_AGAIN api.example.com", false},
		{"Segmentation fault", false},
		{"", false},
	} {
		e := upstream.Evidence{Stage: upstream.Started, Exit: "exit status 1", Code: 1, Stderr: []string{x.stderr}, StderrTail: []byte(x.stderr + "\n")}
		if cause, lasts := doctor.Diagnose(launch.Spec{Command: "notes-server"}, e); lasts != x.lasts {
			t.Errorf("%q: %s lasts: %v", x.stderr, cause.Code, lasts)
		}
	}
}
