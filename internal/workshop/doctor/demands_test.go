package doctor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// atStartup returns the case of a server that gauze started on Linux, and that exited with status 1
// after writing to stderr.
func atStartup(command, stderr string, set ...string) Case {
	return Case{Command: SplitCommand(command), Live: true, OS: "linux", Stage: Started, Stderr: stderr, Set: set,
		Exit: Exit{Known: true, Code: 1, Said: "exit status 1"}}
}

func TestVariablesAreReadFromAnyComplaint(t *testing.T) {
	for _, c := range []struct {
		what, stderr string
		set          []string
		want, not    []string
	}{
		{"an instruction", "Please supply a token with the --notes-token flag or set the NOTES_TOKEN environment variable", nil, []string{"NOTES_TOKEN"}, nil},
		{"an article and a quote", "No API key found. Provide it in the `ACME_API_KEY` environment variable", nil, []string{"ACME_API_KEY"}, nil},
		{"after the noun", "Error: Acme API key not provided. Either pass --api-key=$KEY or set the ACME_SECRET_KEY environment variable.", nil, []string{"ACME_SECRET_KEY"}, nil},
		{"among options", "Error: An Acme API key is required via --acme-api-key, ACME_API_KEY, --acme-api-key-file, or ACME_API_KEY_FILE.", nil, []string{`"ACME_API_KEY"`}, []string{"ACME_API_KEY_FILE"}},
		{"in the usage below", "Error: No access token was provided.\n\nUsage: notes [options]\n\nEnvironment:\n  NOTES_ACCESS_TOKEN   token of the account\n  NOTES_MODEL_API_KEY  for search\n", nil, []string{"NOTES_ACCESS_TOKEN"}, []string{"MODEL_API_KEY"}},
		{"two in one line", "Please set CHAT_BOT_TOKEN and CHAT_TEAM_ID environment variables", nil, []string{"CHAT_BOT_TOKEN", "CHAT_TEAM_ID"}, nil},
		{"one of two is set", "Please set CHAT_BOT_TOKEN and CHAT_TEAM_ID environment variables", []string{"CHAT_BOT_TOKEN"}, []string{"CHAT_TEAM_ID"}, []string{"CHAT_BOT_TOKEN"}},
		{"the other one is set", "Please set CHAT_BOT_TOKEN and CHAT_TEAM_ID environment variables", []string{"CHAT_TEAM_ID"}, []string{"CHAT_BOT_TOKEN"}, []string{"CHAT_TEAM_ID"}},
		{"a list with bullets", "Missing required environment variables:\n  - SHOP_URL_BASE\n  - SHOP_API_KEY\n", []string{"SHOP_URL_BASE"}, []string{"SHOP_API_KEY"}, []string{"SHOP_URL_BASE"}},
		{"alternatives", "Either DRAW_API_KEY or DRAW_OAUTH_TOKEN is required", nil, []string{"DRAW_API_KEY"}, []string{"DRAW_OAUTH_TOKEN"}},
		{"an unrelated variable", "PLAN_TOKEN is not set. See LOG_FILE_PATH for details.", nil, []string{"PLAN_TOKEN"}, []string{"LOG_FILE_PATH"}},
		{"an example to copy", "ERROR: a database is required. Choose one:\n1. Command line argument: --dsn=\"...\"\n2. Environment variable: export DSN=\"...\"", nil, []string{`"DSN"`}, nil},
		{"None in a stack trace", "Traceback (most recent call last):\n" + strings.Repeat("  File \"/x/run.py\", line 14, in main\n    run()\n", 20) + "  File \"/x/server.py\", line 148, in create\n    client = Client(base=NOTES_URL)\n  File \"/x/client.py\", line 12, in __init__\n    self.base = base.rstrip(\"/\")\nAttributeError: 'NoneType' object has no attribute 'rstrip'", nil, []string{"NOTES_URL"}, nil},
		{"keys of a validator's errors", "Invalid environment variables {\n  _errors: [],\n  NOTES_USER_ROLE: {\n    _errors: [ 'Required' ]\n  }\n}", nil, []string{"NOTES_USER_ROLE"}, nil},
		{"all are set", "CHAT_TOKEN environment variable is required", []string{"CHAT_TOKEN"}, []string{"Check the value of CHAT_TOKEN"}, []string{`"VALUE"`}},
		{"none is named", "Error: API key is required", nil, []string{"documentation"}, []string{"NAME"}},
	} {
		d := Diagnose(atStartup("npx -y notes", c.stderr, c.set...))
		if d.Cause != "env_not_set" {
			t.Errorf("%s: %s (%q)", c.what, d.Cause, d.Reasons)
		}
		for _, want := range c.want {
			if !strings.Contains(d.Fix, want) {
				t.Errorf("%s: the fix does not contain %s: %s", c.what, want, d.Fix)
			}
		}
		for _, not := range c.not {
			if strings.Contains(d.Fix, not) {
				t.Errorf("%s: the fix contains %s: %s", c.what, not, d.Fix)
			}
		}
	}
}

