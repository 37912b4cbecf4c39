package doctor

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/refusing"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// steered returns the fixes that would put text into a Spec without asking.
func steered(fixes []Fix, spec launch.Spec, text string) (names []string) {
	for _, fix := range fixes {
		if fix.Risk != Runtime || fix.Apply == nil {
			continue
		}
		if strings.Contains(fmt.Sprintf("%+v", fix.Apply(spec)), text) {
			names = append(names, fix.Name)
		}
	}
	return names
}

// asked reports whether a fix for a person contains all of these words, and no fix contains the
// value.
func asked(fixes []Fix, value string, words ...string) bool {
	found := false
	for _, fix := range fixes {
		if strings.Contains(fix.Name+fix.About+fix.Next, value) {
			return false
		}
		missing := func(word string) bool { return !strings.Contains(fix.Next, word) }
		found = found || fix.Risk > Runtime && !slices.ContainsFunc(words, missing)
	}
	return found
}

// A .env in the directory that a client happens to start the server in is not the server's own: it
// decides nothing, whatever its variables are called.
func TestAForeignDotenvDecidesNothing(t *testing.T) {
	for _, name := range []string{"PUPPETEER_EXECUTABLE_PATH", "CHROME_PATH", "PGHOST", "PGPORT", "PGSERVICE", "MYSQL_TCP_PORT", "EDITOR", "PAGER", "BROWSER", "GH_CONFIG_DIR",
		"AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_ENDPOINT_URL", "KUBECONFIG", "OPENSSL_CONF", "LESSOPEN", "API_KEY", "MY_TOKEN", "REGION", "PLUGINS", "CONFIG", "MODEL", "LOG_FILE",
		"SCRIPT", "WORKSPACE", "DATABASE", "ELECTRON_RUN_AS_NODE", "XDG_CONFIG_HOME", "TMPDIR", "VITE_CONFIG", "MAVEN_OPTS"} {
		file := func(f *fakeMachine) string { return f.file("home/me/project/.env", name+"=./"+stray+"\n") }
		for what, spec := range map[string]launch.Spec{
			"environment": {Command: "npx", Args: []string{"-y", "notes"}, Env: []string{"PATH=/given", "PGPASSWORD=" + canary, name + "=${" + name + "}"}},
			"container":   {Command: "docker", Args: []string{"run", "-i", "-e", name + "=${" + name + "}", "notes"}, Env: []string{"PATH=/given"}},
			"bridge":      {Command: "npx", Args: []string{"mcp-remote", "https://a.example/mcp", "--header", "X:${" + name + "}"}, Env: []string{"PATH=/given"}},
			"argument":    {Command: "npx", Args: []string{"-y", "notes", "--x=${" + name + "}"}, Env: []string{"PATH=/given"}},
		} {
			f := newFakeMachine(t)
			path := file(f)
			c := said("Error: 401 Unauthorized: invalid API key '${" + name + "}'")
			c.Command = append([]string{spec.Command}, spec.Args...)
			fixes := Fixes(f.Machine)(Diagnosis{Cause: "env_placeholder_not_expanded"}, c, spec)
			if bad := steered(fixes, spec, stray); len(bad) > 0 {
				t.Errorf("%s, %s: filled in by %q", name, what, bad)
			}
			if !asked(fixes, stray, name, (server{}).quoted(path)) {
				t.Errorf("%s, %s: nobody is told that %s has it: %+v", name, what, path, fixes)
			}
		}
	}
}

// The directory that gauze was started in is not the workspace that an entry refers to.
func TestTheWorkingFolderIsNotTheWorkspace(t *testing.T) {
	f := newFakeMachine(t)
	spec := launch.Spec{Command: "npx", Args: []string{"notes", "${workspaceFolder}/src"}, Env: []string{"PATH=/given"}}
	c := said("Error: no such folder ${workspaceFolder}/src")
	c.Command = append([]string{spec.Command}, spec.Args...)
	fixes := Fixes(f.Machine)(Diagnosis{Cause: "env_placeholder_not_expanded"}, c, spec)
	if bad := steered(fixes, spec, f.Dir); len(bad) > 0 {
		t.Errorf("filled in by %q", bad)
	}
	if !asked(fixes, stray, "workspaceFolder", (server{}).quoted(f.Dir)) {
		t.Errorf("%+v", fixes)
	}
	spec.Dir = f.Dir // now the entry says so itself
	if fixes := Fixes(f.Machine)(Diagnosis{Cause: "env_placeholder_not_expanded"}, c, spec); len(steered(fixes, spec, f.Dir+"/src")) == 0 {
		t.Errorf("%+v", names(fixes))
	}
}

