//go:build !linux

package doctor

// mountedNoExec returns false: it is implemented only for Linux.
func mountedNoExec(string) bool { return false }