// A server that fails right after its first installation fails for the reason that it gives.
func TestFirstInstallationIsNoDrift(t *testing.T) {
	const installed = "Downloading cryptography (4.2MiB)\nInstalled 49 packages in 275ms\nTraceback (most recent call last):\n  File \"/home/a/.cache/uv/archive-v0/x/bin/notes-mcp\", line 6, in <module>\n    from notes_mcp.server import main\n"
	for _, c := range []struct{ what, stderr, cause, not string }{
		{"a variable", installed + "ValueError: NOTES_API_KEY environment variable is required", "env_not_set", "--with"},
		{"a setting", installed + "RuntimeError: base url must not be empty", "env_not_set", "--with"},
		{"a database", installed + "ConnectionRefusedError: [Errno 111] Connect call failed ('127.0.0.1', 5432)", "companion_app_not_running", "--with"},
		{"the protocol's library", installed + "ImportError: cannot import name 'Server' from 'mcp.server'", "dependency_version_drift", "@latest"},
		{"a different library", installed + "ImportError: cannot import name 'Client' from 'httpx'", "dependency_version_drift", "--with"},
		{"a different library below the protocol's", installed + "  File \"/x/site-packages/mcp/server/fastmcp/server.py\", line 1, in <module>\nImportError: cannot import name 'y' from 'pydantic._internal' (/x)", "dependency_version_drift", "--with"},
		{"all versions yanked", "error: No solution found when resolving tool dependencies\n  cause: Because all versions of notes-mcp were yanked (reason: replaced) and you require notes-mcp, we can conclude that your requirements are unsatisfiable.", "package_unpublished", "--with"},
	} {
		d := Diagnose(atStartup("uvx notes-mcp", c.stderr))
		if d.Cause != c.cause || strings.Contains(d.Fix, c.not) {
			t.Errorf("%s: %s: %s", c.what, d.Cause, d.Fix)
		}
	}
}

func TestPythonThatMeetsARequirement(t *testing.T) {
	for requirement, want := range map[string]string{
		">=3.13": "3.13", ">=3.14.0,<3.16": "3.14", ">=3.10": "", ">=3.8,<3.11": "3.10", "==3.11.*": "3.11", "<=3.9": "3.9", ">=3.12,<3.13": "", "3.12 or newer": "", ">=3.13; rm -r ~": "", "": "",
	} {
		if got := pythonFor(requirement); got != want {
			t.Errorf("%q: %q, want %q", requirement, got, want)
		}
	}
	d := Diagnose(atStartup("uvx notes-mcp", "error: No solution found when resolving tool dependencies\n  cause: Because the current Python version (3.11.2) does not satisfy Python>=3.13 and all versions of notes-mcp depend on Python>=3.13, we can conclude that all versions of notes-mcp cannot be used."))
	if !strings.Contains(d.Fix, "uvx --python 3.13 notes-mcp") {
		t.Error(d.Fix)
	}
}

// A consequence of the cause is not offered as a different cause.
func TestConsequencesAreNotOtherCauses(t *testing.T) {
	d := Diagnose(atStartup("uvx boxes", "docker.errors.DockerException: Error while fetching server API version: ('Connection aborted.', FileNotFoundError(2, 'No such file or directory'))\nFileNotFoundError: [Errno 2] No such file or directory"))
	for _, other := range d.Others {
		if other.Cause == "gui_path_missing" || other.Cause == "data_file_missing" {
			t.Errorf("%s beside %s", other.Cause, d.Cause)
		}
	}
}

