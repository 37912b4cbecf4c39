// Package realtest tests gauze with real software: real servers are killed, stopped and made noisy
// under real clients.
//
// It contains only tests. Six servers from npm and PyPI (package realparts) run behind the gauze
// binary; the go-sdk, mcp-go and both TypeScript SDKs use it as they would use the server itself.
//
//	kill, stop, noise    the session continues and reads succeed
//	effects              a change happens once, or the client learns that the outcome is unknown
//	leftovers            no process remains, not even after kill -9 of gauze
//	restart, runurl      an HTTP server with sessions is killed and restarted without the client noticing
//	servechildren        the same for stdio servers behind gauze serve, one per session
//	task                 a task over four servers is resumed after kill -9 of gauze, with every effect once
//	judges               Claude Code, Codex, Gemini CLI, opencode and Copilot CLI read what gauze writes
//	judges_absent        two of them learn why a server is absent, and begin without one that was reached before
//	oneentry             two of them, three in a run of everything, have one entry, gauze connect; a server is killed and one is changed in their sessions
//	wrapall              thirty servers of ten clients wrapped, tried and unwrapped
//	withoutgauze         the same clients without gauze
//
// The tests use /proc and pidfds, so they run only on Linux.
package realtest
