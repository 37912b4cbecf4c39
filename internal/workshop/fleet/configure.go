package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/registry"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
	"github.com/gauze-mcp/gauze/llm"
)

// Request describes a server to test or add.
type Request struct {
	From    trust.Source // the user (Entry) or an agent
	Name    string
	Package string   // npm:NAME, pypi:NAME, oci:IMAGE, @scope/name or an https:// URL
	Command []string // instead of a package
	URL     string   // instead of a package or command
	Args    []string // after the package
	Env     []string // NAME=value, or NAME for a reference, which keeps the value out of the file
	Header  []string // "Name: value"; ${NAME} in the value is a reference

	Clients []string // client ids; empty for the one in use, if there is only one
	Scope   clientconfig.Scope
	Wrap    bool // run it through gauze run
	Replace bool // overwrite an entry with the same name
	Untried bool // write it without testing it first
	Heal    bool
	Timeout time.Duration
	Agree   func(Offer) bool // asks the user about a fix; nil refuses
	Tell    func(string)
	Model   llm.Model // ranks possible causes of a failure that no rule explains; may be nil
}

// Offer is a fix that takes a value from a source that the user must be asked about.
type Offer struct {
	About string
	Spec  launch.Spec // the server with the fix, as it would be written
	was   launch.Spec // the server without it
}

// Question is what the user is asked about an Offer.
type Question struct {
	Title string
	Shown string // what would run, without secrets, for an agent
	Whole string // the same for the user: complete unless it is the user's own and Shown shows every change
	Hides bool   // something that the fix changes does not show in Shown
}

// Question returns the question about a server, which is nil if it is not configured yet. An offer
// that is too long to review is an error.
func (o Offer) Question(s *Server) (q Question, err error) {
	now := o.Spec
	if now.URL != "" && o.was.URL == "" {
		now.Command, now.Args = o.was.Command, o.was.Args // shown as what the URL replaces
	}
	was, err := Whole(o.was)
	if err == nil {
		q.Whole, err = Whole(now)
	}
	if err != nil {
		return q, err
	}
	q.Title = "The server does not work: "
	if s != nil {
		q.Title = redact.Quote(s.ID()) + " does not work: "
	}
	q.Title += o.About + ". Allow Gauze to test the server with this change?"
	theirs := s != nil && s.Config.InProject()
	show := Describe
	if theirs {
		show = Outline
	}
	q.Shown = show(now)
	changed, aligned := changedWords(unfolded(was), unfolded(q.Whole))
	visible, _ := changedWords(show(o.was), q.Shown)
	masks := unfolded(q.Whole) != q.Shown
	if q.Hides = masks && (!aligned || visible != changed); !q.Hides && !theirs {
		q.Whole = Fold(q.Shown)
	}
	return q, nil
}

// Thing returns the fix of a server as what the user is shown. The server is nil if it is not
// configured yet.
func (o Offer) Thing(s *Server) trust.Thing {
	where := "not configured"
	if s != nil {
		where = s.ID() + " in " + s.File
	}
	return trust.Thing{Kind: trust.FixOffer, Where: where, Bytes: o.Spec.Fingerprint()}
}

// changedWords returns how many words differ between two texts that have as many of them.
func changedWords(a, b string) (n int, aligned bool) {
	between := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	was, now := strings.FieldsFunc(a, between), strings.FieldsFunc(b, between)
	if len(was) != len(now) {
		return 0, false
	}
	for i := range now {
		if now[i] != was[i] {
			n++
		}
	}
	return n, true
}

// Configured is the result of a Request: how the server did, and what would be written.
type Configured struct {
	Spec    launch.Spec // as it would be written, with references
	Final   launch.Spec // how it was started or reached in the end, as it may be shown
	Tried   bool
	Attempt probe.Result
	Report  doctor.Report
	Facts   *registry.Facts // what a registry knows about the package, if anything
	Missing []registry.Variable
	Plan    Plan
	Again   func(*Fleet) (Plan, error) // plans the same from the files as they are now
	Lasts   bool                       // what made it work is in Spec, or gauze run does it at every start
}

// inProject reports whether the server is tested in the project's directory: only if the user adds
// it there.
func (r Request) inProject() bool {
	return r.Scope == clientconfig.Project && trust.Of(r.From, trust.Start) == trust.Allowed
}

// Works reports whether the server may be written: it works, or no test was requested.
func (c Configured) Works() bool { return !c.Tried || c.Report.Healthy }