// A compose file of a project that the server is not part of does not change its ports.
func TestAForeignComposeFileMovesNoPort(t *testing.T) {
	outer, inner := listen(t), refusing.Port(t)
	f := newFakeMachine(t)
	path := f.file("home/me/project/compose.yaml", fmt.Sprintf("services:\n  db:\n    ports: ['%d:%d']\n", outer, inner))
	spec := launch.Spec{Command: "uvx", Args: []string{"db-mcp"}, Env: []string{"PATH=/given", "DB_PORT=" + strconv.Itoa(inner)}}
	c := said(fmt.Sprintf("Error: connect ECONNREFUSED 127.0.0.1:%d", inner))
	c.Command = []string{"uvx", "db-mcp"}
	fixes := Fixes(f.Machine)(Diagnose(c), c, spec)
	if bad := steered(fixes, spec, "DB_PORT="+strconv.Itoa(outer)); len(bad) > 0 {
		t.Errorf("moved by %q", bad)
	}
	if !asked(fixes, stray, strconv.Itoa(outer), (server{}).quoted(path)) {
		t.Errorf("%+v", fixes)
	}
}

// A directory in the arguments is what the server works on, not where it is installed.
func TestAServerStartsInItsOwnFolderOnly(t *testing.T) {
	for name, words := range map[string][]string{
		"module":          {"python", "-m", "notes", "DATA"},
		"package":         {"npx", "notes", "DATA"},
		"script":          {"node", "SCRIPT", "DATA"},
		"option":          {"node", "--watch-path", "DATA/server.js", "SCRIPT"},
		"configuration":   {"deno", "run", "--config", "DATA/server.js", "SCRIPT"},
		"runner's folder": {"DATA/bin/uvx", "notes"},
	} {
		f := newFakeMachine(t)
		data := f.folder("home/me/data")
		f.file("home/me/data/.env", "A="+stray)
		f.file("home/me/data/server.js", "")
		f.file("home/me/data/bin/uvx", "")
		f.file("home/me/data/.venv/bin/python", "Python 3.12.0")
		script := f.file("home/me/servers/server.js", "")
		for i := range words {
			words[i] = strings.NewReplacer("DATA", data, "SCRIPT", script).Replace(words[i])
		}
		spec := launch.Spec{Command: words[0], Args: words[1:], Env: []string{"PATH=/given", "A=${A}"}}
		for cause, text := range map[string]string{"dotenv_not_loaded": "Error: .env file not found", "env_not_set": "Error: A environment variable is required", "venv_not_used": "ModuleNotFoundError: No module named 'notes'"} {
			c := said(text)
			c.Command = words
			for _, fix := range Fixes(f.Machine)(Diagnosis{Cause: cause}, c, spec) {
				if fix.Risk != Runtime {
					continue
				}
				if now := fix.Apply(spec); now.Dir != "" || now.Command != spec.Command || strings.Contains(fmt.Sprint(now.Env), stray) {
					t.Errorf("%s, %s: %s starts %q in %q with %q", name, cause, fix.Name, now.Command, now.Dir, now.Env)
				}
			}
		}
	}
}

// A variable that the terminal has and the server was not given is not passed on because the server
// asks for it, whatever its path is called.
func TestOurOwnEnvironmentIsNotHandedOver(t *testing.T) {
	for name, words := range map[string][]string{
		"path":    {"node", "github/weather/server.js"},
		"package": {"npx", "github-mcp"},
		"owner":   {"npx", "github:someone/weather"},
	} {
		f := newFakeMachine(t)
		f.file("home/me/github/weather/server.js", "")
		f.Dir = f.Home
		f.env["GITHUB_TOKEN"], f.env["GITHUB_REGION"] = stray, stray
		for _, variable := range []string{"GITHUB_TOKEN", "GITHUB_REGION"} {
			spec := launch.Spec{Command: words[0], Args: words[1:], Env: []string{"PATH=/given"}}
			c := said("Error: " + variable + " environment variable is required")
			c.Command = words
			fixes := Fixes(f.Machine)(Diagnose(c), c, spec)
			if bad := steered(fixes, spec, stray); len(bad) > 0 {
				t.Errorf("%s: %s is handed over by %q", name, variable, bad)
			}
			if !asked(fixes, stray, variable, "environment") {
				t.Errorf("%s: %+v", name, fixes)
			}
		}
	}
}

// The target of a redirect is the server's claim: only an address that can be derived from the
// entry's own is used.
func TestARedirectChoosesAmongOurOwnAddresses(t *testing.T) {
	f := newFakeMachine(t)
	f.Machine.Dial = nil // nobody is asked
	spec := launch.Spec{URL: "https://example.com/mcp"}
	for location, want := range map[string]string{"/mcp/": "https://example.com/mcp/", "https://EXAMPLE.com:443/mcp/": "https://example.com/mcp/", "/other-tenant/mcp": "", "/mcp/?to=" + stray: "", "https://me@example.com/mcp/": "",
		"https://evil.example/mcp": "", "http://example.com/mcp/": "", "https://example.com:8443/mcp": ""} {
		c := Case{URL: spec.URL, HTTP: []HTTP{{Status: 307, Location: location}}}
		fixes, left := followRedirect(newPlan(f.Machine, Diagnosis{Cause: "trailing_slash_redirect"}, c, spec))
		if len(fixes) != 1 || (want == "") != (fixes[0].Apply == nil) || want != "" && fixes[0].Apply(spec).URL != want || left != strings.Contains(location, "://") && want == "" && !strings.Contains(location, "@") {
			t.Errorf("%s: %v, left %v", location, names(fixes), left)
		}
	}
}

