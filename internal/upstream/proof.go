package upstream

import "runtime"

// ProvesUnread reports whether the platform lets us prove which bytes a dead
// server never read from its stdin: see stdinPipe.unread. Without the proof, a
// call that the server may have read is answered as unknown.
const ProvesUnread = runtime.GOOS == "linux" || runtime.GOOS == "windows"
