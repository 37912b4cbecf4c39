package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/fleet"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// doctorFlags are the settings of gauze doctor.
type doctorFlags struct {
	consentFlags
	clients []string
	timeout time.Duration
	heal    bool
	fix     bool
	static  bool
	json    bool
}

const timeoutUsage = "how long one attempt may take (default 10s for an answer, 60s with npx, uvx, docker, and longer while it is at work)"

// doctorCommand looks at the servers of all clients, or at some.
func doctorCommand() *cobra.Command {
	f := &doctorFlags{}
	cmd := &cobra.Command{
		Use:   "doctor [flags] [SERVER...]",
		Short: "Examine MCP servers: those of all clients, or some; the cause and what to do next",
		Long: "Read the files of all MCP clients, say what the clients will stumble over in them, try every server side by side, and say of each\n" +
			"whether it works, or why not and what to do next. SERVER is a name as gauze list shows it, CLIENT/NAME, a command line in\n" +
			"quotes, or a URL. Servers that come with the project are tried only if they are named.\n" +
			"With --heal fixes are tried that only change how the same program is started or reached; nothing is installed or written.\n" +
			"With --fix the entries are repaired, and what healed is written down: the diff is shown, and nothing is written without a yes.\n" +
			"Exit status: 0 if all work, 1 if one does not, 2 for a mistake in the command line.",
		Example: "gauze doctor\ngauze doctor github --fix\n" +
			"gauze doctor 'npx -y @modelcontextprotocol/server-everything' https://example.com/mcp",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return mistaken(cmd, f.run(cmd, args)) },
	}
	cmd.SetFlagErrorFunc(mistaken)
	flags := cmd.Flags()
	clientFlag(cmd, &f.clients)
	flags.DurationVar(&f.timeout, "timeout", 0, timeoutUsage)
	flags.BoolVar(&f.heal, "heal", false, "try fixes that only change how the same program is started or reached")
	flags.BoolVar(&f.fix, "fix", false, "repair the entries in the files, and write down what healed")
	flags.BoolVar(&f.static, "static", false, "only read the files, start and reach nothing")
	flags.BoolVar(&f.json, "json", false, "as JSON")
	f.consentFlags.add(cmd)
	return cmd
}

func (f *doctorFlags) run(cmd *cobra.Command, args []string) error {
	specs, names, err := specsOf(args)
	switch {
	case err != nil:
		return err
	case f.timeout < 0:
		return fmt.Errorf("the flag --timeout is %v: want a duration above zero, such as 30s", f.timeout)
	case len(specs) > 0 && (len(names) > 0 || len(f.clients) > 0 || f.fix || f.static):
		return errors.New("command lines and URLs are in no file: name either them, or servers that clients have")
	case !f.fix && (f.dryRun || f.yes || f.consent != ""):
		return errors.New("--dry-run, --yes and --consent go with --fix")
	}
	if err := f.consentFlags.check(); err != nil {
		return err
	}
	if len(specs) > 0 {
		return f.runSpecs(cmd, specs)
	}
	return f.runFleet(cmd, names)
}

// specsOf tells command lines and URLs from names of servers.
func specsOf(args []string) (specs []upstream.Spec, names []string, err error) {
	for i, arg := range args {
		switch words := doctor.SplitCommand(arg); {
		case len(words) == 0:
			return nil, nil, fmt.Errorf("server %d is empty", i+1)
		case strings.ContainsAny(arg, " \t"):
			specs = append(specs, upstream.Spec{Command: words[0], Args: words[1:]})
		case strings.Contains(arg, "://"):
			if err := upstream.CheckURL(arg); err != nil {
				return nil, nil, fmt.Errorf("server %d: %w", i+1, err)
			}
			specs = append(specs, upstream.Spec{URL: arg})
		default:
			names = append(names, arg)
		}
	}
	return specs, names, nil
}

// runFleet examines what the clients have.
func (f *doctorFlags) runFleet(cmd *cobra.Command, names []string) error {
	fl, err := fleet.Here(versionText())
	if err != nil {
		return err
	}
	view, servers, err := chosen(fl, fleet.Choice{Names: names, Clients: f.clients})
	var unknown *fleet.NotFoundError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w; a program is tried with: gauze test -- %s", err, upstream.ShellWord(unknown.Name))
	}
	if err != nil {
		return err
	}
	all := fleet.Unchecked(servers)
	if !f.static {
		o := fleet.CheckOptions{Heal: f.heal || f.fix, Timeout: f.timeout, Foreign: len(names) > 0}
		if all, err = checked(cmd, fl, servers, o, f.json); err != nil {
			return err
		}
	}
	h := view.Health(all, len(names) == 0)
	out := cmd.OutOrStdout()
	if f.json {
		return f.answerJSON(cmd, fl, view, h)
	}
	p := paint(colourful(out))
	if len(all) == 0 && len(h.Problems) == 0 {
		io.WriteString(out, showNone(fl, view, nil))
		return nil
	}
	io.WriteString(out, showHealth(fl, h, f.static, p))
	if f.fix {
		fmt.Fprintln(out)
		plan := f.plan(view, h)
		if err := f.settle(cmd, fl, plan, false); err != nil {
			return err
		}
		if !f.dryRun && !plan.Empty() {
			if h, err = f.again(cmd, fl, h, names); err != nil {
				return err
			}
			io.WriteString(out, "\nNow:\n\n"+showHealth(fl, h, f.static, p))
		}
	}
	if h.Sick() {
		return exitStatus(1)
	}
	return nil
}