func TestWhatAnArgumentIsCalled(t *testing.T) {
	for _, c := range []struct{ command, stderr, want, not string }{
		{"npx -y notes", "Please provide a notebook URL as a command-line argument", "(notebook URL)", ""},
		{"uvx notes", "notes requires the vault directory as first argument", "(vault directory)", ""},
		{"npx -y notes", "Error: spec is required. Use one of: --spec-file or --spec-inline", "(--spec-file)", ""},
		{"npx -y files /srv/none", "Warning: Cannot access directory /srv/none, skipping\nError: None of the specified directories are accessible", "/srv/none does not", "skipping"},
	} {
		d := Diagnose(atStartup(c.command, c.stderr))
		if !strings.Contains(d.Explanation, c.want) || c.not != "" && strings.Contains(d.Explanation, c.not) {
			t.Errorf("%s: %s", d.Cause, d.Explanation)
		}
	}
}

// What is known of a missing file or module is said, and no more.
func TestWhatIsMissingIsSaidAsItIsKnown(t *testing.T) {
	const esm = "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '%s' imported from /srv/notes/server.mjs"
	for _, c := range []struct{ command, stderr, want, not string }{
		{"python -m mcp-server-time", "/usr/bin/python: No module named mcp-server-time", "no hyphens", ""},
		{"python server.py", "Error: to use this, run: pip install python-dotenv", "python-dotenv", "hyphens"},
		{"bash start.sh", "Error: Cannot find module '/srv/notes/server.mjs '", "a space or a carriage return", ""},
		{"node server.mjs", fmt.Sprintf(esm, "/srv/notes/Tools.mjs"), "own files, /srv/notes/Tools.mjs,", "extension"},
		{"node server.mjs", fmt.Sprintf(esm, "/srv/notes/tools"), "without the file's extension", ""},
		{"node server.mjs", "Error: Cannot find module '/srv/notes/tools'", "", "without the file's extension"},
	} {
		d := Diagnose(atStartup(c.command, c.stderr))
		if !strings.Contains(d.Explanation, c.want) || c.not != "" && strings.Contains(d.Explanation, c.not) {
			t.Errorf("%s: %s", d.Cause, d.Explanation)
		}
	}
}

// A program that ends without an error did not stay to serve.
func TestStatusZeroIsNoCrash(t *testing.T) {
	for code, want := range map[int]bool{0: true, 1: false} {
		d := Diagnose(Case{Command: []string{"python", "server.py"}, Live: true, Stage: Started, Exit: Exit{Known: true, Code: code, Said: fmt.Sprint("exit status ", code)}})
		if d.Cause != exitedSilently || strings.Contains(d.Explanation, "ended without an error") != want {
			t.Errorf("%d: %s: %s", code, d.Cause, d.Explanation)
		}
	}
}

func TestSetVariablesAreKnown(t *testing.T) {
	spec := launch.Spec{Command: "env", Args: []string{"A_TOKEN=abc", "npx", "notes"}, Env: []string{"B_TOKEN=xyz", "C_TOKEN=", "D_TOKEN=your-token-here"}}
	if got := strings.Join(variablesSet(spec), " "); got != "B_TOKEN A_TOKEN" {
		t.Errorf("set: %q", got)
	}
}

