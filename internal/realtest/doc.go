// Package realtest proves the promise on real software: real servers, killed, stopped and made noisy under real clients.
//
// It holds tests only. Five servers from npm and PyPI (package realparts) run behind the gauze binary; the go-sdk,
// mcp-go and both TypeScript SDKs talk to it as they would to the server itself.
//
//	kill, stop, noise    the session goes on and reads succeed
//	effects              what changes something happens once, or the client is told that the outcome is unknown
//	leftovers            nothing stays behind, not even after kill -9 of gauze
//	restart, runurl      a server with sessions, at a URL, is killed and started again, and no client notices
//	servechildren        the same for stdio servers behind gauze serve, one for each session
//	judges               Claude Code, Codex, Gemini CLI, opencode and Copilot CLI read what we write into their files
//	wrapall              thirty servers of ten clients wrapped, tried, and given back
//	withoutgauze         what becomes of the same clients without gauze
//
// The tests look processes up in /proc and hold them by pidfd, so they run on Linux.
package realtest
