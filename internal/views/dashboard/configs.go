package dashboard

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

var configPages = []page{
	{path: "/configs", nav: "configs", template: "configs", load: configList},
	{path: "/configs/{id}", nav: "configs", template: "config", load: configPage},
	{path: "/configs/{id}/fix", nav: "configs", template: "fix", still: true, load: fixPage},
}

var configActions = []action{
	{path: "/configs/check", do: checkAll},
	{path: "/configs/{id}/check", do: checkOne},
	{path: "/configs/{id}/fix", do: applyFix},
}

// entryID identifies an entry in paths. A name may contain anything, and a project may choose the name
// of one of the user's servers.
func entryID(s *fleet.Server) string {
	return token(s.Client.ID, s.File, s.Scope, s.Name)[:16]
}

// configEntry is an entry of a client's file.
type configEntry struct {
	Server   *fleet.Server
	ID       string
	Name     string
	Where    string // its file and line
	Standing []string
	Check    *check
	Verdict  fleet.Verdict
	Old      bool // the file changed after the check
}

// Link returns the path of the entry's page.
func (e configEntry) Link() string { return "/configs/" + e.ID }

func (d *Dashboard) entry(f *fleet.Fleet, s *fleet.Server) configEntry {
	e := configEntry{Server: s, ID: entryID(s), Name: redact.Quote(s.Name), Where: fmt.Sprintf("%s:%d", f.Tilde(s.File), s.Line), Standing: slices.DeleteFunc(s.Standing(), func(note string) bool { return strings.HasPrefix(note, "broken: ") })} // Verdict says why
	e.Check = d.work.checks.of(e.ID)
	e.Verdict = fleet.Unchecked([]*fleet.Server{s})[0].Verdict()
	switch {
	case e.Check.upToDate(s.Config):
		e.Verdict = e.Check.result.Verdict()
	case e.Check != nil && e.Check.result != nil:
		e.Old = true
	case e.Check != nil && e.Check.kept != nil:
		k := e.Check.kept
		e.Old = k.File != token(string(s.Config.Text))
		if !e.Old && e.Verdict.State != fleet.Broken && e.Verdict.State != fleet.Off {
			e.Verdict.State, e.Verdict.Cause = k.State, k.Cause
		}
	}
	e.Verdict.Cause = plaintext.UpperFirst(e.Verdict.Cause)
	return e
}

// Checked returns the result of the check, or nil if there is none for the file as it is.
func (e configEntry) Checked() *fleet.Checked {
	if e.Check == nil || e.Old {
		return nil
	}
	return e.Check.result
}

// Known reports whether the state of the entry, as it is, was found out by a check.
func (e configEntry) Known() bool {
	return !e.Old && e.Check != nil && (e.Check.result != nil || e.Check.kept != nil)
}

// Why says why the entry is in its state, or nothing.
func (e configEntry) Why() string {
	switch {
	case e.Check.Running():
		return e.Check.Progress
	case e.Old:
		return "The file changed after the check."
	case e.Known(), e.Verdict.State == fleet.Broken, e.Verdict.State == fleet.Warned:
		return e.Verdict.Cause
	case e.Check != nil:
		return e.Check.Progress
	}
	return ""
}

// State returns the state in a word: of the check, or of the entry alone.
func (e configEntry) State() string {
	switch {
	case e.Check.Running():
		return "checking"
	case !e.Known() && (e.Verdict.State == fleet.Untried || e.Verdict.State == fleet.Works):
		return "not checked"
	}
	return stateWord(e.Verdict.State)
}

// stateWord returns a state as it is shown.
func stateWord(s fleet.State) string {
	if s == fleet.Warned {
		return "warning"
	}
	return string(s)
}

// configClient is a client with its entries.
type configClient struct {
	*clientconfig.Client
	Entries []configEntry
}

// configData is what the list of entries shows.
type configData struct {
	Clients  []*configClient
	Problems []configProblem // those of whole files
	Total    int
	Checking int
	Done     int // how many servers of the checks under way have a result, of Of
	Of       int
}

// configProblem is a problem of a whole file.
type configProblem struct {
	fleet.FileVerdict
	Client, Where string
	State         string
}

func configList(d *Dashboard, r *http.Request) (title string, data any, err error) {
	f, err := d.fleet()
	if err != nil {
		return "", nil, err
	}
	view := f.Look()
	list := &configData{Total: len(view.Servers)}
	for _, s := range view.Servers {
		if n := len(list.Clients); n == 0 || list.Clients[n-1].Client != s.Client {
			list.Clients = append(list.Clients, &configClient{Client: s.Client})
		}
		last := list.Clients[len(list.Clients)-1]
		e := d.entry(f, s)
		last.Entries = append(last.Entries, e)
		if e.Check.Running() {
			list.Checking++
		}
	}
	for _, g := range view.Health(nil, true).Groups() {
		for _, file := range g.Files {
			list.Problems = append(list.Problems, configProblem{file, g.Client.Name, f.Tilde(file.File).String(), stateWord(file.State)})
		}
	}
	list.Done, list.Of = d.work.checks.progress()
	return "Configs", list, nil
}

