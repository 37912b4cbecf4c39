package fault

// Code is the stable name of one kind of fault. Names are never reused and never change their
// meaning.
type Code string

// The server cannot be reached.
const (
	ServerUnavailable    Code = "server-unavailable"
	ServerStarting       Code = "server-starting"
	CommandNotFound      Code = "command-not-found"
	CommandNotExecutable Code = "command-not-executable"
	CommandBadFormat     Code = "command-bad-format"
	WorkdirMissing       Code = "workdir-missing"
	ServerExitsEarly     Code = "server-exits-early"
	StartTimeout         Code = "start-timeout"
	CrashLoop            Code = "crash-loop"
	SpawnFailed          Code = "spawn-failed"
	SessionChanged       Code = "session-changed"
	MethodUnknownEra     Code = "discover-unanswered"
	Stopping             Code = "stopping"
	ServerUnreachable    Code = "server-unreachable"
	HostNotFound         Code = "host-not-found"
	TLSFailed            Code = "tls-failed"
)

// A server at a URL rejected a request.
const (
	AuthRequired     Code = "auth-required"
	AuthDenied       Code = "auth-denied"
	LoginUnavailable Code = "login-unavailable"
	RateLimited      Code = "rate-limited"
	HTTPUnavailable  Code = "http-unavailable"
	HTTPRefused      Code = "http-refused"
	RedirectRefused  Code = "redirect-refused"
	NotMCP           Code = "not-mcp"
	AnswerMissing    Code = "answer-missing"
)

// One call failed.
const (
	OutcomeUnknown   Code = "outcome-unknown"
	CallTimeout      Code = "call-timeout"
	ReplayExhausted  Code = "replay-exhausted"
	CallQuarantined  Code = "call-quarantined"
	RetryBudgetSpent Code = "retry-budget-spent"
	ServerBusy       Code = "server-busy"
	ToolChanged      Code = "tool-changed"
	ArgumentsInvalid Code = "arguments-invalid"
	ToolUnknown      Code = "tool-unknown"
	ToolsUnlisted    Code = "tools-unlisted"
)

// One message cannot be passed on.
const (
	ResponseTooLarge Code = "response-too-large"
	RequestTooLarge  Code = "request-too-large"
	ResponseInvalid  Code = "response-invalid"
	MessageInvalid   Code = "message-invalid"
	IDInUse          Code = "id-in-use"
)

// A client cannot be accepted.
const (
	SessionLimit Code = "session-limit"
	BodyLimit    Code = "body-limit"
)
