// Package doctor tests, diagnoses, heals and configures MCP servers, as the gauze command does.
//
//	Test         starts or reaches one server                     gauze test
//	Diagnose     finds the cause of a failure in a log            gauze diagnose
//	CheckHealth  tests the servers of the MCP clients in use      gauze doctor
//	Heal         plans the repair of what CheckHealth finds       gauze doctor --fix
//	Configure    tests a new server and plans to add it           gauze add
//
// Nothing is installed, and nothing is written except by [Plan.Apply], which writes exactly what
// [Plan.Diff] shows. Secrets of the servers are redacted in everything that is returned.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Server is how a server is started or reached. Set Command or URL.
type Server struct {
	Command []string    // Command is the program and its arguments.
	Dir     string      // Dir is the working directory of Command. Default: that of the calling process.
	Env     []string    // Env is the environment of Command. Default: that of the calling process.
	URL     string      // URL is the address of a server to reach over HTTP.
	Header  http.Header // Header is added to every request to URL.
}

// Stage is how far a server got when it was tested.
type Stage string

const (
	StageNowhere     Stage = "nowhere"     // the command was not found, or the host has no address
	StageLocated     Stage = "located"     // the command was found, or the host has an address
	StageStarted     Stage = "started"     // the process started, or the host accepted a connection
	StageSpoke       Stage = "spoke"       // the server sent a JSON-RPC message
	StageInitialized Stage = "initialized" // the server opened a session
	StageListed      Stage = "listed"      // the server listed its tools
)

// Report is the result of testing a server.
type Report struct {
	Works     bool          // Works reports whether the server opened a session and listed its tools.
	Server    string        // Server is the command line or URL.
	Stage     Stage         // Stage is how far the server got.
	Took      time.Duration // Took is how long the last attempt took.
	Stopped   string        // Stopped says why the server got no further.
	Exit      string        // Exit is how the process ended, such as "exit status 1".
	Stderr    []string      // Stderr holds the last lines of the server's stderr.
	Name      string        // Name is the server's own name.
	Version   string        // Version is the server's own version.
	Protocol  string        // Protocol is the MCP version of the session.
	Transport string        // Transport is "stdio", "http" or "sse".
	Tools     []string      // Tools lists the names of the server's tools.
	Steps     []Step        // Steps lists the fixes that were tried.
	Diagnosis *Diagnosis    // Diagnosis is why the server does not work, or nil if it works.
	Next      string        // Next is what to do about it.
	Fixable   bool          // Fixable reports whether there is a fix that TestOptions.Heal would try.
}

// Step is one fix that was tried on a copy of the configuration, in memory.
type Step struct {
	Fix       string     // Fix is the name of the fix.
	About     string     // About is what the fix changes and why.
	Result    StepResult // Result is whether it helped.
	Next      string     // Next is how to make the fix permanent.
	Diagnosis Diagnosis  // Diagnosis is what the fix was for.
}

// StepResult is the effect of a fix.
type StepResult string

const (
	StepHealed StepResult = "healed" // the server works
	StepHelped StepResult = "helped" // the server gets further, or fails for a different reason
	StepUndone StepResult = "undone" // the fix did not help and was undone
)

// Diagnosis is the most likely cause of a failure.
type Diagnosis struct {
	Category    Category    // Category is the kind of failure.
	Cause       string      // Cause identifies the cause within its category.
	Confidence  float64     // Confidence is between 0 and 1, and only good for ranking.
	Explanation string      // Explanation describes the cause.
	Fix         string      // Fix is what to do.
	Evidence    []string    // Evidence quotes the lines that the diagnosis is based on.
	Others      []Diagnosis // Others lists other possible causes, most likely first.
}

// Category is the kind of a failure. The values are stable.
type Category string

