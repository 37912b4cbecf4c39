//go:build unix

package probe

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
)

// scriptSpec is a server made of a few lines of shell.
func scriptSpec(t *testing.T, lines string) launch.Spec {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+lines+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return launch.Spec{Command: path}
}

func TestKeepsHostileOutputBoundedAndAsItCame(t *testing.T) {
	for _, story := range []struct {
		says, lines string
		check       func(Result) bool
	}{
		{"a line of 10 MB", `head -c 10000000 /dev/zero | tr '\0' x; echo; exit 1`, func(a Result) bool {
			return a.Code == 1 && strings.HasPrefix(string(a.StdoutHead), "xxxx")
		}},
		{"20 MB of stderr", `head -c 20000000 /dev/zero | tr '\0' x >&2; echo the end >&2; exit 1`, func(a Result) bool {
			return strings.HasSuffix(string(a.StderrTail), "x\x74he end\n") || strings.HasSuffix(string(a.StderrTail), "the end\n")
		}},
		{"bytes of a code page", `printf 'caf\351 \205\n' >&2; printf '\033[31mrouge\351\033[0m\n'; exit 1`, func(a Result) bool {
			return string(a.StderrTail) == "caf\xe9 \x85\n" && string(a.StdoutHead) == "\x1b[31mrouge\xe9\x1b[0m\n"
		}},
		{"a question without a line end", `printf 'Password: '; exec sleep 60`, func(a Result) bool {
			return a.Limit.Passed && strings.HasSuffix(string(a.StdoutHead), "Password: ")
		}},
		{"half of a pretty print", `echo '{'; echo '  "level": "info"'; exit 1`, func(a Result) bool {
			return string(a.StdoutHead) == "{\n  \"level\": \"info\"\n"
		}},
		{"a flood", `yes 'a line that is no message' | head -n 200000; exit 1`, func(a Result) bool { return a.Code == 1 }},
		{"an answer of another kind", `read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; read -r line`, func(a Result) bool {
			return a.Stage == upstream.Spoke && strings.Contains(a.Stopped, "contains no protocol version") && a.Invalid == a.Stopped
		}},
		{"an answer to another request", `read -r line; echo '{"jsonrpc":"2.0","id":"other","result":{}}'; exec sleep 60`, func(a Result) bool {
			return a.Limit.Passed && strings.Contains(a.Invalid, "other")
		}},
		{"a background", `sleep 60 & exit 0`, func(a Result) bool { return a.Left && a.Code == 0 }},
		{"an output that another reads", `exec 2> /dev/null; sleep 0 & exit 0`, func(a Result) bool { return !a.Left && a.Code == 0 }},
		{"a foreground", `exit 0`, func(a Result) bool { return !a.Left && a.Code == 0 }},
		{"limits", `ulimit -n 24; ulimit -v 1000000; exit 1`, func(a Result) bool {
			return runtime.GOOS != "linux" || a.Allowed == life.Allowed{Files: 24, Memory: 1024000000}
		}},
		{"a list of nothing", `read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}'; read -r line; read -r line
			echo '{"jsonrpc":"2.0","id":2,"result":{"tools":{}}}'; read -r line`, func(a Result) bool {
			return a.Stage == upstream.Initialized && strings.Contains(a.Stopped, "no list of tools")
		}},
		{"pages without end", `read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}'; read -r line; i=2
			while read -r line; do echo '{"jsonrpc":"2.0","id":'$i',"result":{"tools":[{"name":"t"}],"nextCursor":"'$i'"}}'; i=$((i+1)); done`, func(a Result) bool {
			return a.Stage == upstream.Listed && a.Found.MoreTools && len(a.Found.Tools) == maxPages
		}},
		{"a server of prompts", `read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"prompts":{}}}}'; read -r line; read -r line
			echo '{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}'; read -r line`, func(a Result) bool {
			return a.OK() && a.Stage == upstream.Listed && len(a.RPC) == 0
		}},
		{"tools that were promised", `read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}'; read -r line; read -r line
			echo '{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}'; read -r line`, func(a Result) bool {
			return !a.OK() && a.Stage == upstream.Initialized && len(a.RPC) == 1 && a.RPC[0].Method == "tools/list" && a.RPC[0].Phase == upstream.Initialized
		}},
		{"a question before the answer", `read -r line; echo '{"jsonrpc":"2.0","id":"q","method":"ping"}'; read -r line
			case $line in *'"id":"q","result":{}'*) ;; *) exit 7;; esac
			echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}'; read -r line; read -r line
			echo '{"jsonrpc":"2.0","id":"r","method":"roots/list"}'; read -r line
			case $line in *-32601*) ;; *) exit 8;; esac
			echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}'; read -r line`, func(a Result) bool { return a.Stage == upstream.Listed && a.OK() }},
	} {
		t.Run(story.says, func(t *testing.T) {
			o := patientOptions
			if strings.Contains(story.lines, "sleep") {
				o = hastyOptions
			}
			a := runUntil(t, scriptSpec(t, story.lines), o, func(a Result) bool { return !a.Limit.Passed || story.check(a) })
			if !story.check(a) {
				t.Errorf("%v %q\nstderr %.200q\nstdout %.200q\n%+v", a.Stage, a.Stopped, a.StderrTail, a.StdoutHead, a.Limit)
			}
			if len(a.StderrTail) > life.MaxStderrBytes || len(a.StdoutHead) > life.MaxStdoutBytes {
				t.Errorf("%d and %d bytes kept", len(a.StderrTail), len(a.StdoutHead))
			}
		})
	}
}

