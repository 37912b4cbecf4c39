package verdict

import "github.com/gauze-mcp/gauze/internal/fault"

// KindOf returns how the fault of a server that is unavailable counts, and whether it does.
func KindOf(code fault.Code) (Kind, bool) {
	kind, ok := kindOfFault[code]
	return kind, ok
}

var kindOfFault = map[fault.Code]Kind{
	fault.CommandNotFound: NotStarted, fault.CommandNotExecutable: NotStarted, fault.CommandBadFormat: NotStarted,
	fault.WorkdirMissing: NotStarted, fault.SpawnFailed: NotStarted,
	fault.ServerExitsEarly: Exited, fault.CrashLoop: Exited,
	fault.StartTimeout: TimedOut, fault.AnswerMissing: TimedOut,
	fault.ServerUnreachable: Refused, fault.HostNotFound: Refused, fault.TLSFailed: Reset,
	fault.HTTPUnavailable: Unavailable, fault.LoginUnavailable: Unavailable, fault.RateLimited: Throttled,
	fault.AuthRequired: Unauthorized, fault.AuthDenied: Unauthorized,
	fault.NotMCP: Protocol,
}