const (
	CategoryCommandNotFound      Category = "command_not_found"          // the command does not exist, or is not on the PATH
	CategoryConnectionRefused    Category = "connection_refused"         // the host does not accept connections on this port
	CategoryTimeout              Category = "timeout"                    // the server did not answer in time
	CategoryAuthFailed           Category = "auth_failed"                // the credential is missing, wrong or expired
	CategoryMissingEnvVar        Category = "missing_env_var"            // a required environment variable is not set
	CategoryTransportMismatch    Category = "transport_mismatch"         // the server uses a different transport than the client
	CategoryPermissionDenied     Category = "permission_denied"          // the system denied access to a file, directory or port
	CategoryPackageNotFound      Category = "package_not_found"          // the package, version or image does not exist
	CategoryRuntimeTooOld        Category = "runtime_missing_or_too_old" // the language runtime is missing or too old
	CategoryDependencyMissing    Category = "dependency_missing"         // a library that the server needs is missing
	CategoryConfigMalformed      Category = "config_malformed"           // the configuration cannot be read, or has invalid values
	CategoryStdoutPollution      Category = "stdout_pollution"           // the server writes to stdout what is not a message
	CategoryProtocolMismatch     Category = "protocol_mismatch"          // client and server have no protocol version in common
	CategorySessionLost          Category = "session_lost"               // the server no longer knows the session
	CategoryCrashed              Category = "crashed"                    // the server exited because of an error
	CategoryPortInUse            Category = "port_in_use"                // another process uses the port that the server needs
	CategoryTLSOrProxy           Category = "tls_or_proxy"               // the certificate is not trusted, or a proxy is in the way
	CategoryDNSOrNetwork         Category = "dns_or_network"             // the host name does not exist, or the network is down
	CategoryRateLimited          Category = "rate_limited"               // the server accepts no further requests for a while
	CategoryInvalidToolSchema    Category = "invalid_tool_schema"        // a client or model rejects the schema of a tool
	CategoryToolArgumentsInvalid Category = "tool_arguments_invalid"     // the arguments of a call do not match the tool
	CategoryResourceExhausted    Category = "resource_exhausted"         // memory, disk space or another resource is used up
	CategoryPathNotFound         Category = "path_not_found"             // a file or directory that the server needs does not exist
	CategoryUnknown              Category = "unknown"                    // the evidence does not show the cause
)

// TestOptions configures [Test]. The zero value tests the server as it is.
type TestOptions struct {
	// Heal tries fixes that only change how the same server is started or reached.
	Heal bool
	// Timeout is how long the server may take for one response without showing activity. Default 10s,
	// or 60s for commands that may download the server first.
	Timeout time.Duration
	// Progress receives lines that say what is going on.
	Progress func(string)
}

// Test starts or reaches a server, opens a session and lists its tools. A server that does not work
// is not an error: the report says why. The error is that of an invalid server or of ctx.
func Test(ctx context.Context, server Server, o TestOptions) (*Report, error) {
	spec, err := server.spec()
	if err != nil {
		return nil, err
	}
	if o.Timeout < 0 {
		return nil, negative("TestOptions.Timeout", o.Timeout)
	}
	machine := doctor.ThisMachine().Until(ctx)
	attempt, report := doctor.Examine(ctx, machine, spec, doctor.ExamineOptions{
		Heal: o.Heal, Timeout: o.Timeout, Version: version(), Tell: o.Progress})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return publicReport(spec.Shown(), attempt, report, fleet.Hiding(spec)), nil
}

// Diagnose finds the most likely cause of a failure in a log, which is that of an MCP client or the
// server's stderr. server is how the server is started or reached, as far as that is known; it makes
// the diagnosis more certain. Nothing is started or reached.
func Diagnose(log string, server Server) Diagnosis {
	c := doctor.FromLog(server.URL, log)
	if len(server.Command) > 0 {
		c.Command = server.Command
	}
	c.Secrets = redact.JoinSecrets(redact.EnvironSecrets(os.Environ()), server.secrets())
	return publicDiagnosis(doctor.Diagnose(c), func(text string) string { return redact.Text(c.Secrets.Redact(text)) })
}

// secrets returns the values that must not be shown, also those of a server that is not complete.
func (s Server) secrets() redact.Secrets {
	var headers []string
	for _, values := range s.Header {
		headers = append(headers, values...)
	}
	return redact.JoinSecrets(redact.EnvironSecrets(s.Env), redact.CommandSecrets(s.Command),
		redact.KnownSecrets(headers...), redact.AddressSecrets(s.URL))
}

// spec returns the server as internal packages know it.
func (s Server) spec() (spec launch.Spec, err error) {
	command := len(s.Command) > 0 && s.Command[0] != ""
	switch {
	case s.URL == "" && !command:
		return spec, errors.New(`doctor: no server: set Server.Command, for example to []string{"npx", "-y", "some-server"}, or Server.URL`)
	case s.URL != "" && len(s.Command) > 0:
		return spec, errors.New("doctor: Server.Command and Server.URL are both set: set only one of them")
	case s.URL == "":
		return launch.Spec{Command: s.Command[0], Args: s.Command[1:], Dir: s.Dir, Env: s.Env}, nil
	}
	if err := launch.CheckURL(s.URL); err != nil {
		return spec, fmt.Errorf("doctor: invalid Server.URL: %w", err)
	}
	spec.URL = s.URL
	for name, values := range s.Header {
		for _, value := range values {
			if err := launch.CheckHeader(name, value); err != nil {
				return spec, fmt.Errorf("doctor: invalid Server.Header: %w", err)
			}
			spec.Header = append(spec.Header, launch.Header{Name: name, Value: value, Source: "Server.Header"})
		}
	}
	return spec, nil
}

func negative(field string, value time.Duration) error {
	return fmt.Errorf("doctor: invalid %s %v: must be 0 or more", field, value)
}