// configDetail is what the page of an entry shows.
type configDetail struct {
	configEntry
	Foreign  bool
	Whole    string // the entry of a project, as it is confirmed
	TooLong  string // why it cannot be confirmed here
	Seen     string // the token of Whole
	Doctor   string // the command that does in a terminal what the buttons do
	Next     []fault.Step
	CanHeal  bool // fixes that only change how the server is started may help
	Steps    []doctor.Step
	Cause    *doctor.Diagnosis
	Output   []string
	Diff     []diffLine
	Skipped  []fleet.Skip
	Undo     string // the id of the change that was made here
	Reload   string // what makes the client read the file again
	Problems []clientconfig.Problem
}

func configPage(d *Dashboard, r *http.Request) (title string, data any, err error) {
	f, view, s, err := d.found(r)
	if err != nil {
		return "", nil, err
	}
	c := &configDetail{configEntry: d.entry(f, s), Foreign: s.Foreign(), Problems: s.Problems, Doctor: "gauze doctor --fix " + plaintext.Clean(shell.Here().Quote(s.ID()))}
	if c.Foreign {
		c.Seen = seenEntry(s)
		if c.Whole, err = s.Whole(); err != nil {
			c.TooLong = err.Error()
		}
	}
	c.CanHeal = c.Verdict.Action == fleet.Heal
	if c.Verdict.Action == fleet.ByHand {
		c.Next = fault.Steps(doctor.WithCommand(c.Verdict.Next, c.Verdict.Command))
	}
	if checked := c.Checked(); checked != nil && checked.Tried {
		c.Steps, c.Cause = checked.Report.Steps, checked.Report.Diagnosis
		if !checked.Report.Healthy {
			for _, line := range checked.Attempt.LastLines(20) {
				c.Output = append(c.Output, redact.Quote(line))
			}
		}
	}
	plan := d.planOf(view, c.configEntry)
	c.Diff, c.Skipped = diffOf(plan.Diff()), plan.Skipped
	if made := d.work.checks.madeTo(c.ID); len(made) > 0 {
		c.Undo, c.Reload = made[len(made)-1].ID, s.Client.Reload
	}
	return s.Client.Name + ": " + c.Name, c, nil
}

// found returns the entry that a path names.
func (d *Dashboard) found(r *http.Request) (*fleet.Fleet, *fleet.View, *fleet.Server, error) {
	f, err := d.fleet()
	if err != nil {
		return nil, nil, nil, err
	}
	view := f.Look()
	for _, s := range view.Servers {
		if entryID(s) == r.PathValue("id") {
			return f, view, s, nil
		}
	}
	return nil, nil, nil, &problem{http.StatusNotFound, "This entry does not exist. It may have been removed or renamed.", "The Configs page lists all entries."}
}

// seenEntry returns the token of a project's entry. Only what was shown may be started.
func seenEntry(s *fleet.Server) string { return token(entryID(s), s.Thing().Hash()) }

// checkAll checks every server, except those of a project that must be confirmed.
func checkAll(d *Dashboard, r *http.Request) (next string, err error) {
	f, err := d.fleet()
	if err != nil {
		return "", err
	}
	view := f.Look()
	return "/configs", d.check(f, view, view.Servers, fleet.CheckOptions{})
}

// checkOne checks one server. A project's server is started only if the user has read its entry.
func checkOne(d *Dashboard, r *http.Request) (next string, err error) {
	f, view, s, err := d.found(r)
	if err != nil {
		return "", err
	}
	mode := r.PostFormValue("mode")
	if mode != "" && mode != "heal" {
		return "", &problem{http.StatusBadRequest, "Invalid mode: must be empty or heal.", "Go back and use one of the buttons."}
	}
	if s.Foreign() {
		_, tooLong := s.Whole()
		switch {
		case tooLong != nil:
			return "", &problem{http.StatusConflict, "This server comes from a project, and " + tooLong.Error() + ".", "It was not started."}
		case r.PostFormValue("seen") != seenEntry(s):
			return "", &problem{http.StatusConflict, "The entry changed after it was shown. The server was not started.", "Read the entry as it is now, then confirm it."}
		case !ticked(r):
			return "", &problem{http.StatusConflict, "This server comes from a project. It was not started.", "Read its entry, then check the box to allow it to start."}
		}
		s.Agreed()
	}
	return "/configs/" + entryID(s), d.check(f, view, []*fleet.Server{s}, fleet.CheckOptions{Heal: mode == "heal"})
}

// diffLine is a line of a diff.
type diffLine struct{ Kind, Text string }

// diffOf splits a diff into lines. Kind is ins, del, file, place or same.
func diffOf(diff string) (lines []diffLine) {
	for line := range strings.Lines(diff) {
		text := visible(strings.TrimSuffix(line, "\n"))
		kind := "same"
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
			kind = "file"
		case strings.HasPrefix(line, "@@"):
			kind = "place"
		case strings.HasPrefix(line, "+"):
			kind = "ins"
		case strings.HasPrefix(line, "-"):
			kind = "del"
		}
		lines = append(lines, diffLine{kind, text})
	}
	return lines
}

// visible makes characters visible that a browser would not show, except tabs and spaces.
func visible(line string) string {
	return words.ReplaceAllStringFunc(line, plaintext.Visible)
}

var words = regex.New(`[^ \t]+`)
