package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// cause is one way to fail: its name, how it is recognised, and what is said about it.
type cause struct {
	name     string
	category Category
	passes   bool   // it can end without a change: trying again may help
	explain  string // template, see fill
	fix      string // template; see advised for the names it may use. Models read it
	command  string // template of a command for the fix that is shown only to people, see Diagnosis
	instead  []advice
	clues    []clue
	hides    []string // causes and categories that are only consequences of this one
}

// advice replaces a cause's fix, and its explanation unless that is empty, where when holds.
type advice struct {
	when    func(x *exam, m *match) bool
	explain string
	fix     string
	command string
}

// Conditions of advice.
func atURL(x *exam, _ *match) bool   { return x.URL != "" }
func live(x *exam, _ *match) bool    { return x.Live }
func liveURL(x *exam, _ *match) bool { return x.Live && x.URL != "" }

// clue is evidence for a cause. With a pattern, when decides about each match; without one, when
// examines the numbers of the case and fills in the match.
type clue struct {
	confidence float64
	expr       string
	when       func(x *exam, m *match) bool
}

// The confidence that a clue gives. A cause below doubt is not reported.
const (
	certain = 0.95 // the tool says exactly this
	strong  = 0.85
	likely  = 0.7
	guess   = 0.5
	faint   = 0.4 // words that only suggest a cause, see faintClues
	doubt   = 0.35
)

// causes is the table of causes, in the order in which equals are ranked: the earliest obstacle
// first. knowledge fills it.
var causes []cause

// table is the causes with their patterns compiled.
type table struct {
	finder   finder
	patterns [][]*pattern // by cause and clue
	facts    []*pattern   // for numbers in a log
	symptoms []*pattern
}

// knowledge returns the table. It is built for the first case: most runs of Gauze have none.
var knowledge = sync.OnceValue(func() *table {
	causes = slices.Concat(
		entryCauses(), observedCauses(), configCauses(), spawnCauses(), packageCauses(), runtimeCauses(), dependencyCauses(), fileCauses(), environmentCauses(),
		tlsCauses(), portCauses(), authCauses(), sessionCauses(), limitCauses(), schemaCauses(), stdoutCauses(), protocolCauses(), endpointCauses(), networkCauses(),
		timeoutCauses(), crashCauses())
	for _, more := range []map[string][]clue{libraryClues(), languageClues(), entryClues(), schemaClues(), oauthClues(), clientClues(), argumentClues(), demandClues(), streamClues(), frameworkClues(), numberClues(), callClues(), pastedClues(), sentenceClues(), observedClues(), faintClues()} {
		for i := range causes {
			causes[i].clues = append(causes[i].clues, more[causes[i].name]...)
		}
	}
	t := &table{}
	for _, c := range causes {
		patterns := make([]*pattern, len(c.clues))
		for i, clue := range c.clues {
			if clue.expr != "" {
				patterns[i] = newPattern(clue.expr, &t.finder)
			}
		}
		t.patterns = append(t.patterns, patterns)
	}
	for _, f := range facts {
		t.facts = append(t.facts, newPattern(f.expr, &t.finder))
	}
	for _, s := range symptoms {
		t.symptoms = append(t.symptoms, newPattern(s.expr, &t.finder))
	}
	t.finder.build()
	return t
})

// exam is a case while it is examined.
type exam struct {
	Case
	page
	line  string // the command as one line
	table *table
}

func newExam(c Case) *exam {
	x := &exam{Case: c, line: strings.Join(c.Command, " "), table: knowledge()}
	x.text = c.words()
	x.hits = x.table.finder.find(x.text)
	return x
}

// finding is a cause with its best clue.
type finding struct {
	cause      *cause
	order      int
	confidence float64
	match      *match
	hidden     bool
}

