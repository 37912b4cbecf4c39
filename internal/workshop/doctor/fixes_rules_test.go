package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// What must never happen, over all fixes of all set-ups and all causes.
func TestAFixKeepsToTheRules(t *testing.T) {
	for _, x := range troubles() {
		f, spec, d, fixes := x.offer(t)
		keepsToTheRules(t, x.name, f, spec, fixes)
		c := x.seen(f, spec)
		for _, other := range knowledge().causes { // also what no evidence would lead to
			d.Cause, d.Category = other.name, other.category
			keepsToTheRules(t, x.name+" taken for "+d.Cause, f, spec, Fixes(f.Machine)(d, c, spec))
		}
	}
}

func keepsToTheRules(t *testing.T, name string, f *fakeMachine, spec launch.Spec, fixes []Fix) {
	t.Helper()
	for _, fix := range fixes {
		bad := func(format string, args ...any) {
			t.Helper()
			t.Errorf("%s: %s (%s): %s", name, fix.Name, fix.Risk, fmt.Sprintf(format, args...))
		}
		encoded, _ := json.Marshal(map[string]string{"name": fix.Name, "about": fix.About, "next": fix.Next})
		if said := fix.Name + fix.About + fix.Next; strings.Contains(said, canary) {
			bad("shows a secret: %s", encoded)
		}
		if fix.Name == "" || fix.About == "" || fix.Next == "" || strings.ContainsAny(fix.About+fix.Next, "\n\x1b") {
			bad("is not explained in one line: %s", encoded)
		}
		if fix.Apply == nil {
			if fix.Risk == Runtime {
				bad("cannot be tried")
			}
			continue
		}
		before := deepCopy(spec)
		now := fix.Apply(spec)
		if again := fix.Apply(spec); !reflect.DeepEqual(again, now) {
			bad("does something else the second time")
		}
		scribble(&now)
		if !reflect.DeepEqual(spec, before) {
			bad("changed the Spec it was given")
		}
		if fix.Risk == Runtime {
			runtimeOnly(bad, f, spec, fix.Apply(spec))
		}
	}
}

// runtimeOnly checks the rules for what is done without asking.
func runtimeOnly(bad func(string, ...any), f *fakeMachine, old, now launch.Spec) {
	w := watcher{bad: bad, f: f, old: old, now: now}
	w.strays()
	w.program()
	w.line()
	w.folder()
	w.address()
	w.environment()
}

// watcher compares a Spec with the one that a fix was given.
type watcher struct {
	bad      func(string, ...any)
	f        *fakeMachine
	old, now launch.Spec
}

// strays checks that values of others stay where they are.
func (w watcher) strays() {
	type all launch.Spec // its String leaves out what is not to be shown
	if strings.Contains(fmt.Sprintf("%+v", all(w.now)), stray) {
		w.bad("takes what is not the server's: %+v", all(w.now))
	}
}

// words returns the words of a command line, with the user's own variables and directories
// expanded.
func (w watcher) words(s launch.Spec) []string {
	words := append([]string{s.Command}, s.Args...)
	if !isFile(s.Command) {
		words = append(SplitCommand(s.Command), s.Args...)
	}
	var all []string
	for _, word := range withoutShell(words) {
		if word == "-it" || word == "-ti" {
			all = append(all, "-i", "-t")
			continue
		}
		all = append(all, expand(w.f.atHome(word), w.given))
	}
	return all
}

// given returns the value of a reference from the entry and the server's environment only.
func (w watcher) given(r reference) (string, bool) {
	if r.name == "workspaceFolder" {
		return w.old.Dir, w.old.Dir != ""
	}
	if v, ok := lookup(w.old.Environment(), r.name, false); ok {
		return v, true
	}
	return r.fallback, r.fallback != ""
}

// program checks that the program is the configured one, wherever it is installed, or a Python
// under its other name or of the script's own project.
func (w watcher) program() {
	old, now := w.words(w.old), w.words(w.now)
	if w.now.Command == "" || len(old) == 0 || old[0] == now[0] || strings.HasPrefix(strings.Join(old, " "), now[0]+" ") {
		return // a path that was cut at its spaces is the same path
	}
	kind := func(word string) string {
		name := program(word)
		if versioned := strings.TrimRight(name, "0123456789."); versioned == "python" {
			return versioned
		}
		return name
	}
	if kind(old[0]) != kind(now[0]) {
		w.bad("another program: %q", now[0])
	}
	if !w.installed(filepath.Dir(now[0])) {
		w.bad("a program from a strange folder: %q", now[0])
	}
}

