package doctor

import (
	"context"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// todoOf returns the next step for a person, and its command if only people are shown that.
func todoOf(f *fakeMachine, c Case, spec launch.Spec) (todo, command string) {
	return Treatment{Allow: Runtime, Fixes: Fixes(f.Machine)}.todo(Diagnose(c), c, spec)
}

// A command that installs a program is offered only if the machine has what it starts with.
func TestInstallCommandsUseOnlyWhatIsInstalled(t *testing.T) {
	for _, tt := range []struct {
		about, os, missing string
		files              []string
		want               string // the command; "" for none
	}{
		{"pip, but not pipx", "linux", "uvx", []string{"system/usr/bin/pip"}, "pip install uv"},
		{"pip3 only", "linux", "uvx", []string{"system/usr/bin/pip3"}, "pip3 install uv"},
		{"pipx before pip", "linux", "uv", []string{"system/usr/bin/pip", "home/me/.local/bin/pipx"}, "pipx install uv"},
		{"a pip that the system manages", "linux", "uvx", []string{"system/usr/bin/pip", "system/usr/lib/python3.12/EXTERNALLY-MANAGED"}, ""},
		{"nothing", "linux", "uvx", nil, ""},
		{"no npm", "linux", "bunx", nil, ""},
		{"npm", "linux", "bunx", []string{"system/usr/bin/npm"}, "npm install -g bun"},
		{"a Mac without brew", "darwin", "npx", nil, ""},
		{"a Mac with brew", "darwin", "npx", []string{"system/opt/homebrew/bin/brew"}, "brew install node"},
	} {
		f := newFakeMachine(t)
		f.OS = tt.os
		for _, name := range tt.files {
			f.file(name, "")
		}
		spec := launch.Spec{Command: tt.missing, Args: []string{"run", "foo"}, Env: []string{"PATH=/given/bin"}}
		todo, _ := todoOf(f, notThere(f, spec), spec)
		_, command, _ := strings.Cut(todo, "`")
		if command = strings.TrimSuffix(command, "`"); command != tt.want || !strings.HasPrefix(todo, "Install ") {
			t.Errorf("%s: %q, want the command %q", tt.about, todo, tt.want)
		}
	}
}

// refusedDatabase returns a project whose compose file publishes a database that does not run, and a
// server that needs it.
func refusedDatabase(t *testing.T) (*fakeMachine, Case, launch.Spec) {
	f := newFakeMachine(t)
	f.Dial = func(_ context.Context, network, address string) (net.Conn, error) {
		if network == "unix" && slices.Contains(f.sockets, address) {
			here, there := net.Pipe()
			there.Close()
			return here, nil
		}
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	f.file("home/me/project/compose.yaml", "services:\n  db:\n    image: postgres\n    ports: [\"5432:5432\"]\n")
	c := said("Error: connect ECONNREFUSED 127.0.0.1:5432")
	return f, c, launch.Spec{Command: "server", Args: []string{"postgresql://127.0.0.1:5432/a"}, Env: []string{"PATH=/given/bin"}}
}

// Docker is looked at before a service of a compose file is to be started.
func TestComposeIsAdvisedOnlyIfDockerRuns(t *testing.T) {
	const up = "up -d db"
	listen := func(f *fakeMachine, name string) { f.sockets = append(f.sockets, f.path(name)) }
	docker := func(f *fakeMachine) { f.file("system/usr/bin/docker", ""); f.file("system/usr/bin/systemctl", "") }
	for _, tt := range []struct {
		about     string
		prepare   func(*fakeMachine)
		says      string // of the next step
		starts    string // of its command
		isPresent bool   // whether compose is in the command
	}{
		{"it runs", func(f *fakeMachine) { docker(f); listen(f, "system/var/run/docker.sock") }, "tart the service db", up, true},
		{"Docker Desktop runs", func(f *fakeMachine) { docker(f); listen(f, "home/me/.docker/run/docker.sock") }, "tart the service db", up, true},
		{"it is down", docker, "Docker is not running", "sudo systemctl start docker", false},
		{"another host", func(f *fakeMachine) { docker(f); f.env["DOCKER_HOST"] = "ssh://me@example.com" }, "tart the service db", up, true},
		{"the socket of a variable is down", func(f *fakeMachine) {
			docker(f)
			f.env["DOCKER_HOST"] = "unix://" + f.path("gone.sock")
		}, "Docker is not running", "", false},
		{"a context of the user's own is down", func(f *fakeMachine) {
			docker(f)
			f.file("home/me/.docker/config.json", `{"currentContext":"colima"}`)
		}, "Docker is not running", "", false},
		{"another context", func(f *fakeMachine) {
			docker(f)
			f.file("home/me/.docker/config.json", `{"currentContext":"remote"}`)
		}, "tart the service db", up, true},
		{"it is not installed", func(*fakeMachine) {}, "Docker was not found", "", false},
		{"podman is", func(f *fakeMachine) { f.file("system/usr/bin/podman", "") }, "tart the service db", "podman compose", true},
	} {
		t.Run(tt.about, func(t *testing.T) {
			f, c, spec := refusedDatabase(t)
			tt.prepare(f)
			todo, command := todoOf(f, c, spec)
			if !strings.Contains(todo, tt.says) || !strings.Contains(todo, "db") || !strings.Contains(command, tt.starts) || tt.starts == "" && command != "" || strings.Contains(command, up) != tt.isPresent {
				t.Errorf("%q, %q", todo, command)
			}
		})
	}
}

// What is not known about Docker because the time was up stays unknown.
func TestNoTimeSaysNothingAboutDocker(t *testing.T) {
	f, _, _ := refusedDatabase(t)
	f.file("system/usr/bin/docker", "")
	f.file("system/var/run/docker.sock", "")
	f.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if got := f.Until(over).Docker(); got != dockerUnknown {
		t.Errorf("got %v", got)
	}
}

// silentServer is the case of a server that started and says nothing.
func silentServer(spec launch.Spec) Case {
	return Case{Command: append([]string{spec.Command}, spec.Args...), Live: true, OS: "linux", Stage: Started, Limit: Limit{Passed: true, Alive: true}}
}

// A silent server of a node project is told that the project's dependencies are not installed.
func TestSilentNodeProjectWithoutItsModules(t *testing.T) {
	const manifest = `{"dependencies":{"@modelcontextprotocol/sdk":"^1"}}`
	for _, tt := range []struct {
		about string
		files map[string]string
		words []string
		want  string // the command; "" if nothing is said about dependencies
	}{
		{"npm", map[string]string{"p/package.json": manifest}, []string{"node", "p/build/index.js"}, "npm install"},
		{"a lock file of pnpm", map[string]string{"p/package.json": manifest, "p/pnpm-lock.yaml": "", "system/usr/bin/pnpm": ""}, []string{"node", "p/build/index.js"}, "pnpm install"},
		{"pnpm is not installed", map[string]string{"p/package.json": manifest, "p/pnpm-lock.yaml": ""}, []string{"node", "p/build/index.js"}, "npm install"},
		{"tsx", map[string]string{"p/package.json": manifest}, []string{"tsx", "p/build/index.js"}, "npm install"},
		{"a script of package.json", map[string]string{"p/package.json": manifest}, []string{"npm", "start"}, "npm install"},
		{"installed", map[string]string{"p/package.json": manifest, "p/node_modules/x/package.json": ""}, []string{"node", "p/build/index.js"}, ""},
		{"installed above", map[string]string{"p/package.json": manifest, "node_modules/x/package.json": ""}, []string{"node", "p/build/index.js"}, ""},
		{"Plug'n'Play", map[string]string{"p/package.json": manifest, "p/.pnp.cjs": ""}, []string{"node", "p/build/index.js"}, ""},
		{"no dependencies", map[string]string{"p/package.json": `{"devDependencies":{"typescript":"5"}}`}, []string{"node", "p/build/index.js"}, ""},
		{"no project", nil, []string{"node", "p/build/index.js"}, ""},
		{"a Python script", map[string]string{"p/package.json": manifest}, []string{"python3", "p/build/index.js"}, ""},
	} {
		t.Run(tt.about, func(t *testing.T) {
			f := newFakeMachine(t)
			f.file("system/usr/bin/npm", "")
			for name, text := range tt.files {
				if !strings.HasPrefix(name, "system/") {
					name = "home/me/" + name
				}
				f.file(name, text)
			}
			spec := launch.Spec{Command: tt.words[0], Args: tt.words[1:], Dir: f.folder("home/me/p"), Env: []string{"PATH=/given/bin"}}
			if strings.Contains(tt.words[1], "/") {
				spec.Dir, spec.Args = "", []string{f.file("home/me/"+tt.words[1], "")}
			}
			todo, _ := todoOf(f, silentServer(spec), spec)
			if tt.want == "" {
				if strings.Contains(todo, "install") {
					t.Errorf("%q", todo)
				}
				return
			}
			if !strings.Contains(todo, "`"+tt.want+"`") || !strings.Contains(f.plain(todo), "/home/me/p has") {
				t.Errorf("%q, want %q", todo, tt.want)
			}
		})
	}
}

// Modules that are missing are named before a port at which nothing listens: without them nothing works.
func TestMissingModulesComeBeforeClosedPorts(t *testing.T) {
	f := newFakeMachine(t)
	f.file("home/me/p/package.json", `{"dependencies":{"a":"1"}}`)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	spec := launch.Spec{Command: "node", Args: []string{f.file("home/me/p/index.js", ""), "http://127.0.0.1:" + strconv.Itoa(port)}, Env: []string{"PATH=/given/bin"}}
	if todo, _ := todoOf(f, silentServer(spec), spec); !strings.Contains(todo, "node_modules") {
		t.Errorf("%q", todo)
	}
}
