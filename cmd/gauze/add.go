package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/workshop/registry"
)

// addFlags are the flags of gauze add.
type addFlags struct {
	consentFlags
	fleet.Request
	scope  string
	noWrap bool
	online bool
	gauze  string
}

// addCommand returns gauze add, which writes a server that works to clients' files.
func addCommand() *cobra.Command {
	f := &addFlags{}
	cmd := &cobra.Command{
		Use:   "add [flags] NAME PACKAGE-or-URL [-- ARGS...] | NAME -- COMMAND [ARGS...]",
		Short: "Test an MCP server and add it to clients",
		Long: "Test a server and, if it works, add it to clients' configuration files in each client's\n" +
			"own format, wrapped in gauze run, with any fix that it needed. If the server does not\n" +
			"work, gauze explains why and does not change any files.\n\n" +
			"A package is npm:NAME, pypi:NAME, oci:IMAGE or @scope/name, optionally with @VERSION.\n" +
			"With --env NAME, the file refers to the variable instead of containing its value.\n" +
			"With --client all, every client in use gets the server: those that have gauze connect\n" +
			"from the file of gauze up.\n\n" +
			"Exit status: 0 if the server was added, 1 if it does not work or the change was not\n" +
			"confirmed, 2 for invalid usage.",
		Example: "gauze add time pypi:mcp-server-time --client claude-code,cursor\n" +
			"gauze add files @modelcontextprotocol/server-filesystem -- /home/me/notes\n" +
			"gauze add notes https://example.com/mcp --header " + shell.Here().Quote("X-Api-Key: ${NOTES_KEY}") + "\n" +
			"gauze add notes --env NOTES_DIR=/srv/notes -- node /srv/notes/server.js",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.Clients, "client", nil, "comma-separated `ids` of the clients to add the server to, or all (default: the only client in use; see gauze list --clients)")
	flags.StringArrayVar(&f.Env, "env", nil, "environment `variable` for the server, as NAME=VALUE, or NAME to refer to a variable that is already set (repeatable)")
	flags.StringArrayVar(&f.Header, "header", nil, "`header` for every request to the URL, as 'Name: value'; ${NAME} refers to an environment variable (repeatable)")
	flags.StringVar(&f.scope, "scope", "user", "`scope` of the entry: user (only you) or project (everyone who works in this directory)")
	flags.BoolVar(&f.noWrap, "no-wrap", false, "do not wrap the server in gauze run")
	flags.BoolVar(&f.Untried, "no-test", false, "add the server without testing it")
	flags.BoolVar(&f.Replace, "replace", false, "replace an entry with the same name")
	flags.BoolVar(&f.online, "online", false, onlineUsage)
	flags.DurationVar(&f.Timeout, "timeout", 0, timeoutUsage)
	gauzeFlag(cmd, &f.gauze)
	f.consentFlags.add(cmd)
	return cmd
}

func (f *addFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.parse(cmd, args); err != nil {
		return err
	}
	fl, err := fleetHere()
	if err != nil {
		return err
	}
	if err = setProgram(fl, f.gauze); err != nil && !f.noWrap {
		return err
	}
	if fl.Registry, err = registryFor(f.online); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	if bare(f.Package) {
		return usage(cmd, f.ambiguous(ctx, fl))
	}
	fl.Machine.Until(ctx)
	show, pause := pausable(terminal.Progress(cmd.ErrOrStderr(), false))
	list := newChecklist(show, []string{f.Name})
	f.Tell = func(is string) { list.say(0, is) }
	if agree := confirmFix(cmd, fl.Seen); agree != nil {
		f.Agree = func(o fleet.Offer) bool {
			defer pause()()
			return agree(nil, o)
		}
	}
	got, err := fl.Configure(ctx, f.Request)
	show("")
	if ctx.Err() != nil {
		return interrupted
	}
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	p := terminal.PaintFor(out)
	for _, v := range got.Missing {
		how := "--env " + v.Name + "=VALUE"
		if got.Spec.URL != "" {
			how = "--header '" + v.Name + ": VALUE'"
		}
		fmt.Fprintf(out, "%s According to the registry, this server requires %s%s. To set it, add:\n\n    %s\n\n", p.Yellow("!"), p.Bold(v.Name), aboutVariable(v), how)
	}
	if got.Lasts { // nothing is left to do by hand
		for i := range got.Report.Steps {
			got.Report.Steps[i].Next = ""
		}
	}
	if got.Tried {
		io.WriteString(out, f.secrets().Redact(showTest(got.Report.Spec, got.Attempt, got.Report, true, "", p))+"\n")
	}
	if !got.Works() {
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze add: %s does not work, so it was not added. %s\n", f.Name, f.remedy(got.Report))
		return exitStatus(1)
	}
	if got.Plan.Empty() {
		showSkipped(out, got.Plan.Skipped, p)
		fmt.Fprintln(cmd.ErrOrStderr(), "gauze add: nothing was written")
		return exitStatus(1)
	}
	return f.settle(cmd, fl, got.Again, true)
}