// Diagnose returns the cause of a failure. It depends only on the case.
func Diagnose(c Case) Diagnosis {
	x := newExam(c)
	found := x.findings()
	if len(found) == 0 || found[0].confidence < doubt {
		return x.unknown()
	}
	// A response that gauze saw itself outweighs words that only suggest a cause.
	if d := x.unknown(); found[0].confidence <= faint && c.URL != "" && d.Cause == serverError {
		return d
	}
	d := x.tell(found[0])
	for _, other := range found[1:] {
		if other.confidence <= faint && !d.Tentative() {
			continue // words that only suggest a cause add nothing to one that is likely
		}
		if !other.hidden && len(d.Others) < 3 && !slices.ContainsFunc(d.Others, func(o Diagnosis) bool { return o.Cause == other.cause.name }) && other.cause.name != d.Cause {
			d.Others = append(d.Others, x.tell(other))
		}
	}
	return d
}

// words returns all text of the case, the most direct first.
func (c *Case) words() string {
	var parts []string
	for _, part := range []string{c.Log, c.Stderr, c.Stdout} {
		if part != "" {
			parts = append(parts, legible(part))
		}
	}
	for _, answer := range c.HTTP {
		if c.Live && c.URL != "" && answer.Status >= 500 {
			continue // an internal error concerns the server's operator
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

// findings returns all causes with a clue, best first, consequences last.
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
		if f.confidence < guess {
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
		return cmp.Or(cmp.Compare(b.confidence, a.confidence), cmp.Compare(a.order, b.order))
	})
	return found
}

// ofAProgram reports whether a cause is about a program that runs on this machine. A server behind a
// URL gets neither our environment nor our files: what its responses say about these concerns its
// own, or is false. A log may be the server's own, but even then an entry with a URL gives it neither
// variables nor pipes.
func (x *exam) ofAProgram(c *cause) bool {
	switch c.name {
	case "env_placeholder_not_expanded", "wrong_service_on_port", "too_many_tools":
		return false
	case "http_server_run_as_stdio", "stdin_not_connected":
		return true
	case "package_registry_login", "stale_registry_login", "db_grant_missing", "cloud_credentials_not_in_container", "docker_daemon_down", "container_localhost", "registry_unreachable", "git_fetch_failed", "npx_stdin_deadlock", "stdio_server_called_over_http":
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

// consider returns the best clue of one cause.
func (x *exam) consider(n int) (best finding, ok bool) {
	c := &causes[n]
	for i, clue := range c.clues {
		if clue.confidence <= best.confidence {
			continue
		}
		var m *match
		if p := knowledge().patterns[n][i]; p != nil {
			m = x.find(p, func(m *match) bool { return (clue.when == nil || clue.when(x, m)) && !allIsWell(m) })
		} else if trial := (&match{names: map[string]string{}}); clue.when(x, trial) {
			m = trial
		}
		if m != nil {
			best, ok = finding{cause: c, order: n, confidence: clue.confidence, match: m}, true
		}
	}
	return best, ok
}

// tell returns a finding as a diagnosis.
func (x *exam) tell(f finding) Diagnosis {
	explain, fix, command := f.cause.explain, f.cause.fix, f.cause.command
	for _, other := range f.cause.instead {
		if other.when(x, f.match) {
			explain, fix, command = cmp.Or(other.explain, explain), other.fix, other.command
			break
		}
	}
	d := Diagnosis{
		Category: f.cause.category, Cause: f.cause.name, Confidence: f.confidence, Reasons: []string{},
		Explanation: fill(explain, func(key string) string { return x.name(key, f.match) }),
		Fix:         fill(fix, func(key string) string { return x.advised(key, f.match) }),
		Command:     fill(command, func(key string) string { return x.advised(key, f.match) }),
	}
	if d.Category == MissingEnvVar {
		d.variables = x.listed(f.match)
	}
	if text := x.reason(f.match); text != "" {
		d.Reasons = append(d.Reasons, text)
	}
	return d
}

// Variables returns the environment variables that are missing, as far as the evidence names them.
func (d Diagnosis) Variables() []string { return d.variables }

// unknown returns the diagnosis for a case without a known cause. It says what is known nevertheless.
func (x *exam) unknown() Diagnosis {
	d := Diagnosis{Category: Unknown, Cause: noEvidence, Confidence: 0.1, Reasons: []string{}}
	known, lines := x.symptoms()
	switch {
	case known != "":
		d.Explanation = known + " The evidence does not show why; the server's stderr and exit status usually do."
	case strings.TrimSpace(x.text) != "":
		d.Explanation = "The evidence does not show why the server failed: it matches no known cause."
	default:
		d.Explanation = "The evidence does not show why the server failed: it contains neither the server's stderr nor its exit status."
	}
	d.Fix = "Let gauze start the server and record its output and exit status: `gauze test -- " + cmp.Or(x.typed(), "COMMAND") + "`"
	if address := x.address(); address != "" && x.remote() && !x.bridge() {
		d.Explanation = "The evidence does not show why the server failed: it does not contain the server's response."
		if known != "" {
			d.Explanation = known + " The evidence does not show why; the server's response or its log usually does."
		}
		if len(x.HTTP) > 0 {
			d.Explanation = fmt.Sprintf("The evidence does not show why the server failed, only that it returned %d.", x.HTTP[0].Status)
		}
		d.Fix = "Let gauze connect to the server: `gauze test --url " + cmp.Or(x.advised("url", &match{}), "URL") + "`"
	}
	x.seen(&d)
	d.Reasons = append(d.Reasons, lines...)
	return d
}

// The causes of failures whose reason is not known.
const (
	noAnswer       = "no_answer"
	exitedSilently = "ended_without_reason"
	serverError    = "server_error"
	noEvidence     = "evidence_missing_stderr"
)

// unexplained reports whether the reason of the failure is not known.
func (d Diagnosis) unexplained() bool {
	return d.Category == Unknown || d.Cause == noAnswer || d.Cause == exitedSilently || d.Cause == serverError
}

// seen describes what gauze itself saw of a failure without a known cause. Running gauze again would
// not show more, so it is not the next step.
func (x *exam) seen(d *Diagnosis) {
	failed := x.ownFault()
	switch {
	case failed != "" && (x.Live || x.URL != ""):
		d.Category, d.Cause, d.Confidence = Crashed, serverError, guess
		d.Explanation = "The server returned " + failed + ": it failed without giving a reason."
		d.Fix = "Nothing is wrong on your side. Report this to the server's operator, or check the server's log if you run it."
		d.Reasons = append(d.Reasons, failed)
	case !x.Live:
	case x.Limit.Passed && x.Stage >= Started:
		d.Category, d.Cause, d.Confidence = Timeout, noAnswer, guess
		d.Explanation = "The server started, but it did not respond within " + x.Limit.After.Round(time.Second).String() + ", and its output does not show why."
		d.Fix = "Check that the server is started in stdio mode (some servers require an argument for this). If it is only slow, raise the timeout with `--start-timeout 3m` (or `--timeout 3m` in a test)."
		if x.URL != "" {
			d.Explanation = "The server accepted the connection but did not respond within " + x.Limit.After.Round(time.Second).String() + "."
			d.Fix = "Try again later. If the server is only slow, raise the timeout with `--start-timeout 3m` (or `--timeout 3m` in a test)."
		}
	case x.Exit.Known && x.Stage >= Started:
		d.Category, d.Cause, d.Confidence = Crashed, exitedSilently, guess
		d.Explanation = "The server exited (" + shown(x.Secrets, x.Exit.Said) + ") before it responded, and its output does not show why."
		d.Fix = "Start the server in a terminal, with verbose output if the server has an option for it: `" + cmp.Or(x.typed(), "COMMAND") + "`"
		d.Reasons = append(d.Reasons, shown(x.Secrets, x.Exit.Said))
	case x.Stage < Started && x.URL == "":
		d.Explanation = "The server could not be started, and the operating system gave no reason."
		d.Fix = "Start the server in a terminal to see its output: `" + cmp.Or(x.typed(), "COMMAND") + "`"
	case x.URL != "":
		d.Explanation = "The server responded, but not as an MCP server, and its responses do not show why."
		d.Fix = "Check the server's documentation: is this the address for MCP clients, and does it require a key?"
	default:
		d.Explanation = "The server started but does not work as an MCP server, and its output does not show why."
		d.Fix = "Start the server in a terminal to see its output: `" + cmp.Or(x.typed(), "COMMAND") + "`"
	}
}

// ownFault returns the response by which the server reported an error of its own, or "".
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
