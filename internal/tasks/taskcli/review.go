package taskcli

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Review is a plan as the user sees it before it runs, with the servers that its names stand for at
// this moment.
type Review struct {
	Servers []Reviewed // sorted by their names in the plan
	Project bool       // a project decides a part of what runs
	Typed   bool       // the user typed the plan on the command line

	fleet *fleet.Fleet
	plan  task.Plan
	place string // where it runs; empty for this machine
}

// Reviewed is one server of a Review.
type Reviewed struct {
	task.Server
	Name  string        // its name in the plan
	Found *fleet.Server // the configured server; nil if it cannot be used
	Err   error         // why it cannot be used
	Spec  launch.Spec   // how it is started or reached, as written
	Whole string        // shows all of it to the user. Secrets in the plan and in the user's own entries are masked.
	Brief string        // Whole for an agent
}

// Of returns the review of a plan that runs on this machine, as [taskrun.Here] returns it. A plan that
// is too long to review is an error.
func Of(f *fleet.Fleet, plan task.Plan) (*Review, error) {
	r := &Review{fleet: f, plan: plan}
	secrets := fleet.Numbers{}
	for _, name := range slices.Sorted(maps.Keys(plan.Servers)) {
		one := Reviewed{Server: plan.Servers[name], Name: name}
		if err := one.look(f, secrets); err != nil {
			return nil, fmt.Errorf("the server %q: %w", redact.Quote(name), err)
		}
		r.Servers = append(r.Servers, one)
		r.Project = r.Project || one.ofProject(f)
	}
	return r, nil
}

// OfElsewhere returns the review of a plan that runs at a different place, which has its own configured
// servers, variables and logins.
func OfElsewhere(f *fleet.Fleet, plan task.Plan, place string) (*Review, error) {
	r, err := Of(nil, plan)
	if err == nil {
		r.fleet, r.place = f, place
	}
	return r, err
}

// From says in which file the plan is.
func (r *Review) From(file string) error {
	file, err := filepath.Abs(file)
	r.Project = r.Project || r.fleet.InRepository(file)
	return err
}

// look adds what the server is now. Without a fleet, nothing is known about configured ones.
func (one *Reviewed) look(f *fleet.Fleet, secrets fleet.Numbers) (err error) {
	if one.Configured != "" {
		return one.lookUp(f)
	}
	one.Spec = taskrun.Given(one.Server)
	uses := one.Uses()
	if f == nil { // they are not this user's
		uses = nil
	}
	if one.Whole, err = secrets.Whole(one.Spec, uses...); err != nil {
		return err
	}
	one.Brief = fleet.Outline(one.Spec, uses...)
	one.addLogin(f, one.Spec)
	return nil
}

// lookUp adds the entry that a configured server has now. One that cannot be used is shown as such: it
// is not started.
func (one *Reviewed) lookUp(f *fleet.Fleet) error {
	one.Whole = plaintext.Visible(redact.Quote(one.Configured))
	one.Brief = one.Whole
	if f == nil {
		return nil
	}
	one.Found, one.Err = f.At(one.Cwd).Look().Use(one.Configured, agreeing)
	if one.Err != nil {
		one.Whole += " (" + plaintext.Visible(redact.Passage(one.Err.Error())) + ")"
		one.Brief = one.Whole
		return nil
	}
	one.Spec = one.Found.Written()
	if !one.Found.Config.InProject() {
		one.Brief += " (" + one.Found.Shown() + ")"
		one.Whole += ": " + fleet.Describe(one.Spec, one.Found.Sends()...)
		one.addLogin(f, one.Found.Real())
	} else {
		whole, err := one.Found.Whole()
		if err != nil {
			return err
		}
		one.Brief += " from the project: " + one.Found.Outline()
		one.Whole += " from the project: " + whole
	}
	return nil
}

// agreeing lets a server be looked up that the user has not confirmed yet.
func agreeing(*fleet.Server) error { return nil }

func (one *Reviewed) addLogin(f *fleet.Fleet, spec launch.Spec) {
	if f == nil {
		return
	}
	if stored := f.StoredLogin(spec); stored != "" {
		one.Whole += "\n  may use " + stored
		one.Brief += "\n  may use a stored login"
	}
}

// ofProject reports whether a project decides what the server is: by its entry, or by the directory in
// which it starts, where programs look for packages and settings.
func (one *Reviewed) ofProject(f *fleet.Fleet) bool {
	if one.Configured != "" {
		return one.Found != nil && one.Found.Config.InProject()
	}
	return f != nil && len(one.Command) > 0 && f.InRepository(one.Cwd)
}

