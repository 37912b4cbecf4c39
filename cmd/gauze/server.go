package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/proxy"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// serverFlags are what a user can say about the server behind us and how it
// is kept, whichever way its clients reach us.
type serverFlags struct {
	proxy.Options
	headers        []string
	headersFromEnv []string
	tools          []string
	policy         string
	restartBackoff time.Duration
	restartLimit   int
	retryBudget    int
	noQuarantine   bool
	noHeal         bool
}

func (f *serverFlags) add(flags *pflag.FlagSet) {
	f.addServer(flags)
	flags.DurationVar(&f.Timeout, "timeout", 0, "how long a call may take without progress (default: no limit; only a server that hangs loses its calls)")
	flags.DurationVar(&f.MaxTime, "max-time", 0, "how long a call may take with progress (default: no limit)")
	flags.DurationVar(&f.Patience, "patience", 30*time.Second, "how long a call waits for a server that is down")
	flags.DurationVar(&f.StartTimeout, "start-timeout", 0, "idle time before a starting server counts as stuck (default 1m; more if it needed more before)")
	flags.DurationVar(&f.ProbeInterval, "probe-interval", 15*time.Second, "how long a server may be silent while a call waits, before it is probed")
	flags.DurationVar(&f.ProbeTimeout, "probe-timeout", 5*time.Second, "how long it may take to give a sign of life")
	flags.DurationVar(&f.HangGrace, "hang-grace", 10*time.Second, "how long a server that answers no probe may use no CPU before it counts as hung")
	flags.StringArrayVar(&f.tools, "tool", nil, "policy of one tool, NAME:replay=never|safe|idempotent,timeout=5m,max-in-flight=2,repair=off|silent|report|strict (repeatable)")
	flags.StringVar(&f.Repair, "repair", "", "what to do with calls that do not fit their tool: off (send as they came), silent (repair without telling the model),\nreport (report every change), strict (refuse what cannot be repaired). Default: repair, report anything beyond spelling,\nand send the rest as it came")
	flags.StringVar(&f.policy, "policy", "", "file with the policies of tools (YAML)")
	flags.IntVar(&f.Window, "window", 0, "calls with side effects in flight at the same time (default: no limit; 1 after a crash, slowly more)")
	flags.DurationVar(&f.restartBackoff, "restart-backoff", 200*time.Millisecond, "base of the wait between restarts; 0: none")
	flags.IntVar(&f.restartLimit, "restart-limit", 5, "starts within a minute that were of no use before a pause; 0: no limit")
	flags.IntVar(&f.retryBudget, "retry-budget", 256, "calls repeated in a burst; 0: no limit")
	flags.BoolVar(&f.noQuarantine, "no-quarantine", false, "send a call again even if the server died twice with it")
	flags.BoolVar(&f.noHeal, "no-heal", false, "do not look for other ways to start the same program, or to reach the same server, when it cannot be kept running")
	flags.StringVar(&f.Name, "name", "", "name of the server in messages (default its command line or address)")
}

// addServer adds what says which server is meant.
func (f *serverFlags) addServer(flags *pflag.FlagSet) {
	flags.SetInterspersed(false) // what follows the command is the command's
	flags.StringVar(&f.Spec.URL, "url", "", "address of a server to reach over HTTP, instead of a command")
	flags.StringArrayVar(&f.headers, "header", nil, "header for every request to the URL, 'Name: value' (repeatable)")
	flags.StringArrayVar(&f.headersFromEnv, "header-env", nil, "the same with the value from a variable, Name=VARIABLE (repeatable)")
	flags.StringVar(&f.Spec.Dir, "cwd", "", "working directory of the server")
}

// options makes what the flags and the command behind the dashes say, or
// refuses what cannot be meant. command is how to call us, for the examples.
func (f *serverFlags) options(command string, flags *pflag.FlagSet, args []string) (o proxy.Options, err error) {
	if err := f.check(flags); err != nil {
		return o, err
	}
	spareMemory()
	o = f.Options
	if o.Spec, err = f.spec(command, args); err != nil {
		return o, err
	}
	if o.Tools, err = readPolicies(f.policy, f.tools); err != nil {
		return o, err
	}
	o.Doctor = doctor.Live(doctor.ThisMachine(), !f.noHeal)
	o.Restart.Backoff, o.Restart.Limit, o.RetryBudget = f.restartBackoff, f.restartLimit, f.retryBudget
	if f.restartBackoff == 0 {
		o.Restart.Backoff = -1
	}
	if f.restartLimit == 0 {
		o.Restart.Limit = -1
	}
	if f.retryBudget == 0 {
		o.RetryBudget = -1
	}
	if f.noQuarantine {
		o.Quarantine = -1
	}
	return o, nil
}