func TestSaysWhatCannotBeStarted(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dangling := filepath.Join(dir, "dangling")
	if err := os.Symlink(filepath.Join(dir, "nothing"), dangling); err != nil {
		t.Fatal(err)
	}
	write("plain", "#!/bin/sh\n", 0o644)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	other := "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 11) + "\x16\x00" + strings.Repeat("\x00", 60) // s390x
	for _, story := range []struct {
		says  string
		spec  launch.Spec
		stage upstream.Stage
		errno string
		check func(upstream.Program) bool
	}{
		{"no such name", launch.Spec{Command: "no-such-command-xyz"}, upstream.Nowhere, "ENOENT", func(p upstream.Program) bool { return p.Path == "" && !p.Exists && p.DirExists }},
		{"no such path", launch.Spec{Command: dir + "/none"}, upstream.Nowhere, "ENOENT", func(p upstream.Program) bool { return !p.Exists }},
		{"a link to nothing", launch.Spec{Command: dangling}, upstream.Located, "ENOENT", func(p upstream.Program) bool { return p.Dangling && !p.Exists }},
		{"not executable", launch.Spec{Command: dir + "/plain"}, upstream.Located, "EACCES", func(p upstream.Program) bool { return p.Exists && !p.Executable }},
		{"not executable, by name", launch.Spec{Command: "plain"}, upstream.Located, "ENOENT", func(p upstream.Program) bool { return p.Exists && !p.Executable && p.Path == dir+"/plain" }},
		{"a folder", launch.Spec{Command: dir}, upstream.Located, "EISDIR", func(p upstream.Program) bool { return p.Directory && !p.Executable }},
		{"no such working directory", launch.Spec{Command: "sh", Dir: dir + "/none"}, upstream.Located, "ENOENT", func(p upstream.Program) bool { return !p.DirExists && p.Exists && p.Dir != "" }},
		{"no such interpreter", launch.Spec{Command: write("lost", "#!/no/such/python3 -u\n", 0o755)}, upstream.Located, "ENOENT", func(p upstream.Program) bool {
			return p.Format == "script" && p.Interpreter == "/no/such/python3" && p.InterpreterPath == ""
		}},
		{"lines of Windows", launch.Spec{Command: write("crlf", "#!/bin/sh\r\necho\r\n", 0o755)}, upstream.Located, "ENOENT", func(p upstream.Program) bool {
			return p.InterpreterReturn && p.Interpreter == "/bin/sh"
		}},
		{"no format", launch.Spec{Command: write("text", "hello\n", 0o755)}, upstream.Located, "ENOEXEC", func(p upstream.Program) bool { return p.Format == "" && p.Executable }},
		{"another processor", launch.Spec{Command: write("other", other, 0o755)}, upstream.Located, "ENOEXEC", func(p upstream.Program) bool {
			return p.Foreign && p.Arch == "s390x"
		}},
	} {
		t.Run(story.says, func(t *testing.T) {
			if strings.Contains(story.says, "processor") && runtime.GOOS != "linux" {
				t.Skip("of Linux")
			}
			a := run(t, t.Context(), story.spec, hastyOptions)
			if a.Stage != story.stage || a.Errno != story.errno || a.Spawn == nil || a.Stopped == "" {
				t.Errorf("%v %s %v", a.Stage, a.Errno, a.Spawn)
			}
			if !story.check(a.Program) || a.Program.Asked != story.spec.Command {
				t.Errorf("%+v", a.Program)
			}
		})
	}
}

// The launcher ends with 127, and the name it did not find is in the script.
func TestLooksForWhatEnvWouldLookFor(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "server")
	if err := os.WriteFile(path, []byte("#!/usr/bin/env -S FOO=1 some-runtime --flag\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := launch.Spec{Command: path, Env: []string{"PATH=/usr/bin:/bin"}}
	a := run(t, t.Context(), spec, patientOptions)
	if a.Stage != upstream.Started || a.Code != 127 || a.Program.Interpreter != "some-runtime" || a.Program.InterpreterPath != "" {
		t.Errorf("%v %d %+v", a.Stage, a.Code, a.Program)
	}
	if err := os.WriteFile(filepath.Join(dir, "some-runtime"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec.Env = []string{"PATH=" + dir + ":/usr/bin:/bin"}
	if p := launch.Inspect(spec); p.InterpreterPath != filepath.Join(dir, "some-runtime") {
		t.Errorf("%+v", p)
	}
}
