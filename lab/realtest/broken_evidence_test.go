//go:build linux

package realtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// brokenEvidence are set-ups whose output does not show what is wrong: it is empty, misleading, or in another language.
// Only what gauze sees itself decides.
var brokenEvidence = []brokenSetup{
	// How the process ended, or what it does.
	{
		name: "segfault-after-a-warning", cause: "crashed/server_bug_crash",
		build: func(b *bench) {
			b.env = append(b.env, "GITHUB_TOKEN="+canary)
			b.silent("Error: GITHUB_TOKEN environment variable is required", "process.kill(process.pid, 'SIGSEGV'); for (;;) {}")
		},
		told: "report the error to the server's maintainers",
	},
	{
		name: "stopped-by-a-signal", cause: "timeout/process_stopped",
		build: func(b *bench) {
			b.timeout = "4s" // until it has stopped itself
			b.silent("connect ECONNREFUSED 127.0.0.1:5432, trying again", "process.kill(process.pid, 'SIGSTOP');")
		},
		told: "kill -CONT",
	},
	{
		name: "library-instead-of-server", cause: "crashed/ended_without_reason",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command("node", b.file("project/index.mjs", "export const tools = [];\n"))
		},
		told: "in a terminal",
	},
	{
		name: "runs-in-the-background", cause: "transport_mismatch/stdin_not_connected",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command(b.script("project/start.sh", "#!/bin/sh\nnode "+b.server(realparts.Memory)+" &\n"))
		},
		told: "background",
	},
	{
		name: "file-size-limit", cause: "resource_exhausted/process_limit_reached",
		build: func(b *bench) {
			b.command(b.script("project/start.sh", "#!/bin/sh\nulimit -f 1\nexec cat /dev/zero >"+filepath.Join(b.dir(".cache"), "server.log")+"\n"))
		},
		told: "ulimit -f",
	},
	{
		name: "memory-limit", cause: "resource_exhausted/node_heap_oom",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command(b.script("project/start.sh", "#!/bin/sh\nulimit -v 300000\nexec node "+b.server(realparts.Memory)+" 2>/dev/null\n"))
		},
		told: "memory",
	},
	{
		name: "open-files-limit", cause: "resource_exhausted/too_many_open_files",
		build: func(b *bench) {
			b.onPath("python3", python(b))
			server := b.file("project/server.py", "import socket, sys\ntry:\n    held = [socket.socket() for _ in range(64)]\nexcept OSError:\n    sys.exit(1)\n")
			b.command(b.script("project/start.sh", "#!/bin/sh\nulimit -n 24\nexec python3 "+server+"\n"))
		},
		told: "ulimit -n",
	},
	{
		name: "disk-is-full", cause: "resource_exhausted/disk_full",
		build: func(b *bench) {
			data := b.mount(".cache", "size=64k", 0)
			b.env = append(b.env, "NOTES_DIR="+data)
			b.silent("", fmt.Sprintf(writes, quoted(filepath.Join(data, "notes.db"))))
		},
		told: "Free up disk space",
	},
	// What is at the paths of the entry.
	{
		name: "return-after-interpreter", cause: "command_not_found/command_path_missing",
		build: func(b *bench) { b.command(b.script("project/start.sh", "#!/bin/sh\r\necho hello\r\n")) },
		told:  "line endings",
	},
	{
		name: "return-after-env", cause: "command_not_found/command_path_missing",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command(b.script("project/server.mjs", "#!/usr/bin/env node\r\nawait import("+quoted(b.server(realparts.Memory))+");\r\n"))
		},
		told: "line endings",
	},
	{
		name: "folder-as-command", cause: "config_malformed/not_a_program",
		build: func(b *bench) { b.command(b.dir("servers/notes")) },
		told:  "the program itself",
	},
	{
		name: "script-without-interpreter", cause: "config_malformed/not_a_program",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command(b.script("project/server.mjs", "await import("+quoted(b.server(realparts.Memory))+");\n"))
		},
		told: "node",
	},
	{
		name: "folder-as-script", cause: "path_not_found/script_missing",
		build: func(b *bench) {
			b.onPath("python3", python(b))
			b.command("python3", b.dir("servers/notes"))
		},
		told: "absolute path",
	},
	{
		name: "link-to-nothing", cause: "path_not_found/script_missing",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command("node", b.link("project/dist/index.js", filepath.Join(b.home, "build-2023", "index.js")))
		},
		told: "build",
	},
	{
		name: "venv-of-removed-python", cause: "dependency_missing/venv_broken",
		build: func(b *bench) {
			b.file("project/.venv/pyvenv.cfg", "home = /opt/python3.9/bin\nversion = 3.9.1\n")
			b.command(b.link("project/.venv/bin/python", "/opt/python3.9/bin/python3.9"), "-m", "notes")
		},
		told: "virtual environment",
	},
	{
		name: "empty-program", cause: "path_not_found/binary_download_incomplete",
		build: func(b *bench) { b.command(b.script("bin/notes-server", "")) },
		told:  "Reinstall",
	},
	{
		name: "half-a-program", cause: "path_not_found/binary_download_incomplete",
		build: func(b *bench) { b.command(b.script("bin/notes-server", head(b, b.node(), 64<<10))) },
		told:  "Reinstall",
	},
	{
		name: "loader-is-missing", cause: "runtime_missing_or_too_old/musl_vs_glibc",
		build: func(b *bench) { b.command(b.script("bin/notes-server", muslBinary(b))) },
		told:  "glibc",
	},
	{
		name: "folder-without-exec", cause: "permission_denied/missing_exec_bit",
		build: func(b *bench) {
			b.mount("data", "size=64k", syscall.MS_NOEXEC)
			b.command(b.script("data/notes-server", "#!/bin/sh\nexec cat\n"))
		},
		told: "noexec",
	},
	{
		name: "cwd-is-a-file", cause: "path_not_found/cwd_does_not_exist",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.args = []string{"--cwd", b.file("project/notes.md", "# Notes\n"), "--", "node", b.server(realparts.Memory)}
		},
		told: "cwd",
	},
	{
		name: "settings-do-not-parse", cause: "config_malformed/server_config_invalid",
		build: func(b *bench) {
			settings := b.file("project/settings.json", "{\n  \"vault\": \"notes\",\n}\n")
			b.silent("", "import { readFileSync } from 'node:fs';\ntry { JSON.parse(readFileSync(process.argv[3])) } catch { process.exit(1) }", "--config", settings)
		},
		told: "settings.json",
	},
	{
		name: "folder-of-argument-is-gone", cause: "path_not_found/wrong_directory_argument",
		build: func(b *bench) {
			b.silent("初期化に失敗しました。", "import { existsSync } from 'node:fs';\nif (!existsSync(process.argv[2])) process.exit(1);", filepath.Join(b.home, "Documnets"))
		},
		told: "Correct the path in the arguments",
	},
	{
		name: "file-is-there-after-all", cause: "crashed/ended_without_reason",
		build: func(b *bench) {
			data := b.file("project/data.json", "{}")
			b.silent("Error: ENOENT: no such file or directory, open '"+data+"'", "process.exit(3);")
		},
		told: "in a terminal",
	},
	// Versions, and what packages say about themselves.
	{
		name: "engines-newer-than-node", cause: "runtime_missing_or_too_old/node_engine_too_old",
		build: func(b *bench) {
			b.file("project/package.json", `{"name":"notes","version":"1.0.0","type":"module","engines":{"node":">=99"}}`)
			b.silent("", "process.exit(1);")
		},
		told: "Node",
	},
	{
		name: "requires-newer-python", cause: "runtime_missing_or_too_old/python_too_old",
		build: func(b *bench) {
			b.onPath("python3", python(b))
			b.file("project/pyproject.toml", "[project]\nname = \"notes\"\nversion = \"1.0.0\"\nrequires-python = \">=3.99\"\n")
			b.command("python3", b.file("project/server.py", "import sys\nsys.exit(1)\n"))
		},
		told: "python3",
	},
	{
		name: "modules-not-installed", cause: "dependency_missing/broken_npm_install",
		build: func(b *bench) {
			b.file("project/package.json", `{"name":"notes","version":"1.0.0","type":"module","dependencies":{"left-pad":"^1.3.0"}}`)
			b.silent("起動できません。", "await import('left-pad').catch(() => process.exit(1));")
		},
		told: "npm install",
	},
	{
		name: "package-without-a-program", cause: "package_not_found/wrong_runner",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.onPath("npx", b.npx())
			b.file("project/package.json", `{"name":"mine","version":"1.0.0","dependencies":{"notes-library":"1.0.0"}}`)
			b.file("project/node_modules/notes-library/package.json", `{"name":"notes-library","version":"1.0.0","main":"index.js"}`)
			b.env = append(b.env, "npm_config_loglevel=silent", "npm_config_update_notifier=false", fmt.Sprintf("npm_config_registry=http://127.0.0.1:%d", freePort(b.t)))
			b.command("npx", "-y", "notes-library")
		},
		told: "notes-library",
	},
	{
		name: "own-manifest-requires-variable", cause: "missing_env_var/env_not_set",
		build: func(b *bench) {
			b.file("project/server.json", `{"name":"io.example/notes","version":"1.0.0","packages":[{"registryType":"npm","identifier":"notes","environmentVariables":[{"name":"NOTES_TOKEN","isRequired":true},{"name":"NOTES_LANG"}]}]}`)
			b.silent("", "if (!process.env.NOTES_TOKEN) process.exit(1);")
		},
		told: "NOTES_TOKEN",
	},
	// Variables, addresses and ports of the entry.
	{
		name: "variable-is-empty", cause: "missing_env_var/env_not_set",
		build: func(b *bench) {
			b.onPath("node", b.node())
			server := b.behind("project/server.mjs", "if (!process.env.BRAVE_API_KEY) process.exit(1);")
			b.command("env", "BRAVE_API_KEY=", "node", server)
		},
		told: "BRAVE_API_KEY",
	},
	{
		name: "dotenv-not-read", cause: "missing_env_var/dotenv_not_loaded",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.file("servers/notes/.env", "NOTES_TOKEN=0123456789\n")
			b.command("node", b.behind("servers/notes/server.mjs", "import { existsSync } from 'node:fs';\nif (!existsSync('.env')) process.exit(1);"))
		},
		heals: []string{"start-in $HOME/servers/notes"},
	},
	{
		name: "database-refuses", cause: "connection_refused/companion_app_not_running",
		build: func(b *bench) {
			b.env = append(b.env, fmt.Sprintf("DATABASE_URL=postgres://me:secret@127.0.0.1:%d/app", freePort(b.t)))
			b.silent("Não foi possível iniciar o servidor.", needsDatabase)
		},
		told: "Start that program",
	},
	{
		name: "proxy-refuses", cause: "tls_or_proxy/proxy_env_breaks",
		build: func(b *bench) {
			b.env = append(b.env, fmt.Sprintf("HTTPS_PROXY=http://127.0.0.1:%d", freePort(b.t)))
			b.silent("fetch failed", "process.exit(1);")
		},
		told: "HTTPS_PROXY",
	},
	{
		name: "port-taken-and-silent", cause: "port_in_use/port_taken_by_sibling",
		build: func(b *bench) {
			b.env = append(b.env, fmt.Sprintf("PORT=%d", b.web.http.port))
			b.silent("", "import net from 'node:net';\nawait new Promise(yes => net.createServer().listen(+process.env.PORT, yes).on('error', () => process.exit(1)));")
		},
		told: "Configure another port for the server",
	},
	{
		name: "variable-is-set-after-all", cause: "crashed/ended_without_reason",
		build: func(b *bench) {
			b.env = append(b.env, "NOTES_TOKEN="+canary)
			b.silent("Error: NOTES_TOKEN environment variable is required", "process.exit(3);")
		},
		told: "in a terminal",
	},
	{
		name: "http-after-a-complaint", cause: "transport_mismatch/http_server_run_as_stdio",
		build: func(b *bench) {
			port := freePort(b.t)
			b.timeout = "20s" // it takes a while to listen
			b.call(fmt.Sprint(port), "$PORT")
			b.env = append(b.env, fmt.Sprintf("PORT=%d", port))
			b.onPath("node", b.node())
			b.command("node", b.file("project/server.mjs", "console.error('sh: 1: uvx: not found');\nawait import("+quoted(b.server(realparts.Everything))+");\n"), "streamableHttp")
		},
		told: "gauze run --url http://127.0.0.1:$PORT/mcp",
	},
}

