package fault

// Code identifies a kind of [Fault]. The values are stable: they are never reused and never change
// their meaning. gauze explain CODE describes each, as [Lookup] does.
type Code string

// The server cannot be started or reached.
const (
	ServerUnavailable    Code = "server-unavailable"     // the server is down and is being restarted
	ServerStarting       Code = "server-starting"        // the server is still starting
	CommandNotFound      Code = "command-not-found"      // the command does not exist
	CommandNotExecutable Code = "command-not-executable" // the command must not be executed
	CommandBadFormat     Code = "command-bad-format"     // the command is not a program for this system
	WorkdirMissing       Code = "workdir-missing"        // the working directory does not exist
	ServerExitsEarly     Code = "server-exits-early"     // the server exits immediately after every start
	StartTimeout         Code = "start-timeout"          // the server did not answer in time when it was started
	CrashLoop            Code = "crash-loop"             // the server keeps crashing, and restarts are paused
	SpawnFailed          Code = "spawn-failed"           // the system cannot start another process
	SessionChanged       Code = "session-changed"        // the server restarted with a different protocol version
	DiscoverUnanswered   Code = "discover-unanswered"    // the server did not answer server/discover
	Stopping             Code = "stopping"               // gauze is stopping
	ServerUnreachable    Code = "server-unreachable"     // the host does not accept connections
	HostNotFound         Code = "host-not-found"         // the host name does not exist
	TLSFailed            Code = "tls-failed"             // the certificate or the TLS handshake is invalid
)

// The server at a URL rejected the request.
const (
	AuthRequired     Code = "auth-required"     // the credential is missing, wrong or expired
	AuthDenied       Code = "auth-denied"       // the credential does not permit the request
	LoginUnavailable Code = "login-unavailable" // the login could not be renewed at the moment; it is kept
	RateLimited      Code = "rate-limited"      // the server accepts no further requests for a while
	HTTPUnavailable  Code = "http-unavailable"  // the server, or a gateway before it, reported a failure
	HTTPRefused      Code = "http-refused"      // the server rejected the request with another status
	RedirectRefused  Code = "redirect-refused"  // the server redirects to a different origin
	NotMCP           Code = "not-mcp"           // the URL is not that of an MCP server
	AnswerMissing    Code = "answer-missing"    // the HTTP response ended without the JSON-RPC response
)

// A call failed.
const (
	OutcomeUnknown   Code = "outcome-unknown"    // the server was lost with the call in flight: it may or may not have taken effect
	CallTimeout      Code = "call-timeout"       // the server did not answer in time
	ReplayExhausted  Code = "replay-exhausted"   // the server crashed every time it ran the call
	CallQuarantined  Code = "call-quarantined"   // the call is rejected because the server crashed with it twice
	RetryBudgetSpent Code = "retry-budget-spent" // too many calls were sent again recently
	ServerBusy       Code = "server-busy"        // too many calls are waiting
	ToolChanged      Code = "tool-changed"       // the tool changed when the server restarted
	ToolLocked       Code = "tool-locked"        // the tool is not the one that the user accepted
	ArgumentsInvalid Code = "arguments-invalid"  // the arguments do not match the tool's input schema
	ToolUnknown      Code = "tool-unknown"       // the server has no tool with this name
	ToolsUnlisted    Code = "tools-unlisted"     // the server does not list its tools, and an unchecked call is not sent
)

// A message cannot be forwarded.
const (
	ResponseTooLarge Code = "response-too-large" // the server's response is too large
	RequestTooLarge  Code = "request-too-large"  // the request is too large
	ResponseInvalid  Code = "response-invalid"   // the server's response is not a valid message
	MessageInvalid   Code = "message-invalid"    // the client's message is not valid
	IDInUse          Code = "id-in-use"          // the request ID is already in use
)

// The gateway, gauze serve, rejected the client.
const (
	SessionLimit Code = "session-limit" // too many clients have a session
	BodyLimit    Code = "body-limit"    // too many large requests are in progress
)
