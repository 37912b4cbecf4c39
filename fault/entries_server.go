package fault

import "github.com/gauze-mcp/gauze/internal/text/shell"

// Codes of JSON-RPC that mean exactly the same; everything else has a code of gauze's own.
const (
	rpcInvalidRequest = -32600
	rpcMethodNotFound = -32601
)

var serverEntries = []Entry{
	{
		Code: ServerUnavailable, RPC: -31001, Retry: RetryLater, shows: true,
		Title: "the server is down and is being restarted",
		model: "The MCP server is down. Gauze is restarting it, but it did not come back in time.",
		Means: "The server exited. Gauze is restarting it, but the server was not ready within --patience (how long a call waits).",
		Why:   "The server crashed, was killed (often because memory ran out) or exited on its own, and restarting it takes longer than --patience.",
		Did:   "Gauze held the call for up to --patience while it restarted the server, immediately and then with increasing delays. The call was not sent. Gauze keeps restarting the server in the background.",
		Do: []Step{
			{Text: "Repeat the call; most servers are back within seconds."},
			{Text: "If the server is slow to start, let calls wait longer for it:", Command: "gauze run --patience 2m -- COMMAND"},
			{Text: "If the server keeps crashing, the last lines of its stderr usually show the cause."},
		},
	},
	{
		Code: ServerStarting, RPC: -31002, Retry: RetryLater, shows: true,
		Title: "the server is still starting",
		model: "The MCP server is still starting.",
		Means: "The server's process is running, but it has not completed the MCP handshake, so no call can be sent yet.",
		Why:   "A first start with npx, uvx or docker may download packages. Some servers also load data or open connections before they answer.",
		Did:   "Gauze held the call for up to --patience, then returned this error. The call was not sent. The server is still starting.",
		Do: []Step{
			{Text: "Repeat the call in a moment."},
			{Text: "Let calls wait longer for the server to start:", Command: "gauze run --patience 2m -- COMMAND"},
			{Text: "Give the server more time to start:", Command: "gauze run --start-timeout 3m -- COMMAND"},
		},
	},
	{
		Code: CommandNotFound, RPC: -31003, Retry: TellUser, shows: true,
		Title: "the command was not found",
		model: "The command that starts the MCP server does not exist on this machine.",
		next:  "Do not retry: the request will fail until the user corrects the command. Tell the user.",
		Means: "The program after `--` is not a file and is not in any directory on gauze's PATH; or it exists, but exited with status 127 because it could not find a program that it needs.",
		Why:   "Programs started from a desktop icon or an editor often have a shorter PATH than your terminal: it lacks ~/.local/bin and the directories that nvm, fnm, asdf, volta and mise add. Or the name is misspelled, or the program is not installed. A script that begins with `#!/usr/bin/env node` also needs node on the PATH.",
		Did:   "Gauze did not start anything and will not retry, because the command would still be missing. It never runs a program with a similar name.",
		Do: []Step{
			{Text: "In a terminal where the program works, find its path:", spell: func(w shell.Words) string { return w.Which("NAME") }},
			{Text: "Use that full path in the client's configuration:", spell: func(w shell.Words) string {
				return "gauze run -- " + w.Path("full", "path", "to", "NAME") + " ARGUMENTS"
			}},
			{Text: "If no path is printed, install the program first, then restart the client."},
		},
	},
	{
		Code: CommandNotExecutable, RPC: -31004, Retry: TellUser, shows: true,
		Title: "the command is not executable",
		model: "The file that starts the MCP server is not executable.",
		next:  "Do not retry: the request will fail until the user corrects the permissions. Tell the user.",
		Means: "The file exists, but this user has no permission to run it; or it tried to run something that is not executable, and exited with status 126.",
		Why:   "The file has no execute permission, a parent directory is not accessible, the path is a directory, or the file system is mounted noexec.",
		Did:   "Gauze did not start anything, will not retry, and never changes permissions.",
		Do: []Step{
			{Text: "Show the permissions:", spell: func(w shell.Words) string { return w.List(w.Path("full", "path", "to", "NAME")) }},
			{Text: "If you trust the file, make it executable:", spell: func(w shell.Words) string { return w.Posix("chmod u+x /full/path/to/NAME") }},
			{Text: "For a script, run its interpreter instead:", spell: func(w shell.Words) string { return "gauze run -- node " + w.Path("full", "path", "to", "server.js") }},
		},
	},
	{
		Code: CommandBadFormat, RPC: -31005, Retry: TellUser, shows: true,
		Title: "the command is not a program this system can run",
		model: "The file that starts the MCP server is not a program this system can run.",
		next:  "Do not retry: the request will fail until the user corrects the command. Tell the user.",
		Means: "The file exists and is executable, but the system cannot load it.",
		Why:   "The file's first line names an interpreter that does not exist (`#!/no/such/python`), the file has no `#!` line, or the file is corrupt or was built for another system or processor. In a script saved with Windows line endings, the interpreter's name ends in an invisible character.",
		Did:   "Gauze did not start anything and will not retry.",
		Do: []Step{
			{Text: "Show the file's type:", spell: func(w shell.Words) string { return w.Posix("file /full/path/to/NAME") }},
			{Text: "Show a script's interpreter:", spell: func(w shell.Words) string { return w.FirstLine(w.Path("full", "path", "to", "NAME")) }},
			{Text: "Run the script with its interpreter explicitly:", spell: func(w shell.Words) string {
				return "gauze run -- " + w.Python() + " " + w.Path("full", "path", "to", "server.py")
			}},
		},
	},
	{
		Code: WorkdirMissing, RPC: -31006, Retry: TellUser,
		Title: "the working directory does not exist",
		model: "The MCP server's working directory does not exist.",
		next:  "Do not retry: the request will fail until the user corrects the directory. Tell the user.",
		Means: "The server's working directory is missing or is not a directory. The command itself may be correct.",
		Why:   "The project was moved or deleted, a drive is not mounted, or the path is misspelled.",
		Did:   "Gauze did not start anything, will not retry, and never creates the directory.",
		Do: []Step{
			{Text: "Check the directory:", spell: func(w shell.Words) string { return w.List(w.Path("the", "directory")) }},
			{Text: "Correct the path in the client's configuration, then restart the client."},
		},
	},
	{
		Code: ServerExitsEarly, RPC: -31007, Retry: TellUser, shows: true,
		Title: "the server exits immediately every time it starts",
		model: "The MCP server exits immediately every time it starts, always in the same way. Gauze has stopped restarting it.",
		next:  "Do not retry: the request will fail until the user fixes the cause. Tell the user what the server printed last.",
		Means: "The server exited before it was ready several times in a row, with the same exit status and the same last output. Another start would fail in the same way.",
		Why:   "Usually an environment variable, an argument or a module is missing, the runtime is too old, the package name is wrong, or the program is not an MCP server on stdio.",
		Did:   "Gauze kept the exit status and the last lines of stderr, and stopped restarting the server. It will try again when the client restarts gauze.",
		Do: []Step{
			{Text: "Read the server's last output; it usually shows the cause."},
			{Text: "Run the server's own command in a terminal, without gauze, to see how it fails."},
			{Text: "Correct its command, arguments or environment in the client's configuration, then restart the client."},
		},
	},
	{
		Code: StartTimeout, RPC: -31008, Retry: RetryLater, shows: true,
		Title: "the server did not become ready in time",
		model: "The MCP server was started but did not become ready in time.",
		Means: "The process is running, but it did not complete the MCP handshake within the start timeout.",
		Why:   "A first start with npx, uvx or docker downloads packages; a server may wait for a database or a login; a program that is not an MCP server on stdio never answers; `docker run` without `-i` has no stdin.",
		Did:   "Gauze stopped the process once it had written nothing and used no CPU for the whole start timeout. Gauze is restarting it with twice the timeout.",
		Do: []Step{
			{Text: "Give the server more time to start:", Command: "gauze run --start-timeout 3m -- COMMAND"},
			{Text: "Run the server's own command once in a terminal to fill the package cache."},
			{Text: "Check that the program is an MCP server on stdin and stdout: many need a flag such as --stdio; docker needs -i."},
		},
	},
	{
		Code: CrashLoop, RPC: -31009, Retry: RetryLater, shows: true,
		Title: "the server keeps crashing",
		model: "The MCP server keeps crashing. Gauze is waiting before the next restart.",
		Means: "The server exited repeatedly without answering a call, so gauze is waiting before it restarts the server.",
		Why:   "Something the server needs is broken: a dependency is down, the disk is full, memory runs out, or its state is corrupt; or the same call keeps crashing it.",
		Did:   "Gauze restarts it at the time shown and doubles the delay after each failure. Calls wait for the next start for up to --patience. Once the server answers a call, the delay is reset.",
		Do: []Step{
			{Text: "Read the exit status and the last lines of stderr."},
			{Text: "Run the server's own command in a terminal, without gauze, and check whether it crashes there too."},
			{Text: "To retry immediately, restart the client."},
		},
	},
	{
		Code: SpawnFailed, RPC: -31010, Retry: RetryLater,
		Title: "the system cannot start another process",
		model: "The machine currently lacks the resources to start the MCP server.",
		Means: "The system reached a limit on processes, memory or open files and could not start the server.",
		Why:   "This user has too many processes (EAGAIN), memory is low (ENOMEM), or too many files are open (EMFILE, ENFILE).",
		Did:   "Gauze retries with increasing delays, and recovers once resources are available.",
		Do: []Step{
			{Text: "Show this user's limits:", spell: func(w shell.Words) string { return w.Posix("ulimit -a") }},
			{Text: "Look for programs that leave processes behind:", spell: shell.Words.Processes},
		},
	},
	{
		Code: SessionChanged, RPC: -31011, Retry: TellUser,
		Title: "the server changed when it restarted",
		model: "The MCP server's protocol version or capabilities have changed since this session started.",
		next:  "Do not retry: this session cannot continue. Ask the user to restart the client.",
		Means: "The server uses a different protocol version than the one that the client negotiated, or lacks a capability that it had when the session started.",
		Why:   "The server was updated between two starts (an unpinned npx or uvx package updates itself), or it answers differently each time.",
		Did:   "Gauze ended the session, because the client had negotiated something else.",
		Do: []Step{
			{Text: "Restart the client so that it negotiates again."},
			{Text: "Pin the server's version so that a restart cannot change it:", Command: "gauze run -- npx -y PACKAGE@1.2.3"},
		},
	},
	{
		// -32601, and not a code of gauze's own: clients that probe for the modern era fall back to
		// initialize on "method not found" (some on nothing else: modelcontextprotocol/rust-sdk
		// #1088, github/copilot-cli #4370).
		Code: DiscoverUnanswered, RPC: rpcMethodNotFound, Retry: ChangeCall,
		Title: "the server did not answer server/discover",
		model: "The MCP server does not answer server/discover, so it uses an older protocol version.",
		next:  "Use initialize instead.",
		Means: "The client asked whether the server supports the current protocol (server/discover), and the server did not answer. Gauze treats it as an older server.",
		Why:   "Servers written before 2026-07-28 do not recognize the method; most reject it, some ignore it.",
		Did:   "Gauze waited a moment, then answered \"method not found\" on the server's behalf, so that the client continues with initialize.",
		Do: []Step{
			{Text: "If the client continues on its own, as most do, you do not need to do anything."},
			{Text: "If the client stops here, it supports only the current protocol: use a newer version of the server."},
		},
	},
	{
		Code: Stopping, RPC: -31012, Retry: RetryLater,
		Title: "Gauze is stopping",
		model: "Gauze and the MCP server are stopping.",
		Means: "The request arrived while gauze was stopping, or was still in flight when gauze stopped.",
		Why:   "The client closed the connection, or gauze was asked to stop (Ctrl-C, SIGTERM).",
		Did:   "Gauze accepts no new calls, stops the server and everything it started, and answers requests that are still in flight.",
		Do: []Step{
			{Text: "Restart the client if you did not mean to stop it."},
		},
	},
}
