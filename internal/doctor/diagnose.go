package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// cause is one way of failing: how it is called and recognised, and its words.
type cause struct {
	name     string
	category Category
	explain  string // template, see fill
	fix      string // template, one line; see advised for what may be in it. Models read it
	command  string // template of a command for the fix that only a person is shown, see Diagnosis
	instead  []advice
	clues    []clue
	hides    []string // causes that are only consequences of this one
}

// advice is what is said instead where a cause calls for another step. Without
// an explanation, that of the cause stays.
type advice struct {
	when    func(x *exam, m *match) bool
	explain string
	fix     string
	command string
}

// Where another step is the right one.
func atURL(x *exam, _ *match) bool   { return x.URL != "" }
func live(x *exam, _ *match) bool    { return x.Live }
func liveURL(x *exam, _ *match) bool { return x.Live && x.URL != "" }

// clue is one sign of a cause. With a pattern, when decides about each match;
// without one it looks at the numbers, and fills in the match itself.
type clue struct {
	sure float64
	says string
	when func(x *exam, m *match) bool
}

// How sure a clue makes. Below doubt nothing is named.
const (
	certain = 0.95 // the tool says just that
	strong  = 0.85
	likely  = 0.7
	guess   = 0.5
	faint   = 0.4 // words that point somewhere, see faintClues
	doubt   = 0.35
)

// causes is the table, in the order in which equals are ranked: what stands in
// the way first comes first. It is there once knowledge was asked for.
var causes []cause

// table is the causes with their patterns compiled.
type table struct {
	finder   finder
	patterns [][]*pattern // by cause and clue
	facts    []*pattern   // of numbers in a log
}

// knowledge is built when the first case comes: most runs of Gauze have none.
var knowledge = sync.OnceValue(func() *table {
	causes = slices.Concat(configCauses(), spawnCauses(), packageCauses(), runtimeCauses(), dependencyCauses(), fileCauses(), environmentCauses(),
		tlsCauses(), portCauses(), authCauses(), sessionCauses(), limitCauses(), schemaCauses(), stdoutCauses(), protocolCauses(), endpointCauses(), networkCauses(),
		timeoutCauses(), crashCauses())
	for _, more := range []map[string][]clue{libraryClues(), languageClues(), faintClues()} {
		for i := range causes {
			causes[i].clues = append(causes[i].clues, more[causes[i].name]...)
		}
	}
	t := &table{}
	for _, c := range causes {
		patterns := make([]*pattern, len(c.clues))
		for i, clue := range c.clues {
			if clue.says != "" {
				patterns[i] = newPattern(clue.says, &t.finder)
			}
		}
		t.patterns = append(t.patterns, patterns)
	}
	for _, f := range facts {
		t.facts = append(t.facts, newPattern(f.says, &t.finder))
	}
	t.finder.build()
	return t
})

// exam is a case while it is examined.
type exam struct {
	Case
	page
	line string // the command as one line
}

// finding is a cause that has something for it.
type finding struct {
	cause  *cause
	order  int
	sure   float64
	match  *match
	hidden bool
}

// Diagnose names the cause of a failure. It depends on nothing but the case.
func Diagnose(c Case) Diagnosis {
	x := &exam{Case: c, line: strings.Join(c.Command, " ")}
	x.text = c.words()
	x.hits = knowledge().finder.find(x.text)
	found := x.findings()
	if len(found) == 0 || found[0].sure < doubt {
		return x.unknown()
	}
	// What we saw ourselves at a URL says more than a word that only points somewhere.
	if d := x.unknown(); found[0].sure <= faint && c.URL != "" && d.Cause == serverError {
		return d
	}
	d := x.tell(found[0])
	for _, other := range found[1:] {
		if len(d.Others) < 3 && !slices.ContainsFunc(d.Others, func(o Diagnosis) bool { return o.Cause == other.cause.name }) && other.cause.name != d.Cause {
			d.Others = append(d.Others, x.tell(other))
		}
	}
	return d
}

