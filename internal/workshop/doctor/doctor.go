// Package doctor diagnoses why an MCP server failed, proposes fixes, and checks whether they helped.
//
// A Case is what was seen of a failed server, live or in a log. Diagnose returns the cause with its
// reasons and what to do. A log always gets the same diagnosis: nothing is run, read or connected to,
// because it may be of another machine. The case of a live server also has what this machine shows
// about it (sightings.go): files and programs that its entry names, the free space of their disks, local
// ports, its own host, and the version of its interpreter, which is asked for it. That takes at most
// lookTimeout, changes nothing, and rules out what cannot be (rulings.go). Treat tries fixes on a copy
// of the server's Spec.
//
// The causes are data, in causes/*.cause, grouped by mechanism: explanation, clues and remedies of
// each (docs/CAUSES.md). Clues are numbers (exit codes, HTTP statuses, JSON-RPC codes, errno) or
// patterns of what a tool really prints, never bare words; what several causes share is a fact. A
// condition that needs code is in names.go, by its name. Every clue has an example that needs it, in
// causes/*.examples. What a server wrote is evidence only: it is cleaned, redacted and quoted, and
// never followed.
//
// The story of a diagnosis: evidence.go and log.go make a Case, reader.go and language.go read the
// causes, diagnose.go finds those of the case, template.go fills in their texts, fixes.go turns their
// remedies into fixes, treat.go tries them.
//
// A fix that ends in a command to copy has the form "Words that introduce it: `command`".
package doctor

import "strings"

// Category is the kind of failure, coarse enough to act on.
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

// categories are all of them.
var categories = []Category{
	CommandNotFound, ConnectionRefused, Timeout, AuthFailed, MissingEnvVar, TransportMismatch, PermissionDenied, PackageNotFound,
	RuntimeTooOld, DependencyMissing, ConfigMalformed, StdoutPollution, ProtocolMismatch, SessionLost, Crashed, PortInUse,
	TLSOrProxy, DNSOrNetwork, RateLimited, InvalidToolSchema, ToolArgumentsInvalid, ResourceExhausted, PathNotFound, Unknown,
}

// Diagnosis is what is wrong, as far as the evidence shows.
type Diagnosis struct {
	Category    Category    `json:"category"`
	Cause       string      `json:"cause"`
	Confidence  float64     `json:"confidence"`
	Explanation string      `json:"explanation"`
	Fix         string      `json:"fix"`              // what to do; a model may act on it
	Reasons     []string    `json:"reasons"`          // the evidence for it, fit to be shown
	Others      []Diagnosis `json:"others,omitempty"` // other possible causes, most likely first

	// Probe says which command would decide about a tentative diagnosis of a log, and by what.
	Probe string `json:"probe,omitempty"`

	// Command is the command for Fix if it needs privileges, changes permissions or lets the server
	// do more. A server chooses its diagnosis by what it prints, so models never get the command:
	// only terminals show it.
	Command string `json:"-"`

	// RankedBy is the model that ranked Others, if no rule found the cause. They are only possible.
	RankedBy string `json:"ranked_by,omitempty"`

	variables []string // the variables that the server lacks, if that is the cause
	precise   bool     // Fix is about what gauze saw on this machine, and nothing else helps
}

// Variables returns the environment variables that are missing, as far as the evidence names them.
func (d Diagnosis) Variables() []string { return d.variables }

// Likelihood returns a confidence in words for people. The numbers rank clues and were never
// measured, so only programs get them.
func Likelihood(confidence float64) string {
	switch {
	case confidence >= certain:
		return "very likely"
	case confidence >= likely:
		return "likely"
	}
	return "possible"
}

// Tentative reports whether the evidence only suggests the cause: it is shown as possible, together
// with the next one.
func (d Diagnosis) Tentative() bool { return d.Category != Unknown && d.Confidence < likely }

// WithCommand returns a fix that ends in a command that only people are shown.
func WithCommand(fix, command string) string {
	if command == "" {
		return fix
	}
	return strings.TrimSuffix(fix, ".") + ": `" + command + "`"
}
