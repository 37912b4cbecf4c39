package main

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// doctorFlags are the flags of gauze doctor.
type doctorFlags struct {
	consentFlags
	model   adviserFlag
	clients []string
	timeout time.Duration
	heal    bool
	fix     bool
	static  bool
	online  bool
	json    bool
	ask     func(*fleet.Server) error // asks before a server of the project is run
}

const timeoutUsage = "`time` to wait for a server to respond (default: 10s; 60s with npx, uvx and docker; longer while the server makes progress, and up to 60s to heal one that does not respond)"

// doctorCommand returns gauze doctor, which checks the servers of all clients, or some of them.
func doctorCommand() *cobra.Command {
	f := &doctorFlags{}
	cmd := &cobra.Command{
		Use:   "doctor [flags] [SERVER...]",
		Short: "Check the MCP servers of all clients, and heal them",
		Long: "Check the configuration files of all MCP clients, test every server in them, and report\n" +
			"whether each server works or, if not, why and what to do. SERVER is a name shown by\n" +
			"gauze list, CLIENT/NAME, a command line in quotes, or a URL. Servers that belong to the\n" +
			"project are started only if you specify them as CLIENT/NAME.\n\n" +
			"With --heal, gauze tries fixes that only change how the same server is started or\n" +
			"reached. It does not install anything or write any files. With --fix, it also repairs\n" +
			"the entries and saves the fixes that helped, after you confirm the diff.\n\n" +
			"Exit status: 0 if all servers work, 1 if not, 2 for invalid usage.",
		Example: "gauze doctor\ngauze doctor --fix github\n" +
			"gauze doctor " + shell.Here().Quote("npx -y some-server") + " https://example.com/mcp",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	clientFlag(cmd, &f.clients)
	flags.DurationVar(&f.timeout, "timeout", 0, timeoutUsage)
	flags.BoolVar(&f.heal, "heal", false, "try fixes that only change how the same server is started or reached")
	flags.BoolVar(&f.fix, "fix", false, "repair entries, and save the fixes that helped")
	flags.BoolVar(&f.static, "static", false, "check only the files; do not start or connect to any server")
	flags.BoolVar(&f.online, "online", false, onlineUsage)
	flags.BoolVar(&f.json, "json", false, "print JSON")
	f.model.add(cmd, ranksCauses)
	f.consentFlags.add(cmd)
	return cmd
}

func (f *doctorFlags) run(cmd *cobra.Command, args []string) error {
	specs, names, err := specsOf(args)
	switch {
	case err != nil:
		return err
	case f.timeout < 0:
		return fmt.Errorf("invalid --timeout %v: must be a positive duration, such as 30s", f.timeout)
	case len(specs) > 0 && (len(names) > 0 || len(f.clients) > 0 || f.fix || f.static):
		return errors.New("command lines and URLs cannot be combined with server names, --client, --fix or --static")
	case !f.fix && f.given():
		return errors.New("--dry-run, --yes and --consent require --fix")
	}
	if err := f.consentFlags.check(); err != nil {
		return err
	}
	if len(specs) > 0 {
		return f.runSpecs(cmd, specs)
	}
	return f.runFleet(cmd, names)
}

// isName reports whether words are the name of a server, or a misspelled one: its first word is not a program.
func isName(arg string, words []string) bool {
	fl, err := fleetHere()
	if err != nil {
		return false
	}
	_, err = fl.Look().Choose(fleet.Choice{Names: []string{arg}})
	var unknown *fleet.NotFoundError
	if errors.As(err, &unknown) && len(unknown.Near) > 0 {
		_, err := exec.LookPath(words[0])
		return err != nil
	}
	return err == nil
}

// specsOf separates command lines and URLs from names of servers, which may contain spaces.
func specsOf(args []string) (specs []launch.Spec, names []string, err error) {
	for i, arg := range args {
		switch words := doctor.SplitCommand(arg); {
		case len(words) == 0:
			return nil, nil, fmt.Errorf("invalid SERVER: argument %d is empty", i+1)
		case strings.ContainsAny(arg, " \t") && isName(arg, words):
			names = append(names, arg)
		case strings.ContainsAny(arg, " \t"):
			specs = append(specs, launch.Spec{Command: words[0], Args: words[1:]})
		case strings.Contains(arg, "://"):
			if err := launch.CheckURL(arg); err != nil {
				return nil, nil, fmt.Errorf("invalid URL in argument %d: %w", i+1, err)
			}
			specs = append(specs, launch.Spec{URL: arg})
		default:
			names = append(names, arg)
		}
	}
	return specs, names, nil
}

// runFleet checks the servers of clients.
func (f *doctorFlags) runFleet(cmd *cobra.Command, names []string) error {
	fl, err := fleetHere()
	if err != nil {
		return err
	}
	if err = setProgram(fl, ""); err != nil {
		fl.Gauze = "" // no server is wrapped in it
	}
	if fl.Registry, err = registryFor(f.online); err != nil {
		return err
	}
	fl.Listed = rememberedTools
	if err = f.renew(cmd, fl); err != nil {
		return err
	}
	view, servers, err := f.chosen(fl, names)
	var unknown *fleet.NotFoundError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w\nTo test a program, run: gauze test -- %s", err, shell.Here().Quote(unknown.Name))
	}
	if err != nil {
		return err
	}
	model, err := f.model.open(cmd)
	if err != nil {
		return err
	}
	all := fleet.Unchecked(servers)
	if !f.static {
		f.ask = confirmProject(cmd, names, "")
		o := fleet.CheckOptions{Heal: f.heal || f.fix, Timeout: f.timeout, Ask: f.ask, Model: model}
		if !f.yes { // which skips what must be reviewed, so nothing is asked
			o.Agree = confirmFix(cmd, fl.Seen)
		}
		if all, err = checked(cmd, fl, servers, o, f.json); err != nil {
			return err
		}
	}
	h := view.Health(all, len(names) == 0)
	out := cmd.OutOrStdout()
	if f.json {
		return f.answerJSON(cmd, fl, view, h)
	}
	p := terminal.PaintFor(out)
	if len(all) == 0 && len(h.Problems) == 0 {
		clients, err := fleet.Clients(f.clients)
		io.WriteString(out, showNone(fl, view, clients)+ownUnlistedText())
		return err
	}
	io.WriteString(out, showHealth(fl, h, invocation{f.static, f.fix, names, plansFor(view)}, p)+ownUnlistedText())
	if h.Whole && len(f.clients) == 0 {
		io.WriteString(out, showApart(fl, view, p))
	}
	if f.fix {
		fmt.Fprintln(out)
		plan, err := f.plan(fl, view, h)
		if err != nil {
			return err
		}
		if err := f.settle(cmd, fl, fixed(plan), false); err != nil {
			return err
		}
		if !f.dryRun && !plan.Empty() {
			if h, err = f.again(cmd, fl, h, names); err != nil {
				return err
			}
			io.WriteString(out, "\nChecked again:\n\n"+showHealth(fl, h, invocation{f.static, false, names, nil}, p))
		}
	}
	if h.HasBroken() || f.leftOut(h) {
		return exitStatus(1)
	}
	return nil
}

