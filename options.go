package gauze

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/llm"
	"github.com/gauze-mcp/gauze/repair"
)

// Options configures a [Wrap] or a [Transport]. Set Command or URL; the zero value of every other
// field is a sensible default.
type Options struct {
	// Command is the server's program and its arguments.
	Command []string
	// Dir is the working directory of Command. Default: that of the calling process.
	Dir string
	// Env is the environment of Command, as in [os/exec.Cmd]. Default: that of the calling process.
	Env []string

	// URL is the address of a server to reach over HTTP, instead of a Command.
	URL string
	// Header is added to every request to URL.
	Header http.Header
	// HeaderFunc returns headers to add to a request to URL, such as a token that expires. It is
	// called for every request, possibly from several goroutines. If it returns an error the request
	// is not sent.
	HeaderFunc func(context.Context) (http.Header, error)
	// OAuthHandler authorizes the requests to URL. A request that is answered with 401 or 403 is
	// sent once more after the handler has obtained a token, unless it may have had an effect.
	// Obtaining one must not take longer than StartTimeout when the session is opened.
	OAuthHandler auth.OAuthHandler
	// HTTPClient sends the requests to URL. It must not repeat requests itself, and its Timeout also
	// limits streams. Redirects to a different origin are not followed, whatever its CheckRedirect
	// says. Default: a client with timeouts for connecting, TLS and response headers.
	HTTPClient *http.Client

	// Name is the server's name in messages and events. Default: its command line or URL, without
	// secrets.
	Name string

	// Timeout is how long a call may take without progress. Default: no limit.
	Timeout time.Duration
	// MaxTime is how long a call may take, with or without progress. Default: no limit.
	MaxTime time.Duration
	// Patience is how long a call waits at most while the server is down. Once a restart has failed, it is
	// held only as long as a restart is likely to take. Default 30s.
	Patience time.Duration
	// StartTimeout is how long a starting server may take to answer. Default 60s.
	StartTimeout time.Duration

	// Repair is what happens to calls whose arguments do not match the tool's input schema.
	Repair RepairMode
	// Explain words what a model reads about a call that is refused because of its arguments, and what
	// is added to a server's own rejection of them. It gets the usual message, and returns what to use
	// instead, or "" to keep it. It must be fast, and is possibly called from several goroutines.
	Explain func(repair.Explanation) string
	// Tools overrides what tools declare about themselves, by name. The name "*" means all tools, and only Correct
	// can be set for it.
	Tools map[string]Policy
	// Model is asked once about a call that the server rejected because of its arguments, or that
	// RepairStrict would reject. Default: no model is asked.
	Model llm.Model
	// Correct is which calls are corrected, and which are repeated because they failed for a reason that
	// may be over soon, such as [repair.RejectionTimeout].
	Correct repair.Policy
	// Restart is how a server is restarted.
	Restart Restart
	// Tuning has what hardly any program needs to change.
	Tuning Tuning
	// NoHeal disables trying other ways to start or reach a server that fails to start. The cause is
	// still diagnosed. With an HTTPClient, OAuthHandler or HeaderFunc no other way is tried either.
	NoHeal bool

	// Stderr receives the server's stderr. Default: it is discarded.
	Stderr io.Writer
	// Logger receives every event as a record. Default: events are not logged.
	Logger *slog.Logger
	// OnEvent is called for every event, in order and from one goroutine. If more than a thousand
	// events are waiting for it, the oldest are dropped. It must not close the session, because that
	// waits for it.
	OnEvent func(event.Event)
}

// Tuning configures when a server is probed and replaced, and which calls are sent at the same time or
// again. The zero value of every field is a sensible default.
type Tuning struct {
	// ProbeInterval is how long a server may be silent during a call before it is probed. Default
	// 15s.
	ProbeInterval time.Duration
	// ProbeTimeout is how long a server may take to answer a probe. Default 5s.
	ProbeTimeout time.Duration
	// IdleProbe is how often a server that no call waits for is asked whether it responds, so that Health is
	// true although nothing uses it; a process that is stopped is then replaced. Default: never. gauze serve does
	// so every 5s.
	IdleProbe time.Duration
	// HangGrace is how long an unresponsive server may be stopped or use no CPU before it is replaced.
	// Default 10s.
	HangGrace time.Duration
	// Window is the maximum number of calls in flight that are not safe to repeat. Default: no limit
	// until the server crashes, then one, growing again slowly.
	Window int
	// RetryBudget is how many calls may be sent again in a burst. Default 256; negative means no
	// limit.
	RetryBudget int
	// Quarantine is how long a call that was in flight at two consecutive crashes is rejected.
	// Default 5m; negative disables it.
	Quarantine time.Duration
}

// Policy overrides what one tool declares about itself.
type Policy struct {
	// Replay is whether a call is sent again after the server was lost.
	Replay Replay
	// Timeout is how long a call may take without progress. Default: that of the Options.
	Timeout time.Duration
	// MaxInFlight is how many calls of the tool may be in flight. Default: no limit.
	MaxInFlight int
	// Repair is what happens to arguments that do not match the input schema. Default: as the
	// Options say.
	Repair RepairMode
	// Correct overrides the fields of Options.Correct that it sets.
	Correct *repair.Policy
}

// Restart configures how a server is restarted.
type Restart struct {
	// Backoff is the upper bound of the random wait before the second restart in a row. It doubles
	// with each further one. Default 200ms; negative disables waiting.
	Backoff time.Duration
	// Cap is the longest wait. Default 30s.
	Cap time.Duration
	// Limit is how many restarts within Period may fail before restarts are paused. Default 5;
	// negative means no limit.
	Limit int
	// Period is the period of Limit. Default 60s.
	Period time.Duration
	// Open is the length of the first pause. It doubles with each further one. Default 2s.
	Open time.Duration
	// OpenMax is the longest pause. Default 5m.
	OpenMax time.Duration
	// Healthy is how long a server must stay up for its restart to count as successful. Default 10s.
	Healthy time.Duration
}