// installed reports whether programs come from a directory, or the server's own project has it.
func (w watcher) installed(dir string) bool {
	dirs := slices.Concat(w.f.Places(), w.f.LoginPath(), filepath.SplitList(value(w.old.Environment(), "PATH", false)), filepath.SplitList(w.f.env["PATH"]))
	if slices.Contains(dirs, dir) {
		return filepath.IsAbs(dir)
	}
	root, venv := filepath.Dir(filepath.Dir(dir)), filepath.Base(filepath.Dir(dir))
	own := slices.ContainsFunc(w.old.Args, func(word string) bool { return strings.HasPrefix(word, root+string(filepath.Separator)) })
	return own && (venv == ".venv" || venv == "venv")
}

var thisMachine = regexp.MustCompile(`(localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0|host\.docker\.internal)(:\d+)?`)

// line checks that the same words follow the program, including package, image and options. Only
// words on this list may be added or removed.
func (w watcher) line() {
	old, now := w.words(w.old), w.words(w.now)
	if len(old) == 0 || len(now) == 0 {
		return
	}
	var was, is, dropped []string
	for _, word := range old[1:] {
		name, v, assigned := strings.Cut(strings.TrimLeft(word, "-"), "=")
		assigned = assigned && isVariable(name) && !slices.Contains(now, word) // and is no more
		switch {
		case (word == "-t" || word == "--tty") && count(dropped, word) < count(old, word)-count(now, word):
			dropped = append(dropped, word)
		case assigned && slices.Contains(now, name):
			was = append(was, name) // docker reads it from its environment
		case assigned && value(w.now.Environment(), name, false) == v: // a variable that is one now
		default:
			was = append(was, word)
		}
	}
	for i := 1; i < len(now); i++ {
		word, next := now[i], ""
		if i+1 < len(now) {
			next = now[i+1]
		}
		switch added := !slices.Contains(old, word); {
		case added && (word == "-i" || word == "--add-host=host.docker.internal:host-gateway"):
		case added && word == "--python" && strings.HasPrefix(program(next), "python") && w.installed(filepath.Dir(next)):
			i++
		case word == "-e" && isVariable(next) && !slices.Contains(was, next):
			w.bad("passes %s on into the container", next)
			i++
		default:
			is = append(is, word)
		}
	}
	plain := func(words []string) string {
		return thisMachine.ReplaceAllString(strings.Join(words, " "), "HERE")
	}
	// The program may have absorbed words of a path that was split.
	if plain(was) != plain(is) && plain(append(old[:1:1], was...)) != plain(append(now[:1:1], is...)) {
		w.bad("another command line: %q instead of %q", is, was)
	}
	for _, word := range append(w.now.Args, w.now.Command) {
		if strings.Contains(word, canary) && !strings.Contains(strings.Join(append(w.old.Args, w.old.Command), " "), canary) {
			w.bad("a secret in the arguments: %q", word)
		}
	}
}

// folder checks that the directory is the configured one, or that of the script.
func (w watcher) folder() {
	if w.now.Dir == w.old.Dir || w.now.Dir == expand(w.f.atHome(w.old.Dir), w.given) {
		return
	}
	inside := func(word string) bool { return strings.HasPrefix(word, w.now.Dir+string(filepath.Separator)) }
	if w.old.Dir != "" || !slices.ContainsFunc(w.words(w.old), inside) {
		w.bad("another folder: %s", w.now.Dir)
	}
}

// address checks that the server and its headers are the same.
func (w watcher) address() {
	if !slices.Equal(w.old.Header, w.now.Header) {
		w.bad("other headers")
	}
	if strings.Contains(w.now.URL, canary) && !strings.Contains(w.old.URL, canary) {
		w.bad("a secret in the URL")
	}
	if w.old.URL == "" {
		if w.now.URL != "" && w.now.URL != w.old.Command {
			w.bad("another server: %s", w.now.URL)
		}
		return
	}
	a, _ := url.Parse(w.old.URL)
	b, _ := url.Parse(w.now.URL)
	home := local.MatchString(a.Hostname()) && (local.MatchString(b.Hostname()) || b.Hostname() == "host.docker.internal")
	if a.Scheme != b.Scheme || a.Host != b.Host && !home || a.RawQuery != b.RawQuery || a.User.String() != b.User.String() {
		w.bad("another server: %s", w.now.URL)
	}
}