// chosen returns the servers to check.
func (f *doctorFlags) chosen(fl *fleet.Fleet, names []string) (*fleet.View, []*fleet.Server, error) {
	c := fleet.Choice{Names: names, Clients: f.clients}
	if len(names) > 0 {
		return chosen(fl, c)
	}
	clients, err := fleet.Clients(f.clients)
	if err != nil {
		return nil, nil, err
	}
	view := fl.Look(clients...) // all problems of files are reported
	servers, err := view.Choose(c)
	return view, servers, err
}

// plansFor returns a function that reports whether --fix has something to change for a server.
func plansFor(view *fleet.View) func(*fleet.Checked) bool {
	return func(c *fleet.Checked) bool {
		return !view.FixAndKeep([]*fleet.Checked{c}, false, fleet.WithReview).Empty()
	}
}

// renew makes the copy of gauze that entries refer to again, if --fix may change anything.
func (f *doctorFlags) renew(cmd *cobra.Command, fl *fleet.Fleet) error {
	switch {
	case !f.fix || f.dryRun:
		return nil
	case f.json:
		return renewCopy(io.Discard, fl)
	}
	return renewCopy(cmd.OutOrStdout(), fl)
}

// leftOut reports whether a server that the user named was not tested because its entry is not confirmed.
func (f *doctorFlags) leftOut(h fleet.Health) bool {
	return !f.static && !h.Whole && h.HasUnconfirmed()
}

// again checks the servers that did not work before the files were changed.
func (f *doctorFlags) again(cmd *cobra.Command, fl *fleet.Fleet, was fleet.Health, names []string) (fleet.Health, error) {
	view, servers, err := f.chosen(fl, names)
	if err != nil {
		return was, err
	}
	servers = slices.DeleteFunc(servers, func(s *fleet.Server) bool {
		return slices.ContainsFunc(was.Servers, func(c *fleet.Checked) bool {
			state := c.Verdict().State
			return c.ID() == s.ID() && c.File == s.File && (state == fleet.Works || state == fleet.Untried || state == fleet.Off)
		})
	})
	all := fleet.Unchecked(servers)
	if !f.static {
		if all, err = checked(cmd, fl, servers, fleet.CheckOptions{Timeout: f.timeout, Ask: f.ask}, f.json); err != nil {
			return was, err
		}
	}
	return view.Health(all, was.Whole), nil
}

// plan returns the changes of --fix; with --yes, only those that need no review.
func (f *doctorFlags) plan(fl *fleet.Fleet, view *fleet.View, h fleet.Health) (fleet.Plan, error) {
	review := fleet.WithReview
	if f.yes {
		review = view.WithoutReview
	}
	plan := view.FixAndKeep(h.Servers, h.Whole, review)
	return plan, checkUpPlan(fl, plan)
}
