//go:build linux

package realtest

import (
	"path/filepath"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// brokenPrograms are set-ups whose program is not found, not startable or the wrong one.
var brokenPrograms = []brokenSetup{
	{
		name: "node-in-nvm", cause: "command_not_found/gui_path_missing",
		build: func(b *bench) {
			b.link(".nvm/versions/node/v22.1.0/bin/node", b.node())
			b.command("node", b.server(realparts.Memory))
		},
		heals: []string{"absolute-path $HOME/.nvm/versions/node/v22.1.0/bin/node"},
	},
	{
		name: "npx-in-nvm", cause: "command_not_found/gui_path_missing",
		build: func(b *bench) {
			b.link(".nvm/versions/node/v22.1.0/bin/node", b.node())
			b.link(".nvm/versions/node/v22.1.0/bin/npx", b.npx())
			b.link("project/node_modules", realparts.Modules(b.t))
			b.command("npx", "--offline", "@modelcontextprotocol/server-memory")
		},
		heals: []string{"absolute-path $HOME/.nvm/versions/node/v22.1.0/bin/npx"},
	},
	{
		name: "node-in-fnm", cause: "command_not_found/gui_path_missing",
		build: func(b *bench) {
			b.link(".local/share/fnm/node-versions/v22.1.0/installation/bin/node", b.node())
			b.command("node", b.server(realparts.SequentialThinking))
		},
		heals: []string{"absolute-path $HOME/.local/share/fnm/node-versions/v22.1.0/installation/bin/node"},
	},
	{
		name: "node-in-mise", cause: "command_not_found/gui_path_missing",
		build: func(b *bench) {
			b.link(".local/share/mise/installs/node/22.1.0/bin/node", b.node())
			b.command("node", b.server(realparts.Everything))
		},
		heals: []string{"absolute-path $HOME/.local/share/mise/installs/node/22.1.0/bin/node"},
	},
	{
		name: "uvx-in-local-bin", cause: "command_not_found/gui_path_missing",
		build: func(b *bench) {
			uvx := realparts.Need(b.t, realparts.Time)
			b.link(".local/bin/uvx", uvx[0])
			b.command(append([]string{"uvx"}, uvx[1:]...)...)
		},
		heals: []string{"absolute-path $HOME/.local/bin/uvx"},
	},
	{
		name: "login-shell-path", cause: "command_not_found/gui_path_missing",
		build: func(b *bench) {
			b.link("homebrew/bin/node", b.node())
			b.file(".profile", "echo welcome\nPATH=\"$HOME/homebrew/bin:$PATH\"\n")
			b.env = append(b.env, "SHELL=/bin/sh")
			b.command("node", b.server(realparts.Memory))
		},
		heals: []string{"absolute-path $HOME/homebrew/bin/node"},
	},
	{
		name: "global-package-not-on-path", cause: "command_not_found/wrong_command_name",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.file(".npmrc", "prefix=${HOME}/.npm-global\n")
			b.link(".npm-global/bin/mcp-server-memory", b.server(realparts.Memory))
			b.command("mcp-server-memory")
		},
		heals: []string{"absolute-path $HOME/.npm-global/bin/mcp-server-memory"},
	},
	{
		name: "removed-node-version", cause: "command_not_found/command_path_missing",
		build: func(b *bench) {
			b.link(".nvm/versions/node/v22.1.0/bin/node", b.node())
			b.command(filepath.Join(b.home, ".nvm/versions/node/v18.0.0/bin/node"), b.server(realparts.Memory))
		},
		heals: []string{"absolute-path $HOME/.nvm/versions/node/v22.1.0/bin/node"},
	},
	{
		name: "python-is-python3", cause: "command_not_found/python_vs_python3",
		build: func(b *bench) {
			b.onPath("python3", python(b))
			b.command("python", timeScript(b))
		},
		heals: []string{"other-name $HOME/tools/python3"},
	},
	{
		name: "shebang-needs-node", cause: "command_not_found/gui_path_missing",
		build: func(b *bench) {
			b.link(".nvm/versions/node/v22.1.0/bin/node", b.node())
			b.link("project/server", b.server(realparts.Memory)) // its first line is #!/usr/bin/env node
			b.command(filepath.Join(b.project, "server"))
		},
		heals: []string{"path-front $HOME/.nvm/versions/node/v22.1.0/bin"},
	},
	{
		name: "helper-not-on-path", cause: "command_not_found/helper_tool_not_on_path",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.script(".local/bin/git", "#!/bin/sh\necho git version 2.50.0\n")
			b.command("node", b.behind("project/server.mjs", "import { execFileSync } from 'node:child_process';\nexecFileSync('git', ['--version']);"))
		},
		heals: []string{"path-front $HOME/.local/bin"},
	},
	{
		name: "command-in-one-string", cause: "config_malformed/command_and_args_in_one_string",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command("node " + b.server(realparts.Memory))
		},
		heals: []string{"split-command"},
	},
	{
		name: "one-string-and-not-on-path", cause: "config_malformed/command_and_args_in_one_string",
		build: func(b *bench) {
			b.link(".nvm/versions/node/v22.1.0/bin/node", b.node())
			b.command("node " + b.server(realparts.Memory))
		},
		heals: []string{"split-command", "absolute-path $HOME/.nvm/versions/node/v22.1.0/bin/node"},
	},
	{
		name: "tilde-in-command", cause: "path_not_found/tilde_not_expanded",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.link("bin/mcp-server-memory", b.server(realparts.Memory))
			b.command("~/bin/mcp-server-memory")
		},
		heals: []string{"expand-home"},
	},
	{
		name: "tilde-in-script", cause: "path_not_found/tilde_not_expanded",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.behind("servers/memory.mjs", "")
			b.command("node", "~/servers/memory.mjs")
		},
		heals: []string{"expand-home"},
	},
	{
		name: "tilde-in-folder", cause: "path_not_found/tilde_not_expanded",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.dir("documents")
			b.file("documents/readme.txt", "hello")
			b.command("node", b.server(realparts.Filesystem), "$HOME/documents")
		},
		heals: []string{"expand-home"},
	},
	{
		name: "tilde-in-cwd", cause: "path_not_found/tilde_not_expanded",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.behind("project/memory.mjs", "")
			b.command("node", "memory.mjs")
			b.args = append([]string{"--cwd", "~/project"}, b.args...)
		},
		heals: []string{"expand-home"},
	},
	{
		name: "path-cut-at-space", cause: "path_not_found/space_in_path_argument",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.behind("My Servers/memory.mjs", "")
			b.command("node", filepath.Join(b.home, "My"), "Servers/memory.mjs")
		},
		heals: []string{"join-path"},
	},
	{
		name: "old-node-first", cause: "runtime_missing_or_too_old/old_node_first_in_path",
		build: func(b *bench) {
			b.script("tools/node", oldNode)
			b.link(".nvm/versions/node/v22.1.0/bin/node", b.node())
			b.command("node", b.server(realparts.Memory))
		},
		heals: []string{"node $HOME/.nvm/versions/node/v22.1.0/bin/node"},
	},
	{
		name: "project-venv-not-used", cause: "dependency_missing/venv_not_used",
		build: func(b *bench) {
			b.onPath("python3", python(b))
			b.link("project/.venv", timeVenv(b))
			b.command("python3", b.file("project/server.py", "from mcp_server_time import main\nmain()\n"))
		},
		heals: []string{"project-python $HOME/project/.venv/bin/python"},
	},
	{
		name: "no-such-runner", cause: "command_not_found/gui_path_missing",
		build: func(b *bench) { b.command("bunx", "@modelcontextprotocol/server-memory") },
		told:  "npx -y @modelcontextprotocol/server-memory",
	},
	{
		name: "no-such-program", cause: "command_not_found/wrong_command_name",
		build: func(b *bench) { b.command("mcp-server-memroy") },
		told:  "Check the program's name",
	},
	{
		name: "cwd-is-gone", cause: "path_not_found/cwd_does_not_exist",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command("node", b.server(realparts.Memory))
			b.args = append([]string{"--cwd", filepath.Join(b.home, "deleted")}, b.args...)
		},
		told: "Correct or remove \"cwd\"",
	},
	{
		name: "no-exec-bit", cause: "permission_denied/missing_exec_bit",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command(b.file("project/server", "#!/usr/bin/env node\n"))
		},
		told: "Start $HOME/project/server with its interpreter, or, if you trust it, make it executable",
	},
	{
		name: "interpreter-is-gone", cause: "command_not_found/command_path_missing",
		build: func(b *bench) {
			b.command(b.script("project/server", "#!/opt/venvs/gone/bin/python3\nprint('hello')\n"))
		},
		told: "Correct the first line of the script",
	},
	{
		name: "other-architecture", cause: "runtime_missing_or_too_old/wrong_cpu_arch",
		build: func(b *bench) { b.command(b.script("project/server", foreignBinary())) },
		told:  "for this machine",
	},
	{
		name: "script-is-gone", cause: "path_not_found/script_missing",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command("node", filepath.Join(b.project, "dist/index.js"))
		},
		told: "npm run build",
	},
	{
		name: "node-module-missing", cause: "dependency_missing/broken_npm_install",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command("node", b.file("project/server.mjs", "import '@modelcontextprotocol/sdk/server/mcp.js';\n"))
		},
		told: "npm install",
	},
	{
		name: "python-module-missing", cause: "dependency_missing/venv_not_used",
		build: func(b *bench) {
			b.onPath("python3", python(b))
			b.command("python3", b.file("project/server.py", "from mcp_server_time import main\nmain()\n"))
		},
		told: "has a virtual environment, use",
	},
	{
		name: "package-misspelt", cause: "package_not_found/wrong_package_name",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.onPath("npx", b.npx())
			b.env = append(b.env, "npm_config_registry="+registry(b), "npm_config_fetch_retries=0")
			b.command("npx", "-y", "@modelcontextprotocol/server-memroy")
		},
		told: "npx -y @modelcontextprotocol/server-memory",
	},
	{
		name: "version-not-published", cause: "package_not_found/version_not_published",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.onPath("npx", b.npx())
			b.env = append(b.env, "npm_config_registry="+registry(b), "npm_config_fetch_retries=0")
			b.command("npx", "-y", "@modelcontextprotocol/server-memory@99.0.0")
		},
		told: "npm view @modelcontextprotocol/server-memory versions",
	},
	{
		name: "pypi-package-misspelt", cause: "package_not_found/wrong_package_name",
		build: func(b *bench) {
			b.onPath("uvx", realparts.Need(b.t, realparts.Time)[0])
			b.env = append(b.env, "UV_DEFAULT_INDEX="+registry(b)+"/simple", "UV_NO_CONFIG=1", "UV_PYTHON_DOWNLOADS=never", "UV_PYTHON="+python(b))
			b.command("uvx", "mcp-server-tmie")
		},
		told: "uvx mcp-server-time",
	},
	{
		name: "npx-cache-half-installed", cause: "dependency_missing/npx_cache_corrupt",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.onPath("npx", b.npx())
			b.env = append(b.env, "npm_config_registry="+registry(b))
			b.command("npx", "-y", halfInstalled(b))
		},
		told: "$HOME/.npm/_npx/",
	},
}
