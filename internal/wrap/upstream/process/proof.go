package process

import "runtime"

// ProvesUnread reports whether the platform can prove which bytes a dead server never read from its
// stdin; see stdinPipe.unread. Without that proof, the outcome of a call that the server may have
// read is unknown.
const ProvesUnread = runtime.GOOS == "linux" || runtime.GOOS == "windows"