// words are everything the case holds in words, what it says itself first.
func (c *Case) words() string {
	var parts []string
	for _, part := range []string{c.Log, c.Stderr, c.Stdout} {
		if part != "" {
			parts = append(parts, legible(part))
		}
	}
	for _, answer := range c.HTTP {
		if c.Live && c.URL != "" && answer.Status >= 500 {
			continue // what breaks inside of a server is for those who run it
		}
		if answer.Body != "" {
			parts = append(parts, legible(answer.Body))
		}
	}
	for _, e := range c.RPC {
		if e.Said == "" && e.Message != "" {
			parts = append(parts, legible(e.Message))
		}
	}
	return strings.Join(parts, "\n")
}

// findings are all causes with a clue, best first, consequences last.
func (x *exam) findings() []finding {
	var found []finding
	for n := range causes {
		if c := &causes[n]; x.URL != "" && (x.ofAProgram(c) || x.Live && x.status(&match{}, 401) && x.aboutOurKey(c)) {
			continue
		}
		if f, ok := x.consider(n); ok {
			found = append(found, f)
		}
	}
	for _, f := range found {
		if f.sure < guess {
			continue
		}
		for i := range found {
			if slices.Contains(f.cause.hides, found[i].cause.name) || slices.Contains(f.cause.hides, string(found[i].cause.category)) && found[i].cause.category != f.cause.category {
				found[i].hidden = true
			}
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int {
		if a.hidden != b.hidden {
			if a.hidden {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(b.sure, a.sure), cmp.Compare(a.order, b.order))
	})
	return found
}

// ofAProgram tells whether a cause is about a program that is started here. A
// server behind a URL gets neither our environment nor our files: what its
// answers say about such things is about its own, or a lie. A log may be that
// of the server itself, but not even then does an entry with a URL give it
// variables or pipes.
func (x *exam) ofAProgram(c *cause) bool {
	switch c.name {
	case "env_placeholder_not_expanded", "wrong_service_on_port", "too_many_tools":
		return false
	case "http_server_run_as_stdio", "stdin_not_connected":
		return true
	case "package_registry_login", "stale_registry_login", "db_grant_missing", "cloud_credentials_not_in_container", "docker_daemon_down", "container_localhost", "registry_unreachable", "git_fetch_failed", "npx_stdin_deadlock":
		return x.Live
	}
	switch c.category {
	case MissingEnvVar, StdoutPollution:
		return true
	case CommandNotFound, PermissionDenied, PackageNotFound, RuntimeTooOld, DependencyMissing, Crashed, PortInUse, ResourceExhausted, PathNotFound, ConfigMalformed:
		return x.Live
	}
	return false
}

// consider looks for the best clue of one cause.
func (x *exam) consider(n int) (best finding, ok bool) {
	c := &causes[n]
	for i, clue := range c.clues {
		if clue.sure <= best.sure {
			continue
		}
		var m *match
		if p := knowledge().patterns[n][i]; p != nil {
			m = x.find(p, func(m *match) bool { return (clue.when == nil || clue.when(x, m)) && !allIsWell(m) })
		} else if trial := (&match{names: map[string]string{}}); clue.when(x, trial) {
			m = trial
		}
		if m != nil {
			best, ok = finding{cause: c, order: n, sure: clue.sure, match: m}, true
		}
	}
	return best, ok
}

// tell puts a finding into words.
func (x *exam) tell(f finding) Diagnosis {
	explain, fix, command := f.cause.explain, f.cause.fix, f.cause.command
	for _, other := range f.cause.instead {
		if other.when(x, f.match) {
			explain, fix, command = cmp.Or(other.explain, explain), other.fix, other.command
			break
		}
	}
	d := Diagnosis{
		Category: f.cause.category, Cause: f.cause.name, Confidence: f.sure, Reasons: []string{},
		Explanation: fill(explain, func(key string) string { return x.name(key, f.match) }),
		Fix:         fill(fix, func(key string) string { return x.advised(key, f.match) }),
		Command:     fill(command, func(key string) string { return x.advised(key, f.match) }),
	}
	if text := reason(x.Secrets, f.match); text != "" {
		d.Reasons = append(d.Reasons, text)
	}
	return d
}

// unknown is the honest answer. What was seen is said, because "the connection
// closed" is at least not "the command was not found".
func (x *exam) unknown() Diagnosis {
	d := Diagnosis{Category: Unknown, Cause: noEvidence, Confidence: 0.1, Reasons: []string{}}
	d.Explanation = "Nothing in the evidence says why the server failed: it has no words that are known here."
	if strings.TrimSpace(x.text) == "" {
		d.Explanation = "The evidence does not say why the server failed: neither what it wrote to stderr nor how it ended is in it."
	}
	d.Fix = "Run it under gauze, which keeps both: gauze test -- " + cmp.Or(x.typed(), "COMMAND")
	if address := x.address(); address != "" && x.remote() && !x.bridge() {
		d.Explanation = "The evidence does not say why the server failed: its answer is not in it."
		if len(x.HTTP) > 0 {
			d.Explanation = fmt.Sprintf("The evidence does not say why the server failed, only that it answered %d.", x.HTTP[0].Status)
		}
		d.Fix = "Let gauze ask the server itself: gauze test --url " + cmp.Or(x.advised("url", &match{}), "URL")
	}
	x.seen(&d)
	if m := x.find(knowledge().facts[len(facts)-1], nil); m != nil {
		d.Reasons = append(d.Reasons, reason(x.Secrets, m))
	}
	return d
}

// The causes of troubles of which only the outside is known.
const (
	noAnswer    = "no_answer"
	justEnded   = "ended_without_reason"
	serverError = "server_error"
	noEvidence  = "evidence_missing_stderr"
)

// nameless tells whether the cause is not known.
func (d Diagnosis) nameless() bool {
	return d.Category == Unknown || d.Cause == noAnswer || d.Cause == justEnded || d.Cause == serverError
}

// seen says what we saw ourselves where no cause is known: what gauze can see
// is in the case by then, and gauze is not the next step.
func (x *exam) seen(d *Diagnosis) {
	failed := x.ownFault()
	switch {
	case failed != "" && (x.Live || x.URL != ""):
		d.Category, d.Cause, d.Confidence = Crashed, serverError, guess
		d.Explanation = "The server answered " + failed + ": it failed on its own side, and does not say why."
		d.Fix = "Nothing on your side is wrong: tell who runs the server, or see its own log of this moment if that is you."
		d.Reasons = append(d.Reasons, failed)
	case !x.Live:
	case x.Limit.Passed && x.Stage >= Started:
		d.Category, d.Cause, d.Confidence = Timeout, noAnswer, guess
		d.Explanation = "The server started and runs, but it did not answer within " + x.Limit.After.Round(time.Second).String() + ", and nothing it wrote says why."
		d.Fix = "Check that it is started as an MCP server over stdin and stdout (some need an argument for that); if it is only slow, give it longer: --start-timeout 3m in a wrap, --timeout 3m in a test"
		if x.URL != "" {
			d.Explanation = "The server took the connection, but it did not answer within " + x.Limit.After.Round(time.Second).String() + "."
			d.Fix = "Try again later; if it is only slow, give it longer: --start-timeout 3m in a wrap, --timeout 3m in a test"
		}
	case x.Exit.Known && x.Stage >= Started:
		d.Category, d.Cause, d.Confidence = Crashed, justEnded, guess
		d.Explanation = "The server ended (" + shown(x.Secrets, x.Exit.Said) + ") before it answered, and nothing it wrote says why."
		d.Fix = "Start it in a terminal, with its option for verbose output if it has one: " + cmp.Or(x.typed(), "COMMAND")
		d.Reasons = append(d.Reasons, shown(x.Secrets, x.Exit.Said))
	case x.Stage < Started && x.URL == "":
		d.Explanation = "The server could not be started, and the system does not say why."
		d.Fix = "Start it in a terminal and see what it says: " + cmp.Or(x.typed(), "COMMAND")
	case x.URL != "":
		d.Explanation = "The server was asked, and nothing in its answers says why they are of no use."
		d.Fix = "Check in its documentation that this is the address for MCP clients, and whether it wants a key."
	default:
		d.Explanation = "The server was started, and nothing it wrote or did says why it is of no use."
		d.Fix = "Start it in a terminal and see what it says: " + cmp.Or(x.typed(), "COMMAND")
	}
}

// ownFault is the answer by which a server says that it failed itself.
func (x *exam) ownFault() string {
	for _, answer := range x.HTTP {
		if answer.Status >= 500 {
			return fmt.Sprintf("HTTP %d", answer.Status)
		}
	}
	if x.URL != "" && x.rpc(&match{}, -32603) {
		return "-32603 (internal error)"
	}
	return ""
}