// Two servers with the same command line have different keys.
func TestATreatmentIsNotSharedBetweenServers(t *testing.T) {
	f := newFakeMachine(t)
	server := played(t, "server with a key")
	doctor := Live(f.Machine, true)
	for _, key := range []string{"one-" + canary, "two-" + canary} {
		spec := launch.Spec{Command: server[0], Args: server[1:], Env: []string{"SystemRoot=" + os.Getenv("SystemRoot"), "API_KEY=${MY_KEY}", "MY_KEY=" + key}}
		seen := probe.Run(t.Context(), spec, probe.Options{})
		treated := doctor.Treat(t.Context(), spec, seen.Evidence, func(string) {})
		if !treated.Changed || value(treated.Spec.Env, "API_KEY", false) != key || value(treated.Spec.Env, "MY_KEY", false) != key {
			t.Errorf("%s: changed %v, %q", key, treated.Changed, treated.Spec.Env)
		}
	}
}

// forPeople matches commands and settings that models must not get: they need privileges, change
// permissions, kill processes or disable a check.
var forPeople = regexp.MustCompile(`\b(?:sudo|chown|chmod|usermod|sysctl|kill \d|pkill|setcap|doas|taskkill|certutil|icacls|runas|netsh)\b|--break-system-packages|--privileged|TLS_REJECT|--insecure|verify=False|strict-ssl`)

// Advice that a model reads does not contain such a command, whatever the server wrote to get one.
func TestModelsGetNoPrivilegedAdvice(t *testing.T) {
	for what, setting := range settings() {
		for _, setting.OS = range []string{"linux", "windows"} {
			x := &exam{Case: setting, cmd: newCommand(setting.Command, setting.URL)}
			for _, c := range knowledge().causes {
				_, fixes := c.templates()
				for _, fix := range fixes {
					if text := fill(fix, func(key string) string { return x.advised(key, &match{}) }); forPeople.MatchString(text) {
						t.Errorf("%s, %s, %s: %s", c.name, setting.OS, what, text)
					}
				}
			}
		}
	}
	for _, x := range troubles() {
		_, _, _, fixes := x.offer(t)
		for _, fix := range fixes {
			if forPeople.MatchString(fix.Next) {
				t.Errorf("%s: %s", x.name, fix.Next)
			}
		}
	}
	doctor := Live(newFakeMachine(t).Machine, false)
	for _, line := range []string{"permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock", "npm error Your cache folder contains root-owned files", "ENOSPC: System limit for number of file watchers reached"} {
		cause, _ := doctor.Diagnose(launch.Spec{Command: "docker", Args: []string{"run", "-i", "img"}}, upstream.Evidence{Stage: upstream.Started, Exit: "exit status 1", Code: 1, Stderr: []string{line}})
		if cause.Remedy == "" || forPeople.MatchString(cause.Remedy) {
			t.Errorf("%s: %q", line, cause.Remedy)
		}
	}
}

// unversioned matches a command that runs the package without its version.
var unversioned = regexp.MustCompile(`(?:uvx|npx|pipx run)(?: --?[a-z]+(?: 'mcp<2'| 3\.12)?)* (?:@acme/)?notes(?:[^=@]|$)`)

// A pinned version stays.
func TestAPinnedPackageIsNotUnpinned(t *testing.T) {
	for _, line := range [][]string{{"npx", "-y", "notes@1.2.3"}, {"npx", "-y", "@acme/notes@1.2.3"}, {"uvx", "notes==1.2.3"}, {"uvx", "notes@1.2.3"}, {"uvx", "--from", "notes==1.2.3", "notes"}, {"pipx", "run", "notes==1.2"}} {
		x := &exam{Case: Case{Command: line}, cmd: newCommand(line, "")}
		for _, c := range knowledge().causes {
			for _, text := range []string{"", "mcp"} {
				x.text = text
				if d := x.tell(finding{cause: &c, match: &match{}}); strings.Contains(d.Fix, "@latest") || unversioned.MatchString(d.Fix) {
					t.Errorf("%q, %s: %s", line, d.Cause, d.Fix)
				}
			}
		}
	}
	for _, line := range [][]string{{"npx", "-y", "notes"}, {"npx", "-y", "notes@latest"}} {
		d := Diagnose(FromLog(strings.Join(line, " "), "Error: Cannot find module 'zod'\nRequire stack:\n- /home/u/.npm/_npx/0123456789abcdef/node_modules/notes/index.js\n    code: 'MODULE_NOT_FOUND'"))
		if d.Cause == "broken_npm_install" && !strings.Contains(d.Fix, "@latest") {
			t.Errorf("%q: %s", line, d.Fix)
		}
	}
}
