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
	CodeServerUnavailable    Code = "server-unavailable"
	CodeServerStarting       Code = "server-starting"
	CodeCommandNotFound      Code = "command-not-found"
	CodeCommandNotExecutable Code = "command-not-executable"
	CodeCommandBadFormat     Code = "command-bad-format"
	CodeWorkdirMissing       Code = "workdir-missing"
	CodeServerExitsEarly     Code = "server-exits-early"
	CodeStartTimeout         Code = "start-timeout"
	CodeCrashLoop            Code = "crash-loop"
	CodeSpawnFailed          Code = "spawn-failed"
	CodeSessionChanged       Code = "session-changed"
	CodeMethodUnknownEra     Code = "discover-unanswered"
	CodeStopping             Code = "stopping"
	CodeServerUnreachable    Code = "server-unreachable"
	CodeHostNotFound         Code = "host-not-found"
	CodeTLSFailed            Code = "tls-failed"
)

// The server at a URL rejected the request.
const (
	CodeAuthRequired    Code = "auth-required"
	CodeAuthDenied      Code = "auth-denied"
	CodeRateLimited     Code = "rate-limited"
	CodeHTTPUnavailable Code = "http-unavailable"
	CodeHTTPRefused     Code = "http-refused"
	CodeRedirectRefused Code = "redirect-refused"
	CodeNotMCP          Code = "not-mcp"
	CodeAnswerMissing   Code = "answer-missing"
)

// A call failed.
const (
	// CodeOutcomeUnknown means that the server was lost with the call in flight: the call may or
	// may not have taken effect. Check before repeating it.
	CodeOutcomeUnknown   Code = "outcome-unknown"
	CodeCallTimeout      Code = "call-timeout"
	CodeServerHung       Code = "server-hung"
	CodeReplayExhausted  Code = "replay-exhausted"
	CodeCallQuarantined  Code = "call-quarantined"
	CodeRetryBudgetSpent Code = "retry-budget-spent"
	CodeServerBusy       Code = "server-busy"
	CodeToolChanged      Code = "tool-changed"
	CodeArgumentsInvalid Code = "arguments-invalid"
	CodeToolUnknown      Code = "tool-unknown"
)

// A message cannot be forwarded.
const (
	CodeResponseTooLarge Code = "response-too-large"
	CodeRequestTooLarge  Code = "request-too-large"
	CodeResponseInvalid  Code = "response-invalid"
	CodeMessageInvalid   Code = "message-invalid"
	CodeIDInUse          Code = "id-in-use"
)

// The gateway, gauze serve, rejected the client.
const (
	CodeSessionLimit Code = "session-limit"
	CodeBodyLimit    Code = "body-limit"
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

	At       time.Time     // At is when the fault was reported.
	Since    time.Time     // Since is when the server was lost.
	NextTry  time.Time     // NextTry is when the server is started next, or a quarantine ends.
	Attempts int           // Attempts counts the starts since the server was lost.
	Waited   time.Duration // Waited is how long the request waited.
	Limit    time.Duration // Limit is the limit that the request exceeded.

	Evidence *Evidence // Evidence is the last output of a server that exited, if there is any.

	// Report is the JSON report of a call that was rejected because of its arguments, as in
	// [RepairResult].Details. It is nil for other faults.
	Report json.RawMessage
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
	for _, part := range []string{f.Server, f.Title, f.Detail} {
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
//	if err != nil {
//		return gauze.FaultOf(err), err
//	}
//	if f := gauze.FaultOf(result); f != nil && f.Code == gauze.CodeOutcomeUnknown {
//		// Check whether the call took effect.
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
