package fault

var gatewayEntries = []Entry{
	{
		Code: SessionLimit, RPC: -31070, Retry: RetryLater,
		Title: "too many sessions",
		model: "Too many clients are connected to this MCP server through gauze.",
		next:  "Try again later, or ask the user to close another client.",
		Means: "A client tried to start a session while the maximum number of sessions was in use. Each session has its own server.",
		Why:   "Many clients are connected. Gauze closes an unused session (one without an open stream or a call in flight) to make room for a new one, so all current sessions are in use.",
		Did:   "Gauze rejected the new session without starting a server for it; the other sessions continue.",
		Do: []Step{
			{Text: "Close clients you do not need, or wait."},
			{Text: "Allow more sessions:", Command: "gauze serve --max-sessions 256 -- COMMAND"},
			{Text: "Close idle sessions sooner:", Command: "gauze serve --session-idle 5m -- COMMAND"},
		},
	},
	{
		Code: BodyLimit, RPC: -31071, Retry: RetryLater,
		Title: "too many large requests at the same time",
		model: "Gauze is receiving too many large requests at the same time.",
		next:  "Try again in a few seconds, or send less data in one call.",
		Means: "The requests in flight are using all the memory that gauze allows for them, so this one did not fit. Small requests are not limited.",
		Why:   "Clients are sending many large requests, or a client stopped partway through a request.",
		Did:   "Gauze rejected this request without forwarding any of it. If a client stops sending, gauze cancels its request after a few seconds.",
		Do: []Step{
			{Text: "Try again in a few seconds."},
			{Text: "Split large arguments into several calls."},
		},
	},
}
