package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// invocation is the gauze doctor command that is being run, which must not be advised again.
type invocation struct {
	static bool
	fix    bool                      // the plan of --fix follows
	names  []string                  // of servers
	plans  func(*fleet.Checked) bool // reports whether --fix has something to change for a server
}

// showHealth formats the result for a terminal: client by client, conflicts, totals.
func showHealth(fl *fleet.Fleet, h fleet.Health, now invocation, p terminal.Paint) string {
	var b strings.Builder
	mark := map[fleet.State]string{fleet.Works: p.Green("✓"), fleet.Warned: p.Yellow("!"), fleet.Broken: p.Red("✗"), fleet.Untried: p.Faint("–"), fleet.Off: p.Faint("–")}
	wide := 0
	for _, c := range h.Servers {
		wide = max(wide, min(24, len([]rune(c.Name))))
	}
	said := remedies{}
	for _, group := range h.Groups() {
		fmt.Fprintf(&b, "[%s] %s %s\n", mark[group.State], p.Bold(group.Client.Name), p.Faint(group.Client.ID))
		for _, c := range group.Servers {
			v := now.verdict(c)
			margin := fmt.Sprintf("\n      %-*s  ", wide, "")
			fmt.Fprintf(&b, "    %s %-*s  %s\n", mark[v.State], wide, redact.Quote(c.Name), terminal.FoldAfter(v.Cause, margin))
			b.WriteString(said.once(showNext(v, now, c.ID(), margin, p), c.ID(), margin))
		}
		for _, file := range group.Files {
			const margin = "\n      "
			fmt.Fprintf(&b, "    %s %s\n", mark[file.State], terminal.FoldAfter(fl.Tilde(file.File).String()+": "+file.Cause, margin))
			b.WriteString(showNext(file.Verdict, now, "", margin, p))
		}
	}
	b.WriteString(showConflicts(h.Conflicts, p) + showLimits(h.Limits, p))
	n := h.Totals()
	var sum []string
	add := func(count int, what string) {
		if count > 0 {
			sum = append(sum, fmt.Sprintf("%d %s", count, what))
		}
	}
	if !now.static {
		sum = append(sum, fmt.Sprintf("%d of %d work", n.Working, len(h.Servers)-n.Off))
	} else {
		sum = append(sum, plaintext.Count(len(h.Servers), "server")+" read")
	}
	add(n.Broken, "broken")
	if files := h.BrokenFiles(); files > 0 {
		sum = append(sum, plaintext.Count(files, "broken file"))
	}
	if !now.static {
		add(n.Untried, "not tried")
	}
	add(n.Off, "off")
	fmt.Fprintf(&b, "\n%s.\n", strings.Join(sum, ", "))
	return b.String()
}

// remedies are what the user was told to do by hand, and for which server.
type remedies map[string]string

// once returns what to do about a server, or where it was said before.
func (r remedies) once(text, server, margin string) string {
	plain := strings.Join(strings.Fields(text), " ")
	if first, found := r[plain]; found && strings.HasPrefix(plain, "by hand: ") {
		return margin[1:] + terminal.FoldAfter("by hand: as for "+redact.Quote(first), margin) + "\n"
	}
	r[plain] = server
	return text
}

// verdict is the verdict about a server, without advice to use --fix that would not change anything.
func (now invocation) verdict(c *fleet.Checked) fleet.Verdict {
	v := c.Verdict()
	if v.Action != fleet.Repair || now.plans == nil || now.plans(c) {
		return v
	}
	v.Action, v.Next = fleet.Nothing, ""
	for _, step := range c.Report.Steps {
		if step.Next != "" {
			v.Action, v.Next = fleet.ByHand, step.Next
		}
	}
	return v
}

// showNext formats what to do about a verdict: one command to run, or what only a person can do.
func showNext(v fleet.Verdict, now invocation, server, margin string, p terminal.Paint) string {
	switch {
	case v.Next == "" || now.fix && (v.Action == fleet.Heal || v.Action == fleet.Repair):
		return ""
	case v.Action == fleet.Try && slices.Contains(now.names, server), v.Action == fleet.Ask && now.fix:
		return margin[1:] + "by hand: run this command in a terminal, so that gauze can ask you to confirm\n"
	case v.Action == fleet.ByHand:
		step := fault.Steps(doctor.WithCommand(v.Next, v.Command))[0]
		text := margin[1:] + terminal.FoldAfter("by hand: "+step.Text, margin) + "\n"
		if step.Command != "" {
			text += margin[1:] + "  " + p.Cyan(step.Command) + "\n"
		}
		return text
	}
	return margin[1:] + "next: " + p.Cyan(v.Next) + "\n"
}