// again looks once more at what was not well before the files were changed.
func (f *doctorFlags) again(cmd *cobra.Command, fl *fleet.Fleet, was fleet.Health, names []string) (fleet.Health, error) {
	view, servers, err := chosen(fl, fleet.Choice{Names: names, Clients: f.clients})
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
		if all, err = checked(cmd, fl, servers, fleet.CheckOptions{Timeout: f.timeout, Foreign: len(names) > 0}, f.json); err != nil {
			return was, err
		}
	}
	return view.Health(all, was.Whole), nil
}

// diagnosed is the answer for programs.
type diagnosed struct {
	Servers   []diagnosedServer `json:"servers"`
	Problems  []problem         `json:"problems"` // of files as a whole
	Conflicts []fleet.Conflict  `json:"conflicts"`
	Working   int               `json:"working"`
	Broken    int               `json:"broken"`
	Plan      *planned          `json:"plan,omitempty"` // with --fix
}

type diagnosedServer struct {
	listedServer
	State string  `json:"state"` // works, warned, broken, untried, off
	Cause string  `json:"cause"`
	Next  string  `json:"next"`
	Not   string  `json:"not,omitempty"`  // why it was not tried
	Test  *tested `json:"test,omitempty"` // if it was
}

// planned is a change of files, made or not.
type planned struct {
	Diff    string       `json:"diff"` // without secrets
	Consent string       `json:"consent"`
	Skipped []fleet.Skip `json:"skipped"`
	Made    []string     `json:"made"` // ids for gauze undo
}

func (f *doctorFlags) answerJSON(cmd *cobra.Command, fl *fleet.Fleet, view *fleet.View, h fleet.Health) error {
	d := diagnosed{Servers: []diagnosedServer{}, Problems: problemsOf(h.Problems), Conflicts: append([]fleet.Conflict{}, h.Conflicts...), Working: h.Working(), Broken: h.Count()[fleet.Broken]}
	for _, c := range h.Servers {
		v := c.Verdict()
		one := diagnosedServer{listedServer: listedServerOf(c.Server), State: string(v.State), Cause: v.Cause, Next: v.Next, Not: c.Not}
		if c.Tried {
			t := testedOf(c.Real(), c.Attempt, c.Report)
			t.Server, t.Stop, t.Exit = c.Shown(), c.Hide(t.Stop), c.Hide(t.Exit)
			for i := range t.Stderr {
				t.Stderr[i] = c.Hide(t.Stderr[i])
			}
			one.Test = &t
		}
		d.Servers = append(d.Servers, one)
	}
	sick := h.Sick()
	if f.fix {
		plan := f.plan(view, h)
		d.Plan = &planned{Diff: plan.Diff(), Consent: plan.Consent(), Skipped: append([]fleet.Skip{}, plan.Skipped...), Made: []string{}}
		if f.yes || f.consent != "" {
			consent := f.consent
			if f.yes {
				consent = plan.Consent()
			}
			made, err := fl.Apply(plan, consent)
			for _, e := range made {
				d.Plan.Made = append(d.Plan.Made, e.ID)
			}
			if err != nil {
				return err
			}
		} else {
			sick = sick || !f.dryRun && !plan.Empty()
		}
	}
	if _, err := cmd.OutOrStdout().Write(jsonLine(d)); err != nil {
		return err
	}
	if sick {
		return exitStatus(1)
	}
	return nil
}

// plan is what --fix would write: with --yes only what needs no look at it.
func (f *doctorFlags) plan(view *fleet.View, h fleet.Health) fleet.Plan {
	if f.yes {
		return view.Cure(h.Servers, h.Whole, view.Blindly)
	}
	return view.Cure(h.Servers, h.Whole, fleet.WithEyes)
}