// environment checks that existing variables stay and new ones have a reason.
func (w watcher) environment() {
	quiet := map[string]string{}
	for _, v := range quietVariables {
		quiet[v[0]] = v[1]
	}
	old, now := w.old.Environment(), w.now.Environment()
	for _, pair := range now {
		name, v, _ := strings.Cut(pair, "=")
		was, had := lookup(old, name, false)
		switch {
		case had && was == v, quiet[name] == v && !had, had && thisMachine.ReplaceAllString(was, "HERE") == thisMachine.ReplaceAllString(v, "HERE"):
		case name == "PATH":
			dirs := filepath.SplitList(v)
			if rest := strings.Join(dirs[1:], string(filepath.ListSeparator)); rest != was && len(dirs) != len(filepath.SplitList(was)) || !w.installed(dirs[0]) {
				w.bad("a strange folder on PATH: %s", v)
			}
		case loads(name):
			w.bad("sets %s", name)
		case had && was != "" && len(references(was)) == 0 && !strings.HasSuffix(name, "PORT"):
			w.bad("changes %s", name)
		case !w.due(name, v, was):
			w.bad("gives the server a value that is not its own: %s", name)
		}
	}
	for _, pair := range old {
		if name, _, _ := strings.Cut(pair, "="); !slices.ContainsFunc(now, func(p string) bool { return strings.HasPrefix(p, name+"=") }) {
			w.bad("drops %s", name)
		}
	}
}

// due reports whether the server was already given a value, in its environment or its arguments, or
// whether a file in the directory of its program has it.
func (w watcher) due(name, v, was string) bool {
	line := strings.Join(append(w.old.Args, w.old.Command), " ")
	if strings.Contains(line, v) || slices.ContainsFunc(w.old.Environment(), func(pair string) bool { return strings.HasSuffix(pair, "="+v) }) {
		return true
	}
	if filled := expand(was, w.given); was != "" && filled == v {
		return true
	}
	dir := cmp.Or(w.old.Dir, w.f.Dir)
	if len(w.old.Args) == 0 || !isFile(filepath.Join(dir, w.old.Args[0])) {
		return false
	}
	env, _ := readSmall(filepath.Join(dir, ".env"))
	compose, _ := readSmall(filepath.Join(dir, "compose.yaml"))
	return strings.Contains(string(env), "="+v) || strings.HasSuffix(name, "PORT") && strings.Contains(string(compose), v)
}

