//go:build linux

package realtest

import (
	"fmt"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// brokenServers are set-ups that start, and then the server itself fails.
var brokenServers = []brokenSetup{
	{
		name: "banner-on-stdout", cause: "stdout_pollution/stdout_log_pollution", cope: true,
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command("node", b.behind("project/server.mjs", `console.log("\x1b[32m*** Welcome to My Server ***\x1b[0m\n[info] ready");`))
		},
	},
	{
		name: "logs-and-dies", cause: "crashed/server_bug_crash",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command("node", b.file("project/server.mjs", "const settings = undefined;\nconsole.log(settings.name);\n"))
		},
		told: "report the error to the server's maintainers",
	},
	{
		name: "python-crash", cause: "crashed/server_bug_crash",
		build: func(b *bench) {
			b.onPath("python3", python(b))
			b.command("python3", b.file("project/server.py", "print(1 / 0)\n"))
		},
		told: "report the error to the server's maintainers",
	},
	{
		name: "silent-exit", cause: "crashed/ended_without_reason",
		build: func(b *bench) { b.command("sh", "-c", "exit 3") },
		told:  "in a terminal",
	},
	{
		name: "killed-by-segfault", cause: "crashed/server_bug_crash",
		build: func(b *bench) { b.command("sh", "-c", "kill -SEGV $$") },
		told:  "report the error to the server's maintainers",
	},
	{
		name: "killed-by-someone", cause: "crashed/ended_without_reason",
		build: func(b *bench) { b.command("sh", "-c", "kill -KILL $$") },
		told:  "in a terminal",
	},
	{
		name: "heap-too-small", cause: "resource_exhausted/node_heap_oom",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command("node", "--max-old-space-size=8", b.file("project/server.mjs", "const all = [];\nfor (;;) all.push(new Array(1000).fill(Math.random()));\n"))
		},
		told: "To give Node more memory",
	},
	{
		name: "hangs-at-initialize", cause: "timeout/no_answer",
		build: func(b *bench) {
			b.timeout = "1s"
			b.command("sleep", "60")
		},
		tries: []string{"wait 3s", "wait 6s"},
		told:  "started in stdio mode",
	},
	{
		name: "http-server-as-command", cause: "transport_mismatch/http_server_run_as_stdio",
		build: func(b *bench) {
			b.onPath("node", b.node())
			port := freePort(b.t)
			b.timeout = "20s" // it takes a while to listen
			b.call(fmt.Sprint(port), "$PORT")
			b.env = append(b.env, fmt.Sprintf("PORT=%d", port))
			b.command("node", b.server(realparts.Everything), "streamableHttp")
		},
		told: "gauze run --url http://127.0.0.1:$PORT/mcp",
	},
	{
		name: "port-is-taken", cause: "port_in_use/port_taken_by_sibling",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.env = append(b.env, fmt.Sprintf("PORT=%d", b.web.http.port))
			b.command("node", b.server(realparts.Everything), "streamableHttp")
		},
		told: "Configure another port for the server",
	},
	{
		name: "stderr-in-utf16", cause: "missing_env_var/env_not_set",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command("node", b.file("project/server.mjs", "process.stderr.write(Buffer.from('\\ufeffError: WEATHER_API_KEY environment variable is required\\r\\n', 'utf16le'));\nprocess.exitCode = 1;\n"))
		},
		told: "Get a value for WEATHER_API_KEY",
	},
	{
		name: "stderr-in-gbk", cause: "command_not_found/gui_path_missing",
		build: func(b *bench) {
			b.onPath("node", b.node())
			// "'bunx' is no internal or external command", as a Chinese Windows says it.
			b.command("node", b.file("project/server.mjs", "process.stderr.write(Buffer.from('2762756e782720b2bbcac7c4dab2bfbbf2cde2b2bfc3fcc1eea3acd2b2b2bbcac7bfc9d4cbd0d0b5c4b3ccd0f20d0a', 'hex'));\nprocess.exitCode = 1;\n"))
		},
		told: "npm install -g bun",
	},
	{
		name: "data-folder-denied", cause: "permission_denied/cache_dir_not_writable",
		build: func(b *bench) {
			b.onPath("node", b.node())
			// Root may do everything, so the error is made as Node makes it.
			b.command("node", b.file("project/server.mjs", "throw Object.assign(new Error(\"EACCES: permission denied, mkdir '/var/lib/notes'\"), { errno: -13, code: 'EACCES', syscall: 'mkdir', path: '/var/lib/notes' });\n"))
		},
		told: "a directory that you own",
	},
	{
		name: "initialize-refused", cause: "protocol_mismatch/version_not_negotiated",
		build: func(b *bench) {
			b.onPath("node", b.node())
			b.command("node", b.file("project/server.mjs", `import { createInterface } from 'node:readline';
createInterface({ input: process.stdin }).on('line', line => {
  const { id } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32602, message: 'Unsupported protocol version', data: { supported: ['2023-01-01'] } } }));
});
`))
		},
		told: "Update the server",
	},
}