var serverName = regex.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// Configure determines how to start a server, tests it, tries fixes if allowed, and plans to write
// what works. It writes nothing.
func (f *Fleet) Configure(ctx context.Context, r Request) (c Configured, err error) {
	if !serverName.MatchString(r.Name) {
		return c, fmt.Errorf("invalid server name %q: must be 1 to 64 letters, digits, dots, dashes or underscores", redact.Quote(r.Name))
	}
	forAll := f.Up != nil && slices.Contains(r.Clients, AllClients)
	forUp := f.Up != nil && slices.Contains(r.Clients, clientconfig.UpID)
	if (forAll || forUp) && r.Scope == clientconfig.Project {
		return c, fmt.Errorf("--client %s cannot be combined with --scope project", strings.Join(r.Clients, ","))
	}
	clients, err := f.clientsFor(r.Clients, forAll)
	if err != nil {
		return c, err
	}
	if c, err = f.Resolve(ctx, r); err != nil {
		return c, err
	}
	c.Again = func(f *Fleet) (Plan, error) {
		s := NewServer{Name: r.Name, Spec: c.Spec, Wrapped: r.Wrap, Scope: r.Scope, Replace: r.Replace, Transport: transportOf(c), Start: c.Report.Wait}
		if forAll || forUp {
			return f.Look(clients...).AddForAll(s, clients)
		}
		return f.Look(clients...).Add(s, clients)
	}
	if c.Plan, err = c.Again(f); err != nil || c.Plan.Empty() || r.Untried { // no need to test what cannot be written
		return c, err
	}
	f.try(ctx, r, &c)
	if !c.Report.Healthy {
		c.Plan = Plan{}
		return c, ctx.Err()
	}
	c.Plan, err = c.Again(f)
	return c, err
}

// Resolve determines how a server is started or reached. It starts and reaches nothing except the
// registry, if that is allowed.
func (f *Fleet) Resolve(ctx context.Context, r Request) (c Configured, err error) {
	if c.Spec, c.Facts, err = f.specOf(ctx, r); err != nil {
		return c, err
	}
	c.Missing = missing(c.Facts, c.Spec)
	return c, nil
}

// Try resolves a server and tests it, unless r.Untried is set.
func (f *Fleet) Try(ctx context.Context, r Request) (c Configured, err error) {
	if c, err = f.Resolve(ctx, r); err != nil || r.Untried {
		return c, err
	}
	f.try(ctx, r, &c)
	return c, ctx.Err()
}

// clientsFor returns the clients with these ids, all that are in use, or the one in use.
func (f *Fleet) clientsFor(ids []string, all bool) ([]*clientconfig.Client, error) {
	if len(ids) > 0 && !all {
		return Clients(ids)
	}
	used := f.inUse()
	if all && len(used) > 0 {
		return used, nil
	}
	var names []string
	for _, c := range used {
		names = append(names, c.ID)
	}
	switch len(used) {
	case 1:
		return used, nil
	case 0:
		return nil, errors.New("no MCP client was found on this machine; specify one, for example --client claude-code. To list all supported clients, run: gauze list --clients")
	}
	return nil, fmt.Errorf("several MCP clients are in use; choose one with --client, for example --client %s, or all of them with --client all (in use: %s)", names[0], strings.Join(names, ", "))
}