// spareMemory trades a little work for memory: people run dozens of us.
func spareMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// spec is the server: a command or a URL, and not both.
func (f *serverFlags) spec(command string, args []string) (spec upstream.Spec, err error) {
	spec = f.Spec
	switch {
	case spec.URL != "" && len(args) > 0:
		return spec, fmt.Errorf("a URL and a command: name one of them; the command is %q", args[0])
	case spec.URL == "" && len(f.headers)+len(f.headersFromEnv) > 0:
		return spec, fmt.Errorf("headers go with --url, and there is none; a command gets its settings from its environment")
	case spec.URL == "" && len(args) == 0:
		return spec, fmt.Errorf("no server to %[1]s: name its command after two dashes, or its address, as in\n\n"+
			"  gauze %[1]s -- npx -y @modelcontextprotocol/server-everything\n  gauze %[1]s --url https://example.com/mcp", command)
	case spec.URL == "" && args[0] == "":
		return spec, fmt.Errorf("the server's command is empty")
	case spec.URL == "":
		spec.Command, spec.Args = args[0], args[1:]
		return spec, nil
	case spec.Dir != "":
		return spec, fmt.Errorf("the flag --cwd is for a command, and --url names a server that runs elsewhere")
	}
	if err := upstream.CheckURL(spec.URL); err != nil {
		return spec, fmt.Errorf("the flag --url: %w", err)
	}
	spec.Header, err = f.header()
	return spec, err
}

// header reads the headers for the URL. Their values are never shown.
func (f *serverFlags) header() (all []upstream.Header, err error) {
	for _, text := range f.headers {
		name, value, ok := strings.Cut(text, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("the flag --header: want 'Name: value', as in --header 'X-Team: blue'")
		}
		all = append(all, upstream.Header{Name: name, Value: value, Source: "--header"})
	}
	for _, text := range f.headersFromEnv {
		name, variable, ok := strings.Cut(text, "=")
		if !ok || name == "" || variable == "" {
			return nil, fmt.Errorf("the flag --header-env %q: want Name=VARIABLE, as in --header-env Authorization=MY_TOKEN", text)
		}
		value := os.Getenv(variable)
		if value == "" {
			return nil, fmt.Errorf("the flag --header-env %s: the variable %s is not set or empty; export it first", text, variable)
		}
		all = append(all, upstream.Header{Name: name, Value: value, Source: "the variable " + variable})
	}
	for _, h := range all {
		if err := upstream.CheckHeader(h.Name, h.Value); err != nil {
			return nil, fmt.Errorf("a header for the URL: %w", err)
		}
	}
	return all, nil
}

// check refuses numbers that cannot be meant.
func (f *serverFlags) check(flags *pflag.FlagSet) error {
	for _, name := range []string{"timeout", "max-time", "patience", "probe-interval", "probe-timeout", "hang-grace", "start-timeout"} {
		d, err := flags.GetDuration(name)
		unlimited := d == 0 && (name == "timeout" || name == "max-time")
		if err == nil && d <= 0 && flags.Changed(name) && !unlimited {
			return fmt.Errorf("the flag --%s is %v: want a duration above zero, such as 30s or 5m", name, d)
		}
	}
	for _, name := range []string{"window", "restart-limit", "retry-budget"} {
		if n, err := flags.GetInt(name); err == nil && n < 0 {
			return fmt.Errorf("the flag --%s is %d: want a whole number from 0", name, n)
		}
	}
	if f.Repair != "" {
		if err := proxy.CheckRepair(f.Repair); err != nil {
			return fmt.Errorf("the flag --%w", err)
		}
	}
	if f.restartBackoff < 0 {
		return fmt.Errorf("the flag --restart-backoff is %v: want 0 or more", f.restartBackoff)
	}
	return nil
}