// writes fills a file, and ends without a word if it cannot.
const writes = "import { writeFileSync } from 'node:fs';\ntry { writeFileSync(%s, Buffer.alloc(1 << 20)) } catch { process.exit(1) }"

// needsDatabase connects before it serves, and ends without a word if it cannot.
const needsDatabase = `import net from 'node:net';
const to = new URL(process.env.DATABASE_URL);
await new Promise(yes => net.connect(+to.port, to.hostname, yes).on('error', () => process.exit(1)));`

// silent is the real server-memory behind something that fails first and says this about it.
func (b *bench) silent(says, first string, args ...string) {
	b.t.Helper()
	b.onPath("node", b.node())
	if says != "" {
		first = "import { writeSync } from 'node:fs';\nwriteSync(2, " + quoted(says+"\n") + ");\n" + first
	}
	b.command(append([]string{"node", b.behind("project/server.mjs", first)}, args...)...)
}

// mount is a small file system of its own.
func (b *bench) mount(name, options string, flags uintptr) string {
	b.t.Helper()
	path := b.dir(name)
	if err := syscall.Mount("none", path, "tmpfs", flags, options); err != nil {
		b.t.Skip("may not mount here: ", err)
	}
	b.t.Cleanup(func() { syscall.Unmount(path, syscall.MNT_DETACH) })
	return path
}

// head is the beginning of a file.
func head(b *bench, path string, n int) string {
	b.t.Helper()
	file, err := os.Open(path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer file.Close()
	text := make([]byte, n)
	if _, err := file.Read(text); err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// muslBinary is a program of this machine that was linked for musl.
func muslBinary(b *bench) string {
	b.t.Helper()
	text, err := os.ReadFile("/bin/cat")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, loader := range []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"} {
		musl := "/lib/ld-musl-x86_64.so.1"
		if at := strings.Index(string(text), loader+"\x00"); at >= 0 {
			return string(text[:at]) + musl + strings.Repeat("\x00", len(loader)-len(musl)) + string(text[at+len(loader):])
		}
	}
	b.t.Fatal("/bin/cat has no loader")
	return ""
}