// showHealth is for people: client by client, conflicts, the sum.
func showHealth(fl *fleet.Fleet, h fleet.Health, static bool, p paint) string {
	var b strings.Builder
	mark := map[fleet.State]string{fleet.Works: p.green("✓"), fleet.Warned: p.in("33", "!"), fleet.Broken: p.red("✗"), fleet.Untried: p.in("2", "–"), fleet.Off: p.in("2", "–")}
	wide := 0
	for _, c := range h.Servers {
		wide = max(wide, min(24, len([]rune(c.Name))))
	}
	for _, group := range h.Groups() {
		fmt.Fprintf(&b, "[%s] %s %s\n", mark[group.State], p.in("1", group.Client.Name), p.in("2", group.Client.ID))
		for _, c := range group.Servers {
			v := c.Verdict()
			margin := fmt.Sprintf("\n      %-*s  ", wide, "")
			fmt.Fprintf(&b, "    %s %-*s  %s\n", mark[v.State], wide, fault.Quote(c.Name), strings.ReplaceAll(fold(v.Cause), "\n", margin))
			if v.Next != "" {
				fmt.Fprintf(&b, "%snext: %s\n", margin[1:], p.in("36", v.Next))
			}
		}
		for _, file := range group.Files {
			fmt.Fprintf(&b, "    %s %s: %s\n", mark[file.State], fault.Clean(fl.Tilde(file.File)), file.Cause)
			if file.Next != "" {
				fmt.Fprintf(&b, "        next: %s\n", p.in("36", file.Next))
			}
		}
	}
	b.WriteString(showConflicts(h.Conflicts, p))
	n := h.Count()
	var sum []string
	add := func(count int, what string) {
		if count > 0 {
			sum = append(sum, fmt.Sprintf("%d %s", count, what))
		}
	}
	if !static {
		sum = append(sum, fmt.Sprintf("%d of %d work", h.Working(), len(h.Servers)-n[fleet.Off]))
	} else {
		sum = append(sum, plural(len(h.Servers), "entry")+" read")
	}
	add(n[fleet.Broken], "broken")
	if !static {
		add(n[fleet.Untried], "not tried")
	}
	add(n[fleet.Off], "off")
	fmt.Fprintf(&b, "\n%s.\n", strings.Join(sum, ", "))
	return b.String()
}

// showConflicts is one line for each set of servers that have tools of the
// same name.
func showConflicts(all []fleet.Conflict, p paint) string {
	tools := map[string][]string{}
	var order []string
	for _, c := range all {
		who := fmt.Sprintf("%s (%s)", fault.Quote(strings.Join(c.Servers, ", ")), c.Client)
		if tools[who] == nil {
			order = append(order, who)
		}
		tools[who] = append(tools[who], fault.Quote(c.Tool))
	}
	if len(order) == 0 {
		return ""
	}
	text := "\nTools of the same name, which a model may mix up:\n"
	for _, who := range order {
		const few = 4
		names := tools[who]
		if n := len(names); n > few {
			names = append(names[:few:few], fmt.Sprintf("%d more", n-few))
		}
		text += fmt.Sprintf("    %s %s: %s\n", p.in("33", "!"), who, strings.Join(names, ", "))
	}
	return text
}

// runSpecs examines what was named on the command line itself.
func (f *doctorFlags) runSpecs(cmd *cobra.Command, specs []upstream.Spec) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	show := together(progressOn(cmd.ErrOrStderr(), f.json))
	all := make([]examined, len(specs))
	machine := doctor.ThisMachine().Until(ctx)
	places := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for i, spec := range specs {
		running.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			last, report := doctor.Examine(ctx, machine, spec, doctor.ExamineOptions{Heal: f.heal, Timeout: f.timeout, Version: versionText(),
				Tell: func(line string) { show(fmt.Sprintf("%d/%d %s: %s", i+1, len(specs), shownServer(spec), line)) }})
			all[i] = examined{spec, last, report}
		})
	}
	running.Wait()
	show("")
	if ctx.Err() != nil {
		return interrupted
	}
	out, sick := cmd.OutOrStdout(), 0
	for _, e := range all {
		if !e.report.Healthy {
			sick++
		}
		text := showExamined(e, paint(colourful(out)))
		if f.json {
			text = string(jsonLine(testedOf(e.spec, e.last, e.report)))
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	if !f.json {
		fmt.Fprintf(out, "\n%d of %d work.\n", len(all)-sick, len(all))
	}
	if sick > 0 {
		return exitStatus(1)
	}
	return nil
}

// examined is one server and what came out.
type examined struct {
	spec   upstream.Spec
	last   upstream.Attempted
	report doctor.Report
}

// atOnce bounds how many servers are tried side by side.
const atOnce = 5

// together lets several goroutines show the same line.
func together(show func(string)) func(string) {
	var mu sync.Mutex
	return func(line string) {
		mu.Lock()
		defer mu.Unlock()
		show(line)
	}
}

// showExamined is one server in a few lines.
func showExamined(e examined, p paint) string {
	name := fault.Quote(shownServer(e.spec))
	if e.report.Healthy {
		line := fmt.Sprintf("%s %s  %s\n", p.green("[✓]"), name, p.in("2", fmt.Sprintf("%d tools, %s", len(e.last.Found.Tools), e.last.Took.Round(time.Millisecond))))
		for _, step := range e.report.Steps {
			if step.Result != doctor.Undone {
				line += "      healed: " + step.About + "\n      for good: " + step.Next + "\n"
			}
		}
		return line
	}
	text := p.red("[✗]") + " " + name + "\n"
	if d := e.report.Diagnosis; d != nil {
		text += indent(fold(d.Explanation)) + "\n"
		todo := e.report.Todo
		if todo == "" {
			todo = d.Fix
		}
		text += indent(fold("next: "+todo)) + "\n"
	}
	return text
}