// invalid returns the error for an option with an unusable value.
func invalid(field string, value any, must string) error {
	return fmt.Errorf("gauze: invalid Options.%s %v: must be %s", field, value, must)
}

// check returns an error that names the first option that cannot be used, and what to use instead.
func (o Options) check() error {
	if err := o.checkServer(); err != nil {
		return err
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"Timeout", o.Timeout}, {"MaxTime", o.MaxTime}, {"Patience", o.Patience}, {"StartTimeout", o.StartTimeout},
		{"Tuning.ProbeInterval", o.Tuning.ProbeInterval}, {"Tuning.ProbeTimeout", o.Tuning.ProbeTimeout}, {"Tuning.IdleProbe", o.Tuning.IdleProbe}, {"Tuning.HangGrace", o.Tuning.HangGrace},
		{"Restart.Cap", o.Restart.Cap}, {"Restart.Period", o.Restart.Period}, {"Restart.Open", o.Restart.Open},
		{"Restart.OpenMax", o.Restart.OpenMax}, {"Restart.Healthy", o.Restart.Healthy},
	} {
		if d.value < 0 {
			return invalid(d.field, d.value, "0 or more")
		}
	}
	if o.Tuning.Window < 0 {
		return invalid("Tuning.Window", o.Tuning.Window, "0 or more")
	}
	if !o.Repair.valid() {
		return invalid("Repair", fmt.Sprintf("%q", o.Repair), repairModes)
	}
	if err := checkCorrection("Options.Correct", o.Correct); err != nil {
		return err
	}
	for tool, p := range o.Tools {
		field := func(name string) string { return fmt.Sprintf("Tools[%q].%s", tool, name) }
		if name := p.ofOneTool(); name != "" && tool == proxy.AllTools {
			return fmt.Errorf("gauze: Options.%s can only be set for one tool; for all tools (%q), set Correct, or %s",
				field(name), proxy.AllTools, forAllTools[name])
		}
		switch {
		case p.Timeout < 0:
			return invalid(field("Timeout"), p.Timeout, "0 or more")
		case p.MaxInFlight < 0:
			return invalid(field("MaxInFlight"), p.MaxInFlight, "0 or more")
		case !p.Repair.valid():
			return invalid(field("Repair"), fmt.Sprintf("%q", p.Repair), repairModes)
		case !p.Replay.valid():
			return invalid(field("Replay"), fmt.Sprintf("%q", p.Replay), "never, safe, idempotent or empty")
		case p.Correct != nil:
			if err := checkCorrection("Options."+field("Correct"), *p.Correct); err != nil {
				return err
			}
		}
	}
	return nil
}

// forAllTools says what to set instead of a field of a Policy, to change all tools.
var forAllTools = map[string]string{
	"Replay": "what each tool needs under its own name", "Timeout": "Options.Timeout",
	"MaxInFlight": "Options.Tuning.Window", "Repair": "Options.Repair",
}

// ofOneTool returns the first field that is set and that no policy of all tools can have.
func (p Policy) ofOneTool() string {
	switch {
	case p.Replay != "":
		return "Replay"
	case p.Timeout != 0:
		return "Timeout"
	case p.MaxInFlight != 0:
		return "MaxInFlight"
	case p.Repair != "":
		return "Repair"
	}
	return ""
}

// checkCorrection returns an error that says which field of the policy at a place has an unusable value.
func checkCorrection(place string, p repair.Policy) error {
	if _, err := correction(p); err != nil {
		return fmt.Errorf("gauze: %s: %w", place, err)
	}
	return nil
}

const repairModes = "off, silent, report, strict or empty"

func (m RepairMode) valid() bool {
	switch m {
	case RepairDefault, RepairOff, RepairSilent, RepairReport, RepairStrict:
		return true
	}
	return false
}

func (r Replay) valid() bool {
	switch r {
	case ReplayByHints, ReplayNever, ReplaySafe, ReplayIdempotent:
		return true
	}
	return false
}

// checkServer checks that the options describe one server.
func (o Options) checkServer() error {
	command := len(o.Command) > 0 && o.Command[0] != ""
	switch {
	case o.URL == "" && !command:
		return errors.New(`gauze: Options has no server: set Command, such as []string{"npx", "-y", "some-server"}, or URL`)
	case o.URL != "" && len(o.Command) > 0:
		return errors.New("gauze: Options.Command and Options.URL are both set: use one of them")
	case o.URL != "" && (o.Dir != "" || o.Env != nil):
		return errors.New("gauze: Options.Dir and Options.Env apply only to a Command: leave them empty with a URL")
	case o.URL == "" && (o.Header != nil || o.HeaderFunc != nil || o.OAuthHandler != nil || o.HTTPClient != nil):
		return errors.New("gauze: Options.Header, HeaderFunc, OAuthHandler and HTTPClient apply only to a URL: leave them empty with a Command")
	case o.URL == "":
		return nil
	case o.OAuthHandler != nil && o.Header.Get("Authorization") != "":
		return errors.New("gauze: Options.OAuthHandler sets the Authorization header: remove it from Options.Header")
	}
	if err := launch.CheckURL(o.URL); err != nil {
		return fmt.Errorf("gauze: invalid Options.URL: %w", err)
	}
	if err := checkHeader(o.Header); err != nil {
		return fmt.Errorf("gauze: invalid Options.Header: %w", err)
	}
	return nil
}

func checkHeader(header http.Header) error {
	for name, values := range header {
		for _, value := range values {
			if err := launch.CheckHeader(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}
