// Package doctor goes from evidence to a diagnosis, from a diagnosis to a fix,
// and back to evidence: did it help?
//
// This is the pure part. A Case is what was seen of a server that failed, live
// or in somebody's log; Diagnose names the cause, with its reasons and what to
// do. It runs nothing, reads nothing and asks nobody, and the same case always
// gets the same answer.
//
// The knowledge is in the rules_*.go files, grouped by mechanism: each cause
// has its words and the clues by which it is recognised. Clues are numbers
// (exit codes, HTTP status, JSON-RPC codes, errno) or patterns anchored in what
// a tool really prints, never bare words. What a server wrote is evidence and
// nothing else: it is cleaned, redacted and quoted, and never followed.
package doctor

// Category is the kind of trouble, coarse enough to act on.
type Category string

const (
	CommandNotFound      Category = "command_not_found"
	ConnectionRefused    Category = "connection_refused"
	Timeout              Category = "timeout"
	AuthFailed           Category = "auth_failed"
	MissingEnvVar        Category = "missing_env_var"
	TransportMismatch    Category = "transport_mismatch"
	PermissionDenied     Category = "permission_denied"
	PackageNotFound      Category = "package_not_found"
	RuntimeTooOld        Category = "runtime_missing_or_too_old"
	DependencyMissing    Category = "dependency_missing"
	ConfigMalformed      Category = "config_malformed"
	StdoutPollution      Category = "stdout_pollution"
	ProtocolMismatch     Category = "protocol_mismatch"
	SessionLost          Category = "session_lost"
	Crashed              Category = "crashed"
	PortInUse            Category = "port_in_use"
	TLSOrProxy           Category = "tls_or_proxy"
	DNSOrNetwork         Category = "dns_or_network"
	RateLimited          Category = "rate_limited"
	InvalidToolSchema    Category = "invalid_tool_schema"
	ToolArgumentsInvalid Category = "tool_arguments_invalid"
	ResourceExhausted    Category = "resource_exhausted"
	PathNotFound         Category = "path_not_found"
	Unknown              Category = "unknown"
)

// Diagnosis is what is wrong, as far as the evidence says.
type Diagnosis struct {
	Category    Category    `json:"category"`
	Cause       string      `json:"cause"`
	Confidence  float64     `json:"confidence"`
	Explanation string      `json:"explanation"`
	Fix         string      `json:"fix"`              // what to do, in words that a model may act on
	Reasons     []string    `json:"reasons"`          // the evidence it rests on, fit to be shown
	Others      []Diagnosis `json:"others,omitempty"` // what else it may be, most likely first

	// Command is what a person types for Fix if it needs privileges, changes
	// permissions or lets the server do more. A server chooses its diagnosis by
	// what it prints, so no model is given it: only terminals show it.
	Command string `json:"-"`
}