// specOf returns how the server is started or reached, with references where the request has them.
func (f *Fleet) specOf(ctx context.Context, r Request) (spec launch.Spec, facts *registry.Facts, err error) {
	given := 0
	for _, is := range []bool{r.Package != "", len(r.Command) > 0, r.URL != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return spec, nil, errors.New("specify one server: a package (npm:NAME, pypi:NAME, oci:IMAGE), a URL, or a command after --")
	}
	env, err := variables(r.Env)
	if err != nil {
		return spec, nil, err
	}
	address := r.URL
	switch {
	case strings.HasPrefix(r.Package, "http://"):
		address = r.Package // usually on this machine
	case r.Package != "":
		parsed, err := registry.ParsePackage(r.Package)
		if err != nil {
			return spec, nil, err
		}
		if known, ok := f.Registry.Lookup(ctx, parsed.Kind, parsed.Name); ok {
			facts = &known
		}
		if parsed.Kind == registry.Remote {
			address = parsed.Name
			break
		}
		var names []string
		for _, pair := range env {
			name, _, _ := strings.Cut(pair, "=")
			names = append(names, name)
		}
		words := append(parsed.Words(names...), r.Args...)
		spec.Command, spec.Args = words[0], words[1:]
	case len(r.Command) > 0:
		spec.Command, spec.Args = r.Command[0], append(slices.Clone(r.Command[1:]), r.Args...)
	}
	if address == "" {
		if len(r.Header) > 0 {
			return spec, nil, errors.New("headers require a URL; use environment variables for a command")
		}
		spec.Env = env
		return spec, facts, nil
	}
	if len(env) > 0 {
		return spec, nil, errors.New("environment variables require a command; use headers for a URL")
	}
	if err := launch.CheckURL(address); err != nil {
		return spec, nil, err
	}
	spec = launch.Spec{URL: address}
	for _, text := range r.Header {
		name, value, ok := strings.Cut(text, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || value == "" {
			return spec, nil, errors.New("invalid header: must be 'Name: value', for example 'Authorization: Bearer ${TOKEN}'")
		}
		if err := launch.CheckHeader(name, value); err != nil {
			return spec, nil, err
		}
		spec.Header = append(spec.Header, launch.Header{Name: name, Value: value, Source: "the request"})
	}
	return spec, facts, nil
}

var variableName = regex.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variables parses NAME=value and NAME.
func variables(all []string) (env []string, err error) {
	for i, pair := range all {
		name, value, has := strings.Cut(pair, "=")
		if !variableName.MatchString(name) { // it may be a value: not shown
			return nil, fmt.Errorf("invalid variable %d: must be NAME=value, or NAME to refer to a variable that is already set", i+1)
		}
		if !has {
			value = "${" + name + "}"
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

// missing returns the variables and headers that the registry lists as required and the spec lacks.
func missing(facts *registry.Facts, spec launch.Spec) (all []registry.Variable) {
	if facts == nil {
		return nil
	}
	for _, v := range registry.Required(facts.Env) {
		if !slices.ContainsFunc(spec.Env, func(pair string) bool { return strings.HasPrefix(pair, v.Name+"=") }) {
			all = append(all, v)
		}
	}
	for _, v := range registry.Required(facts.Headers) {
		if !slices.ContainsFunc(spec.Header, func(h launch.Header) bool { return strings.EqualFold(h.Name, v.Name) }) {
			all = append(all, v)
		}
	}
	return all
}

// try starts or reaches the server with its references expanded, and adds the fixes that made it
// work to c.Spec.
func (f *Fleet) try(ctx context.Context, r Request, c *Configured) {
	machine := f.machine(r.inProject())
	if trust.Of(r.From, trust.Send) != trust.Allowed {
		machine = machine.Only(addressesOf(c.Spec.URL))
	}
	filled := f.start(f.filled(c.Spec), machine.Dir, r.inProject())
	o := doctor.ExamineOptions{Heal: r.Heal, Timeout: r.Timeout, Version: f.Version, Tell: r.Tell, Model: r.Model, Agree: agreeing(c.Spec, filled, r.Agree)}
	c.Attempt, c.Report = doctor.Examine(ctx, machine, filled, o)
	c.Attempt = c.Attempt.Hidden(Hiding(filled))
	c.Tried = true
	defer func() { c.Final = withHealed(c.Spec, filled, c.Report.Spec, f.Home.Environ) }()
	if c.Report.Healthy && len(c.Report.Steps) > 0 {
		healed := minimal(ctx, machine, filled, c.Report.Spec, o)
		if with, ok := expressed(c.Spec, filled, healed); ok && agreedTo(c.Report.Steps) {
			c.Spec, c.Lasts = with, true
			return
		}
		_, values := withValues(c.Spec, filled, healed)
		c.Spec, c.Lasts = lasting(c.Spec, filled, healed, r.Wrap), values || r.Wrap
	}
}

// agreeing returns a function that asks the user about a fix, or nil. It asks only about fixes that
// the entry can express: whatever helps must be written as it was tested.
func agreeing(written, before launch.Spec, ask func(Offer) bool) func(doctor.Fix, launch.Spec) bool {
	if ask == nil {
		return nil
	}
	return func(fix doctor.Fix, now launch.Spec) bool {
		with, ok := expressed(written, before, now)
		return ok && ask(Offer{About: fix.About, Spec: with, was: written})
	}
}

// Agreeing returns a function that asks the user about a fix of a server that is in no file, or nil.
func Agreeing(s launch.Spec, ask func(Offer) bool) func(doctor.Fix, launch.Spec) bool {
	before := s
	before.Env = s.Environment()
	return agreeing(s, before, ask)
}

// expressed returns a spec as it is written, with what differs between before and now: single arguments
// and variables, another program with the last of the arguments, or a URL instead of the command. It
// returns false if something else differs.
func expressed(written, before, now launch.Spec) (_ launch.Spec, ok bool) {
	if with, ok := withValues(written, before, now); ok {
		return with, true
	}
	if before.URL == "" && now.URL != "" && len(now.Header) == 0 {
		return launch.Spec{URL: now.URL, Others: written.Others}, true
	}
	dropped := len(before.Args) - len(now.Args)
	if before.URL+now.URL != "" || before.Command == now.Command || before.Dir != now.Dir || !maps.Equal(valuesOf(before.Environment()), valuesOf(now.Environment())) ||
		len(written.Args) != len(before.Args) || dropped < 0 || !slices.Equal(before.Args[dropped:], now.Args) {
		return written, false
	}
	written.Command, written.Args = now.Command, slices.Clone(written.Args[dropped:])
	return written, true
}

// withValues returns a spec as it is written, with the arguments and variables that differ between
// before and now. It returns false if something else differs, or if nothing does. Values that are not
// literally in the spec, such as references, cannot be changed there.
func withValues(written, before, now launch.Spec) (_ launch.Spec, ok bool) {
	if before.Command != now.Command || before.Dir != now.Dir || before.URL != now.URL || len(before.Args) != len(now.Args) || len(written.Args) != len(now.Args) {
		return written, false
	}
	written.Args, written.Env = slices.Clone(written.Args), slices.Clone(written.Env)
	for i, word := range now.Args {
		switch {
		case word == before.Args[i]:
		case written.Args[i] != before.Args[i]:
			return written, false
		default:
			written.Args[i], ok = word, true
		}
	}
	was := valuesOf(before.Env)
	for name, value := range valuesOf(now.Env) {
		if old, has := was[name]; has && old == value {
			continue
		}
		at := slices.Index(written.Env, name+"="+was[name])
		if at < 0 {
			return written, false
		}
		written.Env[at], ok = name+"="+value, true
	}
	return written, ok
}

// valuesOf returns the variables of an environment. If one is set more than once, the last one counts.
func valuesOf(env []string) map[string]string {
	values := map[string]string{}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		values[name] = value
	}
	return values
}

// filled returns a spec with its references expanded.
func (f *Fleet) filled(s launch.Spec) launch.Spec {
	fill := func(text string) string {
		return reference.ReplaceAllStringFunc(text, func(whole string) string {
			if value := f.Home.Getenv(whole[2 : len(whole)-1]); value != "" {
				return value
			}
			return whole
		})
	}
	if s.URL == "" {
		env := slices.Clone(f.Home.Environ)
		for _, pair := range s.Env {
			name, value, _ := strings.Cut(pair, "=")
			env = append(env, name+"="+fill(value))
		}
		s.Env = env
	}
	s.Header = slices.Clone(s.Header)
	for i := range s.Header {
		s.Header[i].Value = fill(s.Header[i].Value)
	}
	return s
}

var reference = regex.New(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// lasting returns what to write of a healed spec. gauze run finds most of it again at every start;
// values that were found elsewhere, such as in a .env file, stay there.
func lasting(written, before, healed launch.Spec, wrapped bool) launch.Spec {
	if with, ok := withValues(written, before, healed); ok {
		return with
	}
	written.URL, written.Dir = healed.URL, healed.Dir
	if healed.URL != "" {
		written.Command, written.Args, written.Env = "", nil, nil
		return written
	}
	if wrapped {
		return written
	}
	written.Command, written.Args = healed.Command, healed.Args
	for _, pair := range healed.Env {
		name, value, _ := strings.Cut(pair, "=")
		if slices.Contains(before.Env, pair) || redact.NamesSecret(name, value) {
			continue
		}
		if name == "PATH" || quietVariable(name) {
			written.Env = append(written.Env, pair)
		}
	}
	return written
}

// quietVariable reports whether a variable only keeps a library from writing to stdout.
func quietVariable(name string) bool {
	return slices.Contains([]string{"NO_COLOR", "DOTENV_CONFIG_QUIET", "PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8", "NPM_CONFIG_LOGLEVEL", "npm_config_loglevel"}, name)
}

func transportOf(c Configured) clientconfig.Transport {
	if c.Tried && c.Attempt.Found.Transport == "sse" {
		return clientconfig.SSE
	}
	return clientconfig.HTTP
}
