package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gauze-mcp/gauze/internal/disk/remembered"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// serverFlags are the flags about the server and its supervision, which gauze run and gauze serve
// share.
type serverFlags struct {
	wrap           proxy.Options
	login          loginFlags
	headers        []string
	headersFromEnv []string
	tools          []string
	policy         string
	model          string
	maxMessage     size
	restartBackoff time.Duration
	restartLimit   int
	retryBudget    int
	noQuarantine   bool
	noHeal         bool
}

// startAnswer is how long a client waits for a session that cannot begin, once it is known why: 0 is the usual time. The
// tests set it, because three starts decide what the answer says.
var startAnswer time.Duration

func (f *serverFlags) add(flags *pflag.FlagSet) {
	f.addServer(flags)
	f.wrap.Timing.StartAnswer = startAnswer
	flags.BoolVar(&f.wrap.Lazy, "lazy", false, "start the server only when a client needs it, and stop it when it is not in use; what it said the last time answers the rest")
	flags.DurationVar(&f.wrap.Idle, "idle", defaultIdle, "`time` without use after which --lazy stops the server; 0 never stops it. Setting it implies --lazy")
	flags.StringVar(&f.wrap.Known.Lock, "lock", "", "`policy` for calls of tools that have changed since they were first listed: warn (send them; the default), ask (ask the user in the client) or block. To accept the tools as they are now, use gauze lock")
	flags.DurationVar(&f.wrap.Timing.Timeout, "timeout", 0, "maximum `time` without progress for a call (default: no limit; gauze always fails calls to a hung server)")
	flags.DurationVar(&f.wrap.Timing.MaxTime, "max-time", 0, "maximum total `time` for a call, even with progress (default: no limit)")
	flags.DurationVar(&f.wrap.Timing.Patience, "patience", 30*time.Second, "maximum `time` to hold a call while the server is down")
	flags.DurationVar(&f.wrap.StartTimeout, "start-timeout", 0, "idle `time` before a starting server is considered stuck (default: 1m, or longer if earlier starts took longer)")
	flags.DurationVar(&f.wrap.Timing.ProbeInterval, "probe-interval", 15*time.Second, "idle `time` before a liveness probe while a call is pending")
	flags.DurationVar(&f.wrap.Timing.ProbeTimeout, "probe-timeout", 5*time.Second, "`time` to wait for the response to a liveness probe")
	flags.DurationVar(&f.wrap.Timing.HangGrace, "hang-grace", 10*time.Second, "`time` without using the CPU, or suspended, after which a server that does not respond to probes is considered hung")
	flags.DurationVar(&f.wrap.Confirm.After, "confirm-after", 5*time.Second, "idle `time` after which gauze checks that a remote server still accepts the session and the login before it sends a call that may write (negative: before every such call)")
	flags.DurationVar(&f.wrap.Timing.ResumedRead, "resumed-read", 30*time.Second, "`time` to wait for data on a resumed stream before an interrupted read-only call is sent again (negative: never)")
	flags.DurationVar(&f.wrap.Timing.ResumedWrite, "resumed-write", 5*time.Minute, "`time` to wait for data on a resumed stream before the outcome of any other interrupted call is reported as unknown (negative: never)")
	flags.StringArrayVar(&f.tools, "tool", nil, "`policy` for one tool: NAME:replay=never|safe|idempotent, timeout=5m, max-in-flight=2, repair=off|silent|report|strict, correct.enabled=false, separated by commas; use * as NAME to set correct.KEY for all tools (repeatable)")
	flags.StringVar(&f.wrap.Repair, "repair", "", "`mode` for calls whose arguments do not match the tool's schema: off (send them unchanged), silent (repair without telling the model), report (report every change) or strict (reject what cannot be repaired). Default: repair, report anything beyond spelling, and send the rest unchanged")
	flags.StringVar(&f.model, "model", "", modelUsage("the model that corrects rejected calls; sampling uses the client's own model"))
	flags.StringVar(&f.policy, "policy", "", "YAML `file` with tool policies")
	f.maxMessage = proxy.DefaultMaxMessage
	flags.Var(&f.maxMessage, "max-message", "maximum `size` of a message; forwarding a message may use several times as much memory")
	flags.IntVar(&f.wrap.Limits.Window, "window", 0, "maximum `number` of calls with side effects in flight (default: no limit; 1 after a crash, then slowly increasing)")
	flags.DurationVar(&f.restartBackoff, "restart-backoff", 200*time.Millisecond, "base `time` between restarts; 0 restarts immediately")
	flags.IntVar(&f.restartLimit, "restart-limit", 5, "maximum `number` of failed starts per minute before a pause; 0 means no limit")
	flags.IntVar(&f.retryBudget, "retry-budget", 256, "maximum `number` of calls replayed in a burst; 0 means no limit")
	flags.BoolVar(&f.noQuarantine, "no-quarantine", false, "replay a call even if the server crashed twice while running that call")
	flags.BoolVar(&f.noHeal, "no-heal", false, "do not try other ways to start or reach a server that cannot be kept running")
	flags.StringVar(&f.wrap.Name, "name", "", "`name` of the server in messages (default: its command line or URL)")
}

