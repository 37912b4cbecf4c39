package gauze

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Code identifies a kind of [Fault]. The values are stable; gauze explain CODE describes each.
type Code string

// The server cannot be started or reached.
const (
	CodeServerUnavailable    Code = "server-unavailable"     // the server is down and is being restarted
	CodeServerStarting       Code = "server-starting"        // the server is still starting
	CodeCommandNotFound      Code = "command-not-found"      // the command does not exist
	CodeCommandNotExecutable Code = "command-not-executable" // the command must not be executed
	CodeCommandBadFormat     Code = "command-bad-format"     // the command is not a program for this system
	CodeWorkdirMissing       Code = "workdir-missing"        // the working directory does not exist
	CodeServerExitsEarly     Code = "server-exits-early"     // the server exits immediately after every start
	CodeStartTimeout         Code = "start-timeout"          // the server did not answer in time when it was started
	CodeCrashLoop            Code = "crash-loop"             // the server keeps crashing, and restarts are paused
	CodeSpawnFailed          Code = "spawn-failed"           // the system cannot start another process
	CodeSessionChanged       Code = "session-changed"        // the server restarted with a different protocol version
	CodeDiscoverUnanswered   Code = "discover-unanswered"    // the server did not answer server/discover
	CodeStopping             Code = "stopping"               // gauze is stopping
	CodeServerUnreachable    Code = "server-unreachable"     // the host does not accept connections
	CodeHostNotFound         Code = "host-not-found"         // the host name does not exist
	CodeTLSFailed            Code = "tls-failed"             // the certificate or the TLS handshake is invalid
)

// The server at a URL rejected the request.
const (
	CodeAuthRequired     Code = "auth-required"     // the credential is missing, wrong or expired
	CodeAuthDenied       Code = "auth-denied"       // the credential does not permit the request
	CodeLoginUnavailable Code = "login-unavailable" // the login could not be renewed at the moment; it is kept
	CodeRateLimited      Code = "rate-limited"      // the server accepts no further requests for a while
	CodeHTTPUnavailable  Code = "http-unavailable"  // the server, or a gateway before it, reported a failure
	CodeHTTPRefused      Code = "http-refused"      // the server rejected the request with another status
	CodeRedirectRefused  Code = "redirect-refused"  // the server redirects to a different origin
	CodeNotMCP           Code = "not-mcp"           // the URL is not that of an MCP server
	CodeAnswerMissing    Code = "answer-missing"    // the HTTP response ended without the JSON-RPC response
)

// A call failed.
const (
	CodeOutcomeUnknown   Code = "outcome-unknown"    // the server was lost with the call in flight: it may or may not have taken effect
	CodeCallTimeout      Code = "call-timeout"       // the server did not answer in time
	CodeReplayExhausted  Code = "replay-exhausted"   // the server crashed every time it ran the call
	CodeCallQuarantined  Code = "call-quarantined"   // the call is rejected because the server crashed with it twice
	CodeRetryBudgetSpent Code = "retry-budget-spent" // too many calls were sent again recently
	CodeServerBusy       Code = "server-busy"        // too many calls are waiting
	CodeToolChanged      Code = "tool-changed"       // the tool changed when the server restarted
	CodeArgumentsInvalid Code = "arguments-invalid"  // the arguments do not match the tool's input schema
	CodeToolUnknown      Code = "tool-unknown"       // the server has no tool with this name
	CodeToolsUnlisted    Code = "tools-unlisted"     // the server does not list its tools, and an unchecked call is not sent
)

// A message cannot be forwarded.
const (
	CodeResponseTooLarge Code = "response-too-large" // the server's response is too large
	CodeRequestTooLarge  Code = "request-too-large"  // the request is too large
	CodeResponseInvalid  Code = "response-invalid"   // the server's response is not a valid message
	CodeMessageInvalid   Code = "message-invalid"    // the client's message is not valid
	CodeIDInUse          Code = "id-in-use"          // the request ID is already in use
)

// The gateway, gauze serve, rejected the client.
const (
	CodeSessionLimit Code = "session-limit" // too many clients have a session
	CodeBodyLimit    Code = "body-limit"    // too many large requests are in progress
)

// Delivery is how far a request got.
type Delivery string