func TestDemandsThatAreNotAboutVariables(t *testing.T) {
	const zod = "Server error: [\n  {\n    \"code\": \"too_small\",\n    \"message\": \"Notes URL cannot be empty\",\n    \"path\": [\n      \"url\"\n    ]\n  }\n]"
	for _, c := range []struct{ command, stderr, cause string }{
		{"npx -y notes", "Please provide a notebook URL as a command-line argument", "required_argument_missing"},
		{"uvx notes", "error: pass the vault's directory as the first argument", "required_argument_missing"},
		{"npx -y notes", "API key is required. Pass it with --api-key", "required_argument_missing"},
		{"npx -y notes", "[4711] Usage: notes <https://server-url> [port]", "required_argument_missing"},
		{"npx -y notes", "Usage:\n  notes [options] <directory>", "required_argument_missing"},
		{"npx -y notes", "Invalid number of arguments", "required_argument_missing"},
		{"npx -y notes", "not enough arguments", "required_argument_missing"},
		{"npx -y notes", "Uncaught exception: Error: Unknown command: undefined. Expected 'init' or 'run'.", "required_argument_missing"},
		{"npx -y notes", "notes: no subcommand specified", "required_argument_missing"},
		{"npx -y notes --root /srv", "Cannot read /srv. Pass a directory with --root", "unknown"},

		{"npx -y notes", "Credentials not found. Please run with 'auth' argument first.", "oauth_not_completed"},
		{"npx -y notes", "No saved session. Run `notes login` once before starting the server.", "oauth_not_completed"},
		{"uvx notes", "Token file missing, run the setup command first", "oauth_not_completed"},

		{"uvx notes --vault /srv/none", "ERROR:notes.server:/srv/none does not exist", "wrong_directory_argument"},
		{"npx -y notes --vault=/srv/none", "fatal: '/srv/none' is not a vault", "wrong_directory_argument"},
		{"npx -y notes ./none", "startup failed: no such directory (./none)", "wrong_directory_argument"},

		{"uvx boxes", "  + Exception Group Traceback (most recent call last):\n  |   File \"/x/y.py\", line 6, in <module>\n  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File \"/x/docker/api/client.py\", line 230, in z\n    | docker.errors.DockerException: Error while fetching server API version: ('Connection aborted.', FileNotFoundError(2, 'No such file or directory'))\n    +------------------------------------", "docker_daemon_down"},
		{"npx -y boxes", "Error: connect ENOENT /home/a/.docker/run/docker.sock", "docker_daemon_down"},
		{"npx -y boxes", "failed to open unix:///run/podman/podman.sock: No such file or directory (os error 2)", "docker_daemon_down"},
		{"uvx notes", "  + Exception Group Traceback (most recent call last):\n  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n    | Traceback (most recent call last):\n    |   File \"<frozen os>\", line 714, in __getitem__\n    | KeyError: 'NOTES_TOKEN'", "env_not_set"},

		{"npx -y notes", zod, "env_not_set"},
		{"npx -y notes", "Error: base url must not be empty", "env_not_set"},
		{"npx -y notes", "Error: Invalid accountId", "setting_value_invalid"},
		{"npx -y notes", strings.Replace(zod, "Notes URL cannot be empty", "Invalid Notes URL format", 1), "setting_value_invalid"},

		{"npx -y @acme/notes", "npm error code ENOVERSIONS\nnpm error No versions available for @acme/notes", "package_unpublished"},
		{"uvx notes", "  × No solution found when resolving tool dependencies:\n  ╰─▶ Because only notes==1.0 is available and notes==1.0 was yanked (reason: replaced), we can conclude that all versions of notes cannot be used.", "package_unpublished"},
		{"uvx notes", "error: all versions of notes have been yanked", "package_unpublished"},

		{"npx -y notes", "Error: Cannot find module '/home/a/.npm/_npx/0123456789abcdef/node_modules/sdk/dist/server/mcp' imported from /home/a/.npm/_npx/0123456789abcdef/node_modules/notes/dist/index.js", "broken_package_release"},
		{"npx -y notes", "Error: Cannot find module '/home/a/.npm/_npx/0123456789abcdef/node_modules/sdk/dist/server/mcp.js' imported from /home/a/.npm/_npx/0123456789abcdef/node_modules/notes/dist/index.js", "npx_cache_corrupt"},
	} {
		d := Diagnose(atStartup(c.command, c.stderr))
		if d.Cause != c.cause && !(c.cause == "unknown" && d.Cause != "required_argument_missing") {
			t.Errorf("%s, want %s (%q)\n%s", d.Cause, c.cause, d.Reasons, c.stderr)
		}
	}
}