// addServer adds the flags that identify the server.
func (f *serverFlags) addServer(flags *pflag.FlagSet) {
	flags.SetInterspersed(false) // arguments after the command are the command's
	flags.StringVar(&f.wrap.Spec.URL, "url", "", "`URL` of a server to connect to, instead of a command")
	flags.StringArrayVar(&f.headers, "header", nil, "`header` for every request to the URL, as 'Name: value' (repeatable)")
	flags.StringArrayVar(&f.headersFromEnv, "header-env", nil, "header whose value comes from the environment, as `Name=VARIABLE` or 'Name=Bearer ${VARIABLE}' (repeatable)")
	f.login.add(flags)
	f.login.addMode(flags)
	flags.StringVar(&f.wrap.Spec.Dir, "cwd", "", "working `directory` of the server")
}

// options returns the options that the flags and args, the command of the server, select. command is
// the name of the gauze command, for examples.
func (f *serverFlags) options(command string, flags *pflag.FlagSet, args []string) (o proxy.Options, err error) {
	if err := f.check(flags); err != nil {
		return o, err
	}
	if command == "serve" {
		reduceMemory(busyGateway)
	} else {
		reduceMemory(busyWrap)
	}
	o = f.wrap
	if o.Lazy = o.Lazy || flags.Changed("idle"); !o.Lazy {
		o.Idle = 0
	}
	if flags.Changed("max-message") { // otherwise, the default depends on the command
		o.Limits.MaxMessage = int(f.maxMessage)
	}
	if o.Spec, err = f.spec(command, args); err != nil {
		return o, err
	}
	if o.Tools, err = readPolicies(f.policy, f.tools); err != nil {
		return o, err
	}
	if err := setModels(&o, f.model, os.Stderr); err != nil {
		return o, err
	}
	consult(&o, !f.noHeal)
	o.Restart.Backoff, o.Restart.Limit, o.Limits.RetryBudget = f.restartBackoff, f.restartLimit, f.retryBudget
	if f.restartBackoff == 0 {
		o.Restart.Backoff = -1
	}
	if f.restartLimit == 0 {
		o.Restart.Limit = -1
	}
	if f.retryBudget == 0 {
		o.Limits.RetryBudget = -1
	}
	if f.noQuarantine {
		o.Limits.Quarantine = -1
	}
	return o, nil
}

// consult lets the doctor look after sessions with these options; heal says whether it may also change how their server
// is started. What servers say about themselves is remembered.
func consult(o *proxy.Options, heal bool) {
	machine := doctor.ThisMachine()
	o.Doctor = doctor.Live(machine, heal)
	o.Calls = &doctor.CallDoctor{Machine: machine, Log: callLog()}
	if dir, err := backup.StateDir(); err == nil {
		o.Known.Shelf, o.Known.Accepted = remembered.In(dir), acceptedTools(dir)
	}
}

// acceptedTools returns where the tools are kept that the user accepted.
func acceptedTools(state string) *remembered.Shelf { return remembered.Seen(state, "tools") }

// defaultIdle is after how long --lazy stops a server that is not in use: longer than most pauses of a conversation.
const defaultIdle = 10 * time.Minute

// callLog returns where failed calls are remembered.
func callLog() doctor.CallLog {
	dir, err := backup.StateDir()
	if err != nil {
		return doctor.CallLog{} // calls are explained the same
	}
	return doctor.CallLogIn(dir)
}