// remedy says how to add a server that does not work: with the variable that it lacks, or without
// a test.
func (f *addFlags) remedy(r doctor.Report) string {
	if d := r.Diagnosis; d != nil && d.Category == doctor.MissingEnvVar {
		switch names := d.Variables(); len(names) {
		case 0:
		case 1:
			return "To set the variable, add:\n\n    --env " + names[0] + "=VALUE"
		default:
			return "To set the variables, add:\n\n    --env " + strings.Join(names, "=VALUE --env ") + "=VALUE"
		}
	}
	return "To add the server anyway, use --no-test"
}

// bare reports whether a package is named without its registry.
func bare(name string) bool {
	return name != "" && !strings.ContainsAny(name, ":/@")
}

// ambiguous returns the error of a package that is named without its registry. It offers the
// registries that are known to have the package, or else both.
func (f *addFlags) ambiguous(ctx context.Context, fl *fleet.Fleet) error {
	var known, both string
	for _, kind := range []registry.Kind{registry.PyPI, registry.NPM} {
		line := fmt.Sprintf("\n  gauze add %s %s:%s", f.Name, kind, f.Package)
		both += line
		if _, ok := fl.Registry.Lookup(ctx, kind, f.Package); ok {
			known += line
		}
	}
	return fmt.Errorf("package %q is given without its registry (PyPI or npm); use:\n%s", f.Package, cmp.Or(known, both))
}

// secrets returns the values that were given for the server.
func (f *addFlags) secrets() redact.Secrets {
	var values []string
	for _, pair := range f.Env {
		_, value, _ := strings.Cut(pair, "=")
		values = append(values, value)
	}
	for _, header := range f.Header {
		_, value, _ := strings.Cut(header, ":")
		value = strings.TrimSpace(value)
		_, token, _ := strings.Cut(value, " ")
		values = append(values, value, token)
	}
	return redact.KnownSecrets(values...)
}

// parse reads the arguments: NAME, and the package, URL or command.
func (f *addFlags) parse(cmd *cobra.Command, args []string) error {
	if err := f.consentFlags.check(); err != nil {
		return err
	}
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		f.Command, args = args[dash:], args[:dash]
	}
	if len(args) == 0 {
		return usage(cmd, errors.New("missing NAME and server; for example:\n\n  gauze add time pypi:mcp-server-time\n  gauze add notes -- node server.js"))
	}
	f.Name = args[0]
	switch {
	case len(args) == 2 && strings.Contains(args[1], "://"):
		f.URL = args[1]
	case len(args) == 2: // arguments after the dashes are for the package
		f.Package, f.Args, f.Command = args[1], f.Command, nil
	case len(args) > 2:
		return usage(cmd, fmt.Errorf("unexpected argument %q: put a command after two dashes:\n\n  gauze add %s -- %s", args[2], f.Name, strings.Join(args[1:], " ")))
	}
	switch f.scope {
	case "user", "project":
		f.Scope = clientconfig.Scope(f.scope)
	default:
		return fmt.Errorf("invalid --scope %q: must be user or project", f.scope)
	}
	if f.Timeout < 0 {
		return fmt.Errorf("invalid --timeout %v: must be a positive duration, such as 30s", time.Duration(f.Timeout))
	}
	f.Wrap, f.Heal = !f.noWrap, true
	return nil
}

const onlineUsage = "query the MCP registry for the variables that the package requires (default: use cached responses only)"

// registryFor returns the registry that the user configured.
func registryFor(online bool) (registry.Source, error) {
	source := registry.Source{URL: os.Getenv("GAUZE_REGISTRY"), Online: online}
	return source, source.Check()
}