// The test above is useful only if it notices violations.
func TestTheRulesAreWatched(t *testing.T) {
	f := newFakeMachine(t)
	f.env["STRIPE_SECRET_KEY"], f.env["GITHUB_TOKEN"], f.env["WEATHER_HOST"] = canary, canary, "api.example"
	f.file("home/me/project/.env", "WEATHER_KEY="+canary)
	evil := f.file("home/me/.local/bin/evil", "")
	elsewhere := f.file("elsewhere/npx", "")
	venv := f.file("elsewhere/.venv/bin/python", "Python 3.12.0")
	stdio := launch.Spec{Command: "npx", Args: []string{"weather"}, Env: []string{"PATH=/given", "MODE=a"}}
	python := launch.Spec{Command: "python3", Args: []string{f.file("home/me/project/server.py", "")}, Env: []string{"PATH=/given"}}
	docker := launch.Spec{Command: "docker", Args: []string{"run", "-i", "--rm", "weather/github"}, Env: []string{"PATH=/given"}}
	web := launch.Spec{URL: "https://example.com/mcp", Env: []string{"PATH=/given"}}
	word := func(i int, text string) func(*launch.Spec) { return func(s *launch.Spec) { s.Args[i] = text } }
	insert := func(i int, words ...string) func(*launch.Spec) {
		return func(s *launch.Spec) { s.Args = slices.Insert(s.Args, i, words...) }
	}
	give := func(pairs ...string) func(*launch.Spec) {
		return func(s *launch.Spec) { s.Env = append(s.Env, pairs...) }
	}
	run := func(command string) func(*launch.Spec) { return func(s *launch.Spec) { s.Command = command } }
	for name, c := range map[string]struct {
		spec launch.Spec
		do   func(*launch.Spec)
	}{
		"runner":                   {stdio, run("bunx")},
		"a file of another name":   {stdio, run(evil)},
		"a file from elsewhere":    {stdio, run(elsewhere)},
		"another project's python": {python, run(venv)},
		"package":                  {stdio, word(0, "weather2")},
		"version":                  {stdio, word(0, "weather@latest")},
		"yes":                      {stdio, insert(0, "-y")},
		"another argument":         {stdio, insert(1, "--allow-all")},
		"an argument less":         {stdio, func(s *launch.Spec) { s.Args = nil }},
		"script":                   {python, word(0, f.file("home/me/project/other.py", ""))},
		"python from elsewhere":    {launch.Spec{Command: "uvx", Args: []string{"pkg"}}, insert(0, "--python", venv)},
		"folder":                   {stdio, func(s *launch.Spec) { s.Dir = f.path("elsewhere") }},
		"image":                    {docker, word(3, "weather/other")},
		"privileged":               {docker, insert(1, "--privileged")},
		"volume":                   {docker, insert(1, "-v", "/:/host")},
		"network":                  {docker, insert(1, "--network=host")},
		"host":                     {docker, insert(1, "--add-host=api.example:10.0.0.1")},
		"entrypoint":               {docker, insert(1, "--entrypoint=sh")},
		"key into a container": {docker, func(s *launch.Spec) {
			insert(1, "-e", "GITHUB_TOKEN")(s)
			give("GITHUB_TOKEN=" + canary)(s)
		}},
		"address into a container": {docker, func(s *launch.Spec) {
			insert(1, "-e", "WEATHER_HOST")(s)
			give("WEATHER_HOST=api.example")(s)
		}},
		"key for docker itself":     {docker, give("GITHUB_TOKEN=" + canary)},
		"secret":                    {stdio, insert(1, "--key="+canary)},
		"key of another service":    {stdio, give("STRIPE_SECRET_KEY=" + canary)},
		"any value of our own":      {stdio, give("WEATHER_MODE=" + "fast")},
		"a folder of ours":          {launch.Spec{Command: "npx", Args: []string{"${workspaceFolder}"}}, word(0, f.Dir)},
		"key of the user's project": {stdio, give("WEATHER_KEY=" + canary)},
		"address":                   {stdio, give("WEATHER_HOST=api.example")},
		"endpoint":                  {stdio, give("WEATHER_API_ENDPOINT=https://api.example")},
		"setting":                   {stdio, func(s *launch.Spec) { s.Env[1] = "MODE=b" }},
		"a stray value":             {stdio, give("ANYTHING=" + stray)},
		"a stray command":           {launch.Spec{Command: "${RUNNER}"}, run("/x/" + stray)},
		"a stray package":           {launch.Spec{Command: "npx", Args: []string{"${PKG}"}}, word(0, stray)},
		"a command filled in":       {launch.Spec{Command: "${RUNNER}"}, run(evil)},
		"a package filled in":       {launch.Spec{Command: "npx", Args: []string{"${PKG}"}}, word(0, "weather")},
		"an image filled in":        {launch.Spec{Command: "docker", Args: []string{"run", "-i", "${IMAGE}"}}, word(2, "weather")},
		"loader":                    {stdio, give("NODE_OPTIONS=--require=x")},
		"registry":                  {stdio, give("npm_config_registry=x")},
		"tls":                       {stdio, give("NODE_TLS_REJECT_UNAUTHORIZED=0")},
		"proxy":                     {stdio, give("HTTPS_PROXY=x")},
		"path":                      {stdio, func(s *launch.Spec) { s.Env[0] = "PATH=/elsewhere:/given" }},
		"path of our own":           {stdio, func(s *launch.Spec) { s.Env[0] = "PATH=" + filepath.Dir(elsewhere) + ":/given" }},
		"dropped":                   {stdio, func(s *launch.Spec) { s.Env = []string{} }},
		"a URL for a command":       {stdio, func(s *launch.Spec) { s.Command, s.Args, s.URL = "", nil, "https://example.org/mcp" }},
		"scheme":                    {web, func(s *launch.Spec) { s.URL = "http://example.com/mcp" }},
		"other host":                {web, func(s *launch.Spec) { s.URL = "https://example.org/mcp" }},
		"port":                      {web, func(s *launch.Spec) { s.URL = "https://example.com:8443/mcp" }},
		"query":                     {web, func(s *launch.Spec) { s.URL += "?key=" + canary }},
		"header":                    {web, func(s *launch.Spec) { s.Header = []launch.Header{{Name: "Authorization", Value: "x"}} }},
	} {
		now, seen := deepCopy(c.spec), 0
		c.do(&now)
		if runtimeOnly(func(string, ...any) { seen++ }, f, c.spec, now); seen == 0 {
			t.Errorf("%s was not seen", name)
		}
		seen = 0
		if runtimeOnly(func(string, ...any) { seen++ }, f, c.spec, deepCopy(c.spec)); seen != 0 {
			t.Errorf("%s: nothing was changed, and something was seen", name)
		}
	}
}

func count(words []string, word string) (n int) {
	for _, w := range words {
		if w == word {
			n++
		}
	}
	return n
}

func deepCopy(s launch.Spec) launch.Spec {
	s.Args, s.Env, s.Header = slices.Clone(s.Args), slices.Clone(s.Env), slices.Clone(s.Header)
	return s
}

// scribble overwrites everything in a Spec.
func scribble(s *launch.Spec) {
	for i := range s.Args {
		s.Args[i] = "scribbled"
	}
	for i := range s.Env {
		s.Env[i] = "SCRIBBLED=1"
	}
	for i := range s.Header {
		s.Header[i].Value = "scribbled"
	}
}
