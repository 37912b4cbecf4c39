package fault

import "github.com/gauze-mcp/gauze/internal/shell"

// Codes of the JSON-RPC standard that mean exactly what we mean; everything else has a number of our own.
const (
	rpcInvalidRequest = -32600
	rpcMethodNotFound = -32601
)

var serverEntries = []Entry{
	{
		Code: ServerUnavailable, RPC: -31001, Retry: RetryLater, shows: true,
		Title: "the server is down and is being restarted",
		model: "The MCP server is down. Gauze is restarting it, but it was not back in time.",
		Means: "The server stopped, Gauze is starting it again, and it was not ready before the caller's patience ended.",
		Why:   "The server crashed, was killed (often for lack of memory), or ended by itself, and its new start takes longer than the wait allowed for one call.",
		Did:   "Gauze held the call, started the server again (at once, then with growing pauses up to 30 seconds), and answered when the wait was over. The call was not sent. Restarts go on in the background.",
		Do: []Step{
			{Text: "Repeat the call; most servers are back within seconds."},
			{Text: "If the server is slow to start, let calls wait longer for it:", Command: "gauze run --patience 2m -- COMMAND"},
			{Text: "If it keeps dying, its last lines on stderr usually say why."},
		},
	},
	{
		Code: ServerStarting, RPC: -31002, Retry: RetryLater, shows: true,
		Title: "the server is still starting",
		model: "The MCP server is still starting.",
		Means: "The server's process runs, but it has not finished its first handshake, so no call can be sent yet.",
		Why:   "A first start with npx, uvx or docker may download packages. Some servers also load data or open connections before they answer.",
		Did:   "Gauze held the call until the caller's patience ended. The call was not sent; the start goes on.",
		Do: []Step{
			{Text: "Repeat the call in a moment."},
			{Text: "Let calls wait longer for the start:", Command: "gauze run --patience 2m -- COMMAND"},
			{Text: "Give the start itself more time:", Command: "gauze run --start-timeout 3m -- COMMAND"},
		},
	},
	{
		Code: CommandNotFound, RPC: -31003, Retry: TellUser, shows: true,
		Title: "the command was not found",
		model: "The command that starts the MCP server does not exist on this machine.",
		next:  "Do not retry: it cannot work until the user corrects the command. Tell the user.",
		Means: "The program named after `--` is not a file and is not in any directory of the PATH that Gauze was given; or it is there, and ended at once with exit status 127 because it could not find a program of its own.",
		Why:   "Programs started from a desktop icon or an editor often get a shorter PATH than your terminal (nvm, fnm, asdf, volta, mise and ~/.local/bin are missing from it). Or the name has a typing mistake, or the program is not installed. A script that begins with `#!/usr/bin/env node` needs node on the PATH, too.",
		Did:   "Gauze did not start anything and does not try again: a missing command does not come back by itself. It never runs a program with a similar name.",
		Do: []Step{
			{Text: "Find where the program is, in the terminal where it works:", spell: func(w shell.Words) string { return w.Which("NAME") }},
			{Text: "Use that full path in the client's configuration:", spell: func(w shell.Words) string {
				return "gauze run -- " + w.Path("full", "path", "to", "NAME") + " ARGUMENTS"
			}},
			{Text: "If the command prints nothing, install the program first, then restart the client."},
		},
	},
	{
		Code: CommandNotExecutable, RPC: -31004, Retry: TellUser, shows: true,
		Title: "the command may not be executed",
		model: "The file that starts the MCP server may not be executed.",
		next:  "Do not retry: it cannot work until the user corrects the permissions. Tell the user.",
		Means: "The file exists, but the system does not allow this user to run it (or it started something that may not be run, and ended with exit status 126).",
		Why:   "The execute permission is missing, a directory above it is closed, it is a directory, or the file system is mounted noexec.",
		Did:   "Gauze did not start anything, does not try again, and never changes permissions.",
		Do: []Step{
			{Text: "Look at the permissions:", spell: func(w shell.Words) string { return w.List(w.Path("full", "path", "to", "NAME")) }},
			{Text: "If you trust the file, make it executable:", spell: func(w shell.Words) string { return w.Posix("chmod u+x /full/path/to/NAME") }},
			{Text: "For a script, name its interpreter instead:", spell: func(w shell.Words) string { return "gauze run -- node " + w.Path("full", "path", "to", "server.js") }},
		},
	},
	{
		Code: CommandBadFormat, RPC: -31005, Retry: TellUser, shows: true,
		Title: "the command is not a program this system can run",
		model: "The file that starts the MCP server is not a program this system can run.",
		next:  "Do not retry: it cannot work until the user corrects the command. Tell the user.",
		Means: "The file is there and executable, but the system cannot load it.",
		Why:   "Its first line names an interpreter that does not exist (`#!/no/such/python`), it has no such line, it was built for another system or processor, or it is damaged. A script saved with Windows line ends asks for an interpreter whose name ends in an invisible character.",
		Did:   "Gauze did not start anything and does not try again.",
		Do: []Step{
			{Text: "See what the file is:", spell: func(w shell.Words) string { return w.Posix("file /full/path/to/NAME") }},
			{Text: "See which interpreter a script asks for:", spell: func(w shell.Words) string { return w.FirstLine(w.Path("full", "path", "to", "NAME")) }},
			{Text: "Name the interpreter yourself:", spell: func(w shell.Words) string {
				return "gauze run -- " + w.Python() + " " + w.Path("full", "path", "to", "server.py")
			}},
		},
	},
	{
		Code: WorkdirMissing, RPC: -31006, Retry: TellUser,
		Title: "the working directory does not exist",
		model: "The directory in which the MCP server should run does not exist.",
		next:  "Do not retry: it cannot work until the user corrects the directory. Tell the user.",
		Means: "The directory in which the server should be started is missing or is not a directory. The command itself may be fine.",
		Why:   "The project was moved or deleted, a drive is not mounted, or the configured path has a typing mistake.",
		Did:   "Gauze did not start anything, does not try again, and never creates the directory.",
		Do: []Step{
			{Text: "Check the directory:", spell: func(w shell.Words) string { return w.List(w.Path("the", "directory")) }},
			{Text: "Correct it in the client's configuration, then restart the client."},
		},
	},
	{
		Code: ServerExitsEarly, RPC: -31007, Retry: TellUser, shows: true,
		Title: "the server ends right after every start",
		model: "The MCP server ends right after every start, each time in the same way. Gauze has stopped trying.",
		next:  "Do not retry: it cannot work until the user corrects the cause. Tell the user what the server said last.",
		Means: "The server was started three times and ended three times before it was ready, with the same exit and the same last words. A fourth start would end the same way.",
		Why:   "Usually a missing environment variable or argument, a missing module, a runtime that is too old, a wrong package name, or a program that is not a stdio server at all.",
		Did:   "Gauze kept the exit status and the last lines of stderr, and stopped restarting. It starts again when the client starts Gauze again.",
		Do: []Step{
			{Text: "Read the server's last lines: they usually name the cause."},
			{Text: "Run the server's own command in a terminal, without Gauze, and see it fail."},
			{Text: "Correct the command, its arguments or its environment in the client's configuration, then restart the client."},
		},
	},
	{
		Code: StartTimeout, RPC: -31008, Retry: RetryLater, shows: true,
		Title: "the server did not become ready in time",
		model: "The MCP server was started but did not become ready in time.",
		Means: "The process runs, but it did not answer the first handshake within the start timeout.",
		Why:   "A first start with npx, uvx or docker downloads packages; a server may wait for a database or a login; a program that is not a stdio MCP server never answers; `docker run` without `-i` never hears us.",
		Did:   "Gauze waited until the process had neither written anything nor used CPU for the start timeout, ended it, and starts it again with twice the patience.",
		Do: []Step{
			{Text: "Give it more time:", Command: "gauze run --start-timeout 3m -- COMMAND"},
			{Text: "Fill the package cache once by running the server's own command in a terminal."},
			{Text: "Check that the program speaks MCP on stdin and stdout: many need a flag such as --stdio; docker needs -i."},
		},
	},
	{
		Code: CrashLoop, RPC: -31009, Retry: RetryLater, shows: true,
		Title: "the server keeps crashing",
		model: "The MCP server keeps crashing. Gauze pauses the restarts for a while.",
		Means: "The server exited again and again without answering a call, so Gauze pauses before the next start.",
		Why:   "Something the server needs is broken: a dependency that is down, a full disk, too little memory, corrupt state; or one call kills it again and again.",
		Did:   "Gauze starts it again at the time shown and doubles the pause each time that fails. Calls that can wait for the next start do. As soon as the server answers a call again, the pauses are forgotten.",
		Do: []Step{
			{Text: "Read the exit status and the last lines of stderr."},
			{Text: "Run the server's own command in a terminal, without Gauze, and repeat what was called."},
			{Text: "Restarting the client tries again at once."},
		},
	},
	{
		Code: SpawnFailed, RPC: -31010, Retry: RetryLater,
		Title: "the system has no room for another process",
		model: "The machine has no room to start the MCP server at the moment.",
		Means: "The system refused to start the process for lack of something it has a limited number of: processes, memory or open files.",
		Why:   "Too many processes of this user (EAGAIN), too little memory (ENOMEM), or too many open files (EMFILE, ENFILE).",
		Did:   "Gauze tries again with growing pauses; it recovers by itself when there is room.",
		Do: []Step{
			{Text: "See the limits of this user:", spell: func(w shell.Words) string { return w.Posix("ulimit -a") }},
			{Text: "Look for programs that leave processes behind:", spell: shell.Words.Processes},
		},
	},
	{
		Code: SessionChanged, RPC: -31011, Retry: TellUser,
		Title: "the server came back speaking another protocol version",
		model: "The MCP server was restarted and came back speaking another protocol version than this session agreed on.",
		next:  "Do not retry: this session cannot go on. Tell the user to restart the client.",
		Means: "After a restart the server does not accept the protocol version that the client and the old process had agreed on.",
		Why:   "The server was updated between two starts (an unpinned npx or uvx package does that by itself), or it answers differently from start to start.",
		Did:   "Gauze does not pretend: it refuses the session instead of speaking a version the client never agreed to.",
		Do: []Step{
			{Text: "Restart the client, so that it negotiates afresh."},
			{Text: "Pin the server's version so that a restart cannot change it:", Command: "gauze run -- npx -y PACKAGE@1.2.3"},
		},
	},
	{
		// -32601, and not a number of ours: clients that probe for the modern era fall back to initialize on "method
		// not found" (some on nothing else: modelcontextprotocol/rust-sdk #1088, github/copilot-cli #4370).
		Code: MethodUnknownEra, RPC: rpcMethodNotFound, Retry: ChangeCall,
		Title: "the server did not answer server/discover",
		model: "The MCP server does not answer server/discover, so it speaks an older protocol version.",
		next:  "Use initialize instead.",
		Means: "The client asked whether the server speaks the current protocol (server/discover), and the server kept silent. It is taken for a server of the older kind.",
		Why:   "Servers written before 2026-07-28 do not know the question; most refuse it, some ignore it.",
		Did:   "Gauze waited a moment and answered in the server's place that the method is not known, so that the client goes on with initialize.",
		Do: []Step{
			{Text: "Nothing, if the client goes on by itself; most do."},
			{Text: "If the client stops here, it speaks only the current protocol: use a newer version of the server."},
		},
	},
	{
		Code: Stopping, RPC: -31012, Retry: RetryLater,
		Title: "Gauze is stopping",
		model: "Gauze is stopping together with the MCP server.",
		Means: "The request came while Gauze was ending, or was still open when it ended.",
		Why:   "The client closed the connection, or Gauze was asked to end (Ctrl-C, SIGTERM).",
		Did:   "Gauze takes no new calls, ends the server and everything it started, and answers what is still open.",
		Do: []Step{
			{Text: "Restart the client if you did not mean to stop."},
		},
	},
}