// spec returns the server: a command or a URL.
func (f *serverFlags) spec(command string, args []string) (spec launch.Spec, err error) {
	spec = f.wrap.Spec
	switch {
	case spec.URL != "" && len(args) > 0:
		return spec, fmt.Errorf("--url cannot be combined with a command (%q)", redact.Quote(args[0]))
	case spec.URL == "" && len(f.headers)+len(f.headersFromEnv) > 0:
		return spec, errors.New("--header and --header-env require --url; for a command, set environment variables instead")
	case spec.URL == "" && f.login.Mode != "":
		return spec, errors.New("--login requires --url")
	case spec.URL == "" && f.login.given() != "":
		return spec, fmt.Errorf("%s requires --url", f.login.given())
	case spec.URL == "" && len(args) == 0:
		return spec, fmt.Errorf("missing COMMAND: pass the server's command after two dashes, or its URL:\n"+
			"  gauze %[1]s -- npx -y @modelcontextprotocol/server-everything\n  gauze %[1]s --url https://example.com/mcp", command)
	case spec.URL == "" && args[0] == "":
		return spec, errors.New("invalid COMMAND: must not be empty")
	case spec.URL == "":
		spec.Command, spec.Args = args[0], args[1:]
		return spec, nil
	case spec.Dir != "":
		return spec, errors.New("--cwd cannot be combined with --url")
	}
	if err := launch.CheckURL(spec.URL); err != nil {
		return spec, fmt.Errorf("invalid --url: %w", err)
	}
	if spec.Header, err = f.header(); err != nil {
		return spec, err
	}
	if spec.Login, err = f.login.login(); err != nil {
		return spec, err
	}
	if flag := f.login.given(); flag != "" && !spec.LogsIn() {
		return spec, fmt.Errorf("%s cannot be combined with a credential in a header or in the URL, which is used instead of a login", flag)
	}
	return spec, nil
}

// header reads the headers for the URL. Their values are never shown.
func (f *serverFlags) header() (all []launch.Header, err error) {
	for _, text := range f.headers {
		name, value, ok := strings.Cut(text, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || value == "" {
			return nil, errors.New("invalid --header: must be 'Name: value', such as 'X-Team: blue'")
		}
		all = append(all, launch.Header{Name: name, Value: value, Source: "--header"})
	}
	for _, text := range f.headersFromEnv {
		h, err := launch.HeaderFromEnv(text, os.LookupEnv)
		if err != nil {
			return nil, err
		}
		if h.Value != "" {
			all = append(all, h)
		}
	}
	for _, h := range all {
		if err := launch.CheckHeader(h.Name, h.Value); err != nil {
			return nil, fmt.Errorf("invalid header: %w", err)
		}
	}
	return all, nil
}

// check rejects invalid values of flags.
func (f *serverFlags) check(flags *pflag.FlagSet) error {
	for _, name := range []string{"timeout", "max-time", "patience", "probe-interval", "probe-timeout", "hang-grace", "start-timeout"} {
		d, err := flags.GetDuration(name)
		unlimited := d == 0 && (name == "timeout" || name == "max-time")
		if given := err == nil && flags.Changed(name); given && d <= 0 && !unlimited {
			return fmt.Errorf("invalid --%s %v: must be a positive duration, such as 30s or 5m", name, d)
		}
	}
	for _, name := range []string{"window", "restart-limit", "retry-budget"} {
		if n, err := flags.GetInt(name); err == nil && n < 0 {
			return fmt.Errorf("invalid --%s %d: must be 0 or more", name, n)
		}
	}
	if f.wrap.Repair != "" {
		if err := proxy.CheckRepair(f.wrap.Repair); err != nil {
			return fmt.Errorf("invalid --repair: %w", err)
		}
	}
	if !slices.Contains([]string{"", proxy.LockWarn, proxy.LockAsk, proxy.LockBlock}, f.wrap.Known.Lock) {
		return fmt.Errorf("invalid --lock %q: must be warn, ask or block", redact.Quote(f.wrap.Known.Lock))
	}
	if f.maxMessage < 64<<10 {
		return fmt.Errorf("invalid --max-message %v: must be at least 64KiB", f.maxMessage)
	}
	if f.wrap.Idle < 0 {
		return fmt.Errorf("invalid --idle %v: must be 0 or more", f.wrap.Idle)
	}
	if f.restartBackoff < 0 {
		return fmt.Errorf("invalid --restart-backoff %v: must be 0 or more", f.restartBackoff)
	}
	return nil
}
