package doctor

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// A Go program that reports "not found in %PATH%" has also tried npx.cmd, so cmd /c would not find
// it either: the program is not installed.
func TestAMissingProgramOnWindowsIsInstalled(t *testing.T) {
	for _, c := range []struct{ command, explains, installs string }{
		{"npx", "Node.js (npx) is not installed", "winget install OpenJS.NodeJS.LTS"},
		{"node", "Node.js (node) is not installed", "winget install OpenJS.NodeJS.LTS"},
		{"uvx", "uv (uvx) is not installed", "winget install astral-sh.uv"},
		{"docker", "docker is not installed", "winget install Docker.DockerDesktop"},
		{"python", "Python is not installed", "winget install Python.Python.3.13"},
	} {
		d := Diagnose(Case{Live: true, OS: "windows", Command: []string{c.command, "server"}, Log: `exec: "` + c.command + `": executable file not found in %PATH%`,
			Spawn: Spawn{Errno: "ENOENT", Path: c.command, Of: "command"}})
		if !strings.Contains(d.Explanation, c.explains) || !strings.Contains(d.Fix, c.installs) || strings.Contains(d.Fix, "cmd /c") {
			t.Errorf("%s: %s\n%s\n%s", c.command, d.Cause, d.Explanation, d.Fix)
		}
	}
}

// Node's spawn does not try npx.cmd, so both are possible; whether npx.cmd exists decides.
func TestTheScriptOfWindowsIsStartedOnlyIfItIsThere(t *testing.T) {
	f := newFakeMachine(t)
	f.OS = "windows"
	f.env["APPDATA"] = f.folder("home/me/AppData/Roaming")
	spec := launch.Spec{Command: "npx", Args: []string{"-y", "pkg"}, Env: []string{"PATH=" + f.folder("given")}}
	c := FromLog("npx -y pkg", `Error: spawn npx ENOENT`)
	c.OS = "windows"
	d := Diagnose(c)
	if d.Cause != "windows_cmd_shim" {
		t.Fatalf("%s", d.Cause)
	}
	fixes := Fixes(f.Machine)(d, c, spec)
	if len(fixes) == 0 || fixes[0].Next != "Install Node.js: `winget install OpenJS.NodeJS.LTS`" || fixes[0].Apply != nil {
		t.Errorf("without npx.cmd: %v", names(fixes))
	}
	g := newFakeMachine(t)
	g.OS = "windows"
	g.env["APPDATA"] = g.folder("home/me/AppData/Roaming")
	g.file("home/me/AppData/Roaming/npm/npx.cmd", "")
	fixes = Fixes(g.Machine)(d, c, spec)
	if len(fixes) == 0 || fixes[0].Apply == nil || ofCommand(g, fixes[0].Apply(spec)) != "cmd /c npx -y pkg" {
		t.Errorf("with npx.cmd: %v", names(fixes))
	}
}

func TestAdviceHasTheWordsOfTheReadersPlatform(t *testing.T) {
	for _, c := range []struct{ command, evidence, posix, windows string }{
		{"notes", "sh: notes: command not found", "`command -v notes`", "`where.exe notes`"},
		{"node a.js", "Error: listen EADDRINUSE: address already in use 127.0.0.1:3000", "lsof -i :3000", "netstat -ano | findstr :3000"},
		{"npx notes", "npm error code ENOTEMPTY\nnpm error path /home/u/.npm/_npx/0123456789abcdef/node_modules/foo", "rm -r ~/.npm/_npx/0123456789abcdef", `Remove-Item -Recurse -Force -LiteralPath "$env:LOCALAPPDATA\npm-cache\_npx\0123456789abcdef"`},
		{"bash -c 'a b'", "nothing", "gauze test -- bash -c 'a b'", `gauze test -- bash -c "a b"`},
		{"uvx foo", "error: externally-managed-environment", "`python3 -m venv .venv`, then `.venv/bin/pip", "`python -m venv .venv`, then `.venv\\Scripts\\pip"},
	} {
		for goos, want := range map[string]string{"linux": c.posix, "darwin": c.posix, "windows": c.windows} {
			seen := FromLog(c.command, c.evidence)
			seen.OS = goos
			if d := Diagnose(seen); !strings.Contains(d.Fix, want) {
				t.Errorf("%s, %s: want %q in %s: %s", goos, c.evidence, want, d.Cause, d.Fix)
			}
		}
	}
}

// A log from Windows may be read elsewhere, but its advice is for Windows.
func TestALogFromWindowsGetsAdviceForWindows(t *testing.T) {
	seen := FromLog("notes", `C:\Users\me: 'notes' is not recognized as an internal or external command`)
	seen.OS = "darwin"
	if d := Diagnose(seen); !strings.Contains(d.Fix, "where.exe notes") {
		t.Errorf("%s: %s", d.Cause, d.Fix)
	}
}

// No cause that can occur on Windows gives advice for Unix there.
func TestNoAdviceForWindowsIsForUnix(t *testing.T) {
	ofUnix := []string{"npm_cache_root_owned", "too_many_watchers", "macos_tcc"} // their evidence cannot come from Windows
	unixWords := regexp.MustCompile("`which |\\bcommand -v\\b|\\bexport [A-Z]|\\bchmod\\b|\\bsudo\\b|~/|[^:]/path/to|/usr/|\\blsof\\b|\\bkill \\d|\\bulimit\\b|\\brm -|&&|\\$USER|\\bpython3\\b")
	x := &exam{Case: Case{Live: true, OS: "windows"}}
	for _, c := range knowledge().causes {
		words := append(slices.Clone(c.instead), advice{when: func(*match) bool { return true }, fix: c.fix, command: c.command})
		// Advice after one that always applies on Windows is never given there.
		last := slices.IndexFunc(words, func(a advice) bool { return a.when(&match{x: x}) })
		for _, a := range words[:last+1] {
			text := fill(a.explain+" "+a.fix+" "+a.command, func(key string) string { return x.advised(key, &match{}) })
			if found := unixWords.FindString(text); found != "" && !slices.Contains(ofUnix, c.name) {
				t.Errorf("%s says %q on Windows: %s", c.name, found, text)
			}
		}
	}
}