// Thing returns the plan as what a person sees. Where is empty, or the id of the task that the answer
// is about. A login that is stored later does not make it a different plan.
func (r *Review) Thing(where string) trust.Thing {
	entries := map[string]string{}
	for _, one := range r.Servers {
		if one.Found != nil {
			entries[one.Name] = one.Found.Config.Path + "\n" + one.Spec.Fingerprint()
		}
	}
	bytes, err := json.Marshal([]any{r.plan, entries, r.place})
	if err != nil {
		panic(err) // a plan that was parsed has only what JSON has
	}
	return trust.Thing{Kind: trust.TaskPlan, Where: where, Bytes: string(bytes)}
}

// About describes the plan on one line, without secrets.
func (r *Review) About() string { return "task " + redact.Quote(r.plan.Name) }

// Launch returns how a configured server is started or reached, if its entry is still the one that was
// reviewed.
func (r *Review) Launch(name, dir string) (launch.Spec, error) {
	there := r.fleet.At(dir)
	now, err := there.Look().Use(name, agreeing)
	if err != nil {
		return launch.Spec{}, err
	}
	for _, one := range r.Servers {
		isIt := one.Configured == name && one.Cwd == dir
		if isIt && one.Found != nil && one.Spec.Fingerprint() == now.Written().Fingerprint() {
			return there.Launch(now), nil
		}
	}
	return launch.Spec{}, fmt.Errorf("the entry for %s changed after it was shown: resume the task to review it", redact.Quote(name))
}

// Whole returns the whole plan for the user.
func (r *Review) Whole() string {
	return fleet.Fold(r.text(func(s Reviewed) string { return s.Whole }, func(arguments json.RawMessage) json.RawMessage { return arguments }))
}

// Question returns what the user is asked after Whole. It repeats what a long plan moves off the screen:
// what is started or reached.
func (r *Review) Question() string {
	const maxLines = 20
	whole := r.Whole()
	if strings.Count(whole, "\n") < maxLines {
		return "Run this task?"
	}
	text := ""
	for _, one := range r.Servers {
		target := plaintext.Visible(redact.Quote(one.Configured))
		if one.Configured == "" || one.Found != nil && one.Found.Config.InProject() {
			target = fleet.Target(one.Spec)
		}
		text += fleet.Fold("server "+plaintext.Visible(one.Name)+": "+target) + "\n"
	}
	return text + fmt.Sprintf("\nRun this task? The plan above has %d lines.", 1+strings.Count(whole, "\n"))
}

// Brief returns the plan for an agent. hide removes secrets from the arguments of steps.
func (r *Review) Brief(hide func(json.RawMessage) json.RawMessage) string {
	return r.text(func(s Reviewed) string { return s.Brief }, hide)
}

func (r *Review) text(server func(Reviewed) string, arguments func(json.RawMessage) json.RawMessage) string {
	lines := []string{"task " + plaintext.Visible(r.plan.Name)}
	if r.place != "" {
		lines = append(lines, "on "+r.place+", with the servers, variables and logins there")
	}
	for _, one := range r.Servers {
		lines = append(lines, "server "+plaintext.Visible(one.Name)+": "+server(one))
	}
	if r.plan.Goal != "" {
		lines = append(lines, "goal: "+plaintext.Visible(r.plan.Goal))
	}
	if r.plan.ByModel() {
		lines = append(lines, "A model may call any tool on these servers.")
	}
	for i, step := range r.plan.Steps {
		step.Arguments = arguments(step.Arguments)
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, plaintext.Visible(stepText(step))))
	}
	if budget := budgetText(r.plan.Budget); budget != "" {
		lines = append(lines, "budget: "+budget)
	}
	return strings.Join(lines, "\n")
}

// stepText describes a step completely, on one line.
func stepText(s task.Step) string {
	text := fmt.Sprintf("%s: %s %s", s.ID, s.Server, s.Tool)
	if len(s.Arguments) > 0 {
		text += " " + string(s.Arguments)
	}
	if s.For != "" {
		text += " for " + s.For
	}
	if len(s.When) > 0 {
		text += " when " + strings.Join(s.When, " and ")
	}
	if s.OnError.Attempts > 0 {
		text += fmt.Sprintf(", up to %d times", s.OnError.Attempts)
	}
	if s.OnError.Continue {
		text += ", continues after an error"
	}
	if s.Unlisted {
		text += ", even if the server does not list the tool"
	}
	return text
}

func budgetText(b task.Budget) string {
	var parts []string
	if b.Steps > 0 {
		parts = append(parts, plaintext.Count(b.Steps, "call"))
	}
	if b.Time > 0 {
		parts = append(parts, b.Time.Round(time.Second).String())
	}
	if b.Tokens > 0 {
		parts = append(parts, plaintext.Count(b.Tokens, "token"))
	}
	if b.Cost > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f", b.Cost))
	}
	return strings.Join(parts, ", ")
}