const (
	DeliveryUnsent   Delivery = "unsent"   // the server did not receive the whole request, so it had no effect
	DeliveryUnknown  Delivery = "unknown"  // the server may have received the request, and it may have taken effect
	DeliveryAnswered Delivery = "answered" // the server answered the request
	DeliveryRefused  Delivery = "refused"  // the server rejected the request with an HTTP status; it most likely had no effect
)

// Advice is what the caller can do about a [Fault].
type Advice string

const (
	AdviceRetryNow    Advice = "retry-now"    // repeat the request; that is harmless
	AdviceRetryLater  Advice = "retry-later"  // repeat the request later; it had no effect
	AdviceVerifyFirst Advice = "verify-first" // check whether the request took effect before repeating it
	AdviceChangeCall  Advice = "change-call"  // change the request; repeated unchanged, it fails again
	AdviceTellUser    Advice = "tell-user"    // tell the user; no request helps
)

// Fault is a failure that gauze reports in place of the server's response. Get it with [FaultOf],
// or with [errors.As] from an error that a session over a [Transport] returned.
type Fault struct {
	Code     Code     // Code identifies the failure.
	Title    string   // Title describes Code in a few words.
	Delivery Delivery // Delivery is how far the request got.
	Retry    Advice   // Retry is what to do next.
	Safe     bool     // Safe reports whether repeating the request cannot have a second effect.

	Server string // Server is the server's name.
	Method string // Method is the MCP method of the request.
	Tool   string // Tool is the name of the tool that was called.
	Detail string // Detail describes this case in one line.
	Cause  *Cause // Cause is why the server failed. It is nil if that is unknown.

	At         time.Time // At is when the fault was reported.
	Since      time.Time // Since is when the server was lost.
	State      State     // State is how the server is doing, or "starting". It is empty if the fault is not about a server.
	Closures   uint64    // Closures counts connections that ended so far.
	Recoveries uint64    // Recoveries counts how often the server became healthy again.

	NextTry  time.Time     // NextTry is when the server is started next, or a quarantine ends.
	Attempts int           // Attempts counts the starts since the server was lost.
	Waited   time.Duration // Waited is how long the request waited.
	Limit    time.Duration // Limit is the limit that the request exceeded.

	Evidence *Evidence // Evidence is the last output of a server that exited, if there is any.

	// Report is the JSON report of a call that was rejected because of its arguments, as in
	// [RepairResult].Details. It is nil for other faults.
	Report json.RawMessage
}

// Cause is why a server failed, and what to do about it.
type Cause struct {
	Code        string   // Code identifies the cause, such as "env_not_set"; gauze explain describes it.
	Explanation string   // Explanation says in a sentence or two why the server failed.
	Remedy      string   // Remedy is what a person has to do.
	Changes     []string // Changes lists how gauze changed the way the server is started or reached before it failed again.
}

// Evidence is what is known about a server that exited. Stderr and Stdout quote the server.
type Evidence struct {
	Exit   string        // Exit is how the process ended, such as "exit status 1".
	Ran    time.Duration // Ran is how long the process ran.
	Stderr []string      // Stderr holds the last lines of its stderr.
	Stdout []string      // Stdout holds the last lines of its stdout that were not messages.
}

// Error implements error.
func (f *Fault) Error() string {
	text := "gauze: " + string(f.Code)
	parts := []string{f.Server, f.Title, f.Detail}
	if f.Cause != nil && f.Cause.Explanation != "" {
		parts = []string{f.Server, f.Cause.Explanation + " " + f.Cause.Remedy}
	}
	for _, part := range parts {
		if part != "" {
			text += ": " + part
		}
	}
	return text
}

// FaultOf returns the fault that gauze reported in v, or nil if v is the server's own response. v is
// an [*mcp.CallToolResult] or an error of a client session:
//
//	result, err := session.CallTool(ctx, params)
//	if f := gauze.FaultOf(result); f != nil && f.Code == gauze.CodeOutcomeUnknown {
//		// Check whether the call took effect before repeating it.
//	}
//
// It works with every client of a server behind gauze: a [Transport], gauze run or gauze serve.
// There, a server cannot forge a fault. Without gauze in between, it can.
func FaultOf(v any) *Fault {
	switch v := v.(type) {
	case error:
		var f *Fault
		var rpc *jsonrpc.Error
		if errors.As(v, &f) {
			return f
		}
		if errors.As(v, &rpc) {
			return decodeFault(rpc.Data)
		}
	case *mcp.CallToolResult:
		if v != nil {
			return faultInMeta(v.Meta)
		}
	}
	return nil
}