func TestBuildAndPlatformAdvice(t *testing.T) {
	missing := func(file string) string {
		return "node:internal/modules/cjs/loader:1228\n  throw err;\n\nError: Cannot find module '" + file + "'\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}"
	}
	spawned := func(command string) Case {
		return Case{Command: SplitCommand(command), Live: true, OS: "linux", Spawn: Spawn{Errno: "ENOENT", Of: "command", Path: SplitCommand(command)[0]}}
	}
	for _, c := range []struct {
		what string
		seen Case
		want string
		not  string
	}{
		{"dist", atStartup("node /srv/notes/dist/index.js", missing("/srv/notes/dist/index.js")), "npm run build", "absolute path"},
		{"build", atStartup("node /srv/notes/build/main.mjs", missing("/srv/notes/build/main.mjs")), "npm run build", "absolute path"},
		{"required by its own file", atStartup("node /srv/notes/cli.js", "Error: Cannot find module './dist/server.js'\nRequire stack:\n- /srv/notes/cli.js"), "npm run build", ""},
		{"a source file", atStartup("node /srv/notes/index.js", missing("/srv/notes/index.js")), "absolute path", "Build the project"},

		{"an absolute path", atStartup("python3 /srv/notes.py", "python3: can't open file '/srv/notes.py': [Errno 2] No such file or directory"), "Correct the path", "absolute path"},
		{"a relative path", atStartup("python3 notes.py", "python3: can't open file '/notes.py': [Errno 2] No such file or directory"), "absolute path", ""},
		{"outside of the project", atStartup("npm run start", "npm error enoent Could not read package.json: Error: ENOENT: no such file or directory, open '/srv/package.json'"), "--prefix", "in the arguments"},

		{"a variable before the program", spawned(`"NOTES_TOKEN=abc npx -y notes"`), `"NOTES_TOKEN": "VALUE"`, "Windows"},
		{"a variable as the program", spawned(`NOTES_TOKEN=abc npx -y notes`), `"NOTES_TOKEN": "VALUE"`, "Windows"},
		{"two variables", spawned(`"A_KEY=1 B_KEY=2 uvx notes"`), `set the variable under "env"`, "Windows"},

		{"a program of Windows", spawned(`'C:\Users\me\npx.cmd' -y notes`), "on this system", "Build or install"},
		{"a directory of Windows", atStartup(`npx -y files 'C:\Users\me\notes'`, `Error accessing directory /srv/C:\Users\me\notes: ENOENT`), "on this system", "must be an absolute path"},
		{"a directory of Windows that is not named", atStartup(`npx -y files 'C:\Users\me\notes'`, `Error: None of the specified directories are accessible`), "on this system", "must be an absolute path"},
		{"a script of Windows", atStartup(`node 'C:\notes\server.js'`, missing(`/srv/C:\notes\server.js`)), "on this system", "npm run build"},
	} {
		d := Diagnose(c.seen)
		if !strings.Contains(d.Fix, c.want) || c.not != "" && strings.Contains(d.Fix+d.Explanation, c.not) {
			t.Errorf("%s: %s: %s %s", c.what, d.Cause, d.Explanation, d.Fix)
		}
	}
}

func TestAssignmentsBecomeVariables(t *testing.T) {
	for _, c := range []struct {
		spec launch.Spec
		want string
	}{
		{launch.Spec{Command: "A_KEY=1 npx -y notes"}, "A_KEY=1 | npx -y notes"},
		{launch.Spec{Command: "A_KEY=1", Args: []string{"npx", "-y", "notes"}}, "A_KEY=1 | npx -y notes"},
		{launch.Spec{Command: "A_KEY=1 B_KEY='x y' uvx", Args: []string{"notes"}}, "A_KEY=1 B_KEY=x y | uvx notes"},
		{launch.Spec{Command: "npx -y notes"}, " | npx -y notes"},
		{launch.Spec{Command: "NODE_OPTIONS=--require=/tmp/x.js npx -y notes"}, ""},
		{launch.Spec{Command: "A_KEY=1"}, ""},
	} {
		c.spec.Env = []string{}
		fixes := splitLine(&plan{m: &Machine{OS: "linux"}, spec: c.spec})
		if len(fixes) == 0 {
			if c.want != "" {
				t.Errorf("no fix for %q", c.spec.Command)
			}
			continue
		}
		s := fixes[0].Apply(c.spec)
		if got := strings.Join(s.Env, " ") + " | " + strings.Join(append([]string{s.Command}, s.Args...), " "); got != c.want {
			t.Errorf("%q: %q, want %q", c.spec.Command, got, c.want)
		}
	}
}
