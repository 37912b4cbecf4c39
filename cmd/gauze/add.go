package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/clientconfig"
	"github.com/gauze-mcp/gauze/internal/fleet"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/shell"
)

// addFlags are the settings of gauze add.
type addFlags struct {
	consentFlags
	fleet.Request
	scope  string
	noWrap bool
	online bool
	gauze  string
}

// addCommand puts a server into clients' files, once it was seen to work.
func addCommand() *cobra.Command {
	f := &addFlags{}
	cmd := &cobra.Command{
		Use:   "add [flags] NAME PACKAGE-or-URL [-- ARGS...] | NAME -- COMMAND [ARGS...]",
		Short: "Test an MCP server and add it to clients",
		Long: "Start the package, reach the address or run the command, and if it works write it into the files of the clients, each in its own\n" +
			"way and with gauze run in front. What was found to heal it is written, too. If it does not work nothing is written, and the\n" +
			"cause is named. A package is npm:NAME, pypi:NAME, oci:IMAGE or @scope/name, with @VERSION if one is meant.\n" +
			"A variable as NAME alone is written as a reference, so that its value stays out of the file.\n" +
			"Exit status: 0 if it was added, 1 if it does not work or nobody agreed, 2 for a mistake in the command line.",
		Example: "gauze add time pypi:mcp-server-time --client claude-code,cursor\n" +
			"gauze add files @modelcontextprotocol/server-filesystem -- /home/me/notes\n" +
			"gauze add notes https://example.com/mcp --header " + shell.Here().Quote("X-Api-Key: ${NOTES_KEY}") + "\n" +
			"gauze add notes --env NOTES_DIR=/srv/notes -- node /srv/notes/server.js",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.Clients, "client", nil, "the clients it is for, by their id (default the only one in use; gauze list --clients shows all)")
	flags.StringArrayVar(&f.Env, "env", nil, "a variable for the server, NAME=value, or NAME to refer to one that is set (repeatable)")
	flags.StringArrayVar(&f.Header, "header", nil, "a header for every request to a URL, 'Name: value'; ${NAME} in it refers to a variable (repeatable)")
	flags.StringVar(&f.scope, "scope", "user", "for whom: user, or project for everybody who has this folder")
	flags.BoolVar(&f.noWrap, "no-wrap", false, "write the server itself, without gauze run in front")
	flags.BoolVar(&f.Untried, "no-test", false, "write it without trying it first")
	flags.BoolVar(&f.Replace, "replace", false, "write an entry of the same name anew")
	flags.BoolVar(&f.online, "online", false, "ask the registry which variables the package needs (otherwise only answers kept from before are looked at)")
	flags.DurationVar(&f.Timeout, "timeout", 0, timeoutUsage)
	gauzeFlag(cmd, &f.gauze)
	f.consentFlags.add(cmd)
	return cmd
}

func (f *addFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.parse(cmd, args); err != nil {
		return err
	}
	fl, err := fleet.Here(versionText())
	if err != nil {
		return err
	}
	if fl.Gauze, err = ourProgram(f.gauze); err != nil && !f.noWrap {
		return err
	}
	fl.Registry.Online, fl.Registry.URL = f.online, os.Getenv("GAUZE_REGISTRY")
	if err := fl.Registry.Check(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	fl.Machine.Until(ctx)
	show := progressOn(cmd.ErrOrStderr(), false)
	f.Tell = func(is string) { show(f.Name + ": " + is) }
	got, err := fl.Configure(ctx, f.Request)
	show("")
	if ctx.Err() != nil {
		return interrupted
	}
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	p := paint(colourful(out))
	for _, v := range got.Missing {
		how := "--env " + v.Name
		if got.Spec.URL != "" {
			how = "--header '" + v.Name + ": …'"
		}
		fmt.Fprintf(out, "%s the registry says it needs %s%s; give it with: %s\n", p.in("33", "!"), p.in("1", v.Name), aboutVariable(v), how)
	}
	if got.Tried {
		io.WriteString(out, f.secrets().Redact(showTest(got.Report.Spec, got.Attempt, got.Report, true, p))+"\n")
	}
	if !got.Works() {
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze add: %s does not work, and nothing was written. To write it all the same: --no-test\n", f.Name)
		return exitStatus(1)
	}
	if got.Plan.Empty() {
		showSkipped(out, got.Plan.Skipped, p)
		fmt.Fprintln(cmd.ErrOrStderr(), "gauze add: nothing was written")
		return exitStatus(1)
	}
	return f.settle(cmd, fl, got.Plan, true)
}

// secrets are the values that were given for the server.
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

// parse reads NAME and what it is.
func (f *addFlags) parse(cmd *cobra.Command, args []string) error {
	if err := f.consentFlags.check(); err != nil {
		return err
	}
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		f.Command, args = args[dash:], args[:dash]
	}
	if len(args) == 0 {
		return errors.New("no name: want a name for the server and what it is, as in\n\n  gauze add time pypi:mcp-server-time\n  gauze add notes -- node server.js")
	}
	f.Name = args[0]
	switch {
	case len(args) == 2 && strings.Contains(args[1], "://"):
		f.URL = args[1]
	case len(args) == 2: // what follows the dashes is the package's, then
		f.Package, f.Args, f.Command = args[1], f.Command, nil
	case len(args) > 2:
		return fmt.Errorf("there is a word too many, %q: want NAME PACKAGE-or-URL, or a command behind two dashes, as in\n\n  gauze add %s -- %s", args[2], f.Name, strings.Join(args[1:], " "))
	}
	switch f.scope {
	case "user", "project":
		f.Scope = clientconfig.Scope(f.scope)
	default:
		return fmt.Errorf("invalid --scope %q: must be user or project", f.scope)
	}
	if f.Timeout < 0 {
		return fmt.Errorf("invalid --timeout %v: must be a duration above zero, such as 30s", time.Duration(f.Timeout))
	}
	f.Wrap, f.Heal = !f.noWrap, true
	return nil
}