// showConflicts formats one line for each set of servers that have tools of the same name.
func showConflicts(all []fleet.Conflict, p terminal.Paint) string {
	tools := map[string][]string{}
	var order []string
	for _, c := range all {
		who := fmt.Sprintf("%s (%s)", redact.Quote(strings.Join(c.Servers, ", ")), c.Client)
		if tools[who] == nil {
			order = append(order, who)
		}
		tools[who] = append(tools[who], redact.Quote(c.Tool))
	}
	if len(order) == 0 {
		return ""
	}
	text := "\nTools with the same name, which a model may confuse:\n"
	for _, who := range order {
		const few = 4
		names := tools[who]
		if n := len(names); n > few {
			names = append(names[:few:few], fmt.Sprintf("%d more", n-few))
		}
		text += fmt.Sprintf("    %s %s\n", p.Yellow("!"), terminal.FoldAfter(who+": "+strings.Join(names, ", "), "\n      "))
	}
	return text
}

// showLimits formats the tools that clients cannot use.
func showLimits(all []fleet.Limit, p terminal.Paint) (text string) {
	const margin = "\n      "
	for i, l := range all {
		if i == 0 {
			text = "\nTools that a client cannot use:\n"
		}
		who := l.Client
		if l.Server != "" {
			who += "/" + redact.Quote(l.Server)
		}
		text += fmt.Sprintf("    %s %s%s%s\n", p.Yellow("!"), terminal.FoldAfter(who+": "+l.Cause, margin), margin, terminal.FoldAfter("by hand: "+l.Next, margin))
	}
	return text
}

// diagnosed is the output of --json.
type diagnosed struct {
	Servers   []diagnosedServer `json:"servers"`
	Problems  []problem         `json:"problems"` // of files as a whole
	Conflicts []fleet.Conflict  `json:"conflicts"`
	Limits    []fleet.Limit     `json:"limits,omitempty"` // tools that a client cannot use
	Working   int               `json:"working"`
	Broken    int               `json:"broken"`
	Plan      *planned          `json:"plan,omitempty"` // with --fix
}

type diagnosedServer struct {
	listedServer
	State string  `json:"state"` // works, warned, broken, untried, off
	Cause string  `json:"cause"`
	Next  string  `json:"next"`
	Not   string  `json:"not,omitempty"`  // why it was not tested
	Test  *tested `json:"test,omitempty"` // if it was tested
}

// planned is a change of files, applied or not.
type planned struct {
	Diff    string       `json:"diff"` // without secrets
	Consent string       `json:"consent"`
	Skipped []fleet.Skip `json:"skipped"`
	Made    []string     `json:"made"` // ids for gauze undo
}

func (f *doctorFlags) answerJSON(cmd *cobra.Command, fl *fleet.Fleet, view *fleet.View, h fleet.Health) error {
	d := diagnosed{Servers: []diagnosedServer{}, Problems: problemsOf(h.Problems), Conflicts: append([]fleet.Conflict{}, h.Conflicts...), Limits: h.Limits, Working: h.Working(), Broken: h.Count()[fleet.Broken]}
	for _, c := range h.Servers {
		v := c.Verdict()
		one := diagnosedServer{listedServer: listedServerOf(c.Server), State: string(v.State), Cause: v.Cause, Next: v.Next, Not: c.Not}
		if c.Tried {
			t := testedOf(c.Real(), c.Final(), c.Attempt, c.Report)
			t.Server = c.Shown()
			one.Test = &t
		}
		d.Servers = append(d.Servers, one)
	}
	broken := h.HasBroken() || f.leftOut(h)
	if f.fix {
		plan, err := f.plan(fl, view, h)
		if err != nil {
			return err
		}
		d.Plan = &planned{Diff: plan.Diff(), Consent: plan.Consent(), Skipped: append([]fleet.Skip{}, plan.Skipped...), Made: []string{}}
		if f.yes || f.consent != "" {
			consent := f.consent
			if f.yes {
				consent = plan.Consent()
			}
			made, err := fl.Apply(plan, consent)
			fl.SawPlan(plan, made)
			for _, e := range made {
				d.Plan.Made = append(d.Plan.Made, e.ID)
			}
			if err != nil {
				return err
			}
		} else {
			broken = broken || !f.dryRun && !plan.Empty()
		}
	}
	if err := plaintext.WriteJSON(cmd.OutOrStdout(), d); err != nil {
		return err
	}
	if broken {
		return exitStatus(1)
	}
	return nil
}
