package doctor

import (
	"errors"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

func TestTheLadderIsTheSame(t *testing.T) {
	for ours, theirs := range map[Stage]upstream.Stage{Nowhere: upstream.Nowhere, Located: upstream.Located, Started: upstream.Started,
		Spoke: upstream.Spoke, Initialized: upstream.Initialized, Listed: upstream.Listed} {
		if c := FromEvidence(launch.Spec{}, upstream.Evidence{Stage: theirs}); c.Stage != ours {
			t.Errorf("%v became %v", theirs, c.Stage)
		}
	}
}

func TestACaseHoldsWhatWasSeen(t *testing.T) {
	missing := errors.New("fork/exec /srv/run: no such file or directory")
	post := func(status int, kind string) upstream.Response {
		return upstream.Response{Method: "POST", Status: status, ContentType: kind}
	}
	get := func(status int) upstream.Response { return upstream.Response{Method: "GET", Status: status} }
	for what, story := range map[string]struct {
		seen  upstream.Evidence
		holds func(Case) bool
	}{
		"an interpreter": {upstream.Evidence{Spawn: missing, Errno: "ENOENT", Program: upstream.Program{Exists: true, Executable: true, Interpreter: "/no/python3"}},
			func(c Case) bool {
				return c.Spawn == Spawn{Errno: "ENOENT", Path: "/no/python3", Of: "interpreter"}
			}},
		"a folder": {upstream.Evidence{Spawn: &launch.WorkdirError{Dir: "/none"}, Errno: "ENOENT"},
			func(c Case) bool { return c.Spawn.Of == "cwd" && c.Spawn.Path == "/none" }},
		"a signal": {upstream.Evidence{Exit: "signal: killed", Code: -1, Signal: "SIGKILL", Ran: time.Second},
			func(c Case) bool { return c.Exit.Signal == "SIGKILL" && c.Exit.After == time.Second }},
		"an end that we made": {upstream.Evidence{Exit: "signal: killed", Code: -1, Signal: "SIGKILL", ByUs: "it did not answer"},
			func(c Case) bool { return !c.Exit.Known }},
		"bytes as they came": {upstream.Evidence{StderrTail: []byte("caf\xe9"), Stderr: []string{"x"}, StdoutHead: []byte("hello")},
			func(c Case) bool { return c.Stderr == "caf\xe9" && c.Stdout == "hello" }},
		"the limit": {upstream.Evidence{Limit: upstream.AtLimit{Passed: true, Alive: true, CPUKnown: true, CPU: time.Second, Window: time.Second,
			Survey: upstream.Survey{Ports: []int{8000}, Downloading: "npm"}}},
			func(c Case) bool {
				return c.Limit.Passed && c.Limit.Alive && c.Limit.Busy && c.Limit.Downloading && c.Limit.Listening == 8000
			}},
		"a challenge": {upstream.Evidence{HTTP: []upstream.Response{{Method: "POST", Status: 401, Authenticate: "Bearer", Session: true, Body: []byte("no")}}},
			func(c Case) bool {
				return len(c.HTTP) == 1 && c.HTTP[0] == HTTP{Status: 401, Method: "POST", Authenticate: "Bearer", Session: "yes", Body: "no"}
			}},
		"the old transport, found": {upstream.Evidence{HTTP: []upstream.Response{post(405, "text/plain"), get(200), post(202, ""), get(405), post(500, "text/plain")}},
			func(c Case) bool { return len(c.HTTP) == 1 && c.HTTP[0].Status == 500 }},
		"a page": {upstream.Evidence{HTTP: []upstream.Response{post(200, "text/html")}}, func(c Case) bool { return len(c.HTTP) == 1 }},
		"hung up": {upstream.Evidence{HTTP: []upstream.Response{{Method: "POST", Failed: "EOF"}}},
			func(c Case) bool { return len(c.HTTP) == 0 && c.Log == "EOF" }},
		"an error": {upstream.Evidence{Stage: upstream.Initialized, RPC: []upstream.RPCError{
			{Method: "initialize", Phase: upstream.Started, Code: -32022}, {Method: "tools/list", Phase: upstream.Initialized, Code: -32603, Message: "no"}}},
			func(c Case) bool {
				return len(c.RPC) == 1 && c.RPC[0] == RPC{Code: -32603, Method: "tools/list", Message: "no"}
			}},
		"two handshakes refused": {upstream.Evidence{Stage: upstream.Spoke, RPC: []upstream.RPCError{
			{Method: "initialize", Phase: upstream.Started, Code: -32022}, {Method: "server/discover", Phase: upstream.Started, Code: -32601}}},
			func(c Case) bool { return len(c.RPC) == 1 && c.RPC[0].Method == "initialize" }},
	} {
		if c := FromEvidence(launch.Spec{Command: "/srv/run"}, story.seen); !story.holds(c) {
			t.Errorf("%s: %+v", what, c)
		}
	}
}
