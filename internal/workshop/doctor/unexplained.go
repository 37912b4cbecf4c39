package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The names of unexplained.
const (
	noAnswer       = "no_answer"
	exitedSilently = "ended_without_reason"
	serverError    = "server_error"
	noEvidence     = "evidence_missing_stderr"
)

// unexplained are the causes of failures whose reason is not known. No clue leads to them; their
// texts are those of the catalogue, see unknown for those of a case.
var unexplained = []cause{
	{
		name: noAnswer, category: Timeout, passes: true,
		explain: "The server started but did not respond in time, and its output does not show why.",
		fix: "Check that the server is started in stdio mode; some servers require an argument for this. If it is only " +
			"slow, raise the timeout: `gauze test --timeout 3m -- COMMAND`",
		remedies: append(slices.Clone(obvious), installModules, composePort, dependencies),
	},
	{
		name: exitedSilently, category: Crashed, passes: true,
		explain: "The server exited before it responded, and its output does not show why.",
		fix:     "Start the server in a terminal, with verbose output if the server has an option for it.",
	},
	{
		name: serverError, category: Crashed, passes: true,
		explain: "The server returned an internal error, such as HTTP 500, without reporting a reason.",
		fix:     "Nothing is wrong on your side. Report this to the server's operator, or check the server's log if you run it.",
	},
	{
		name: noEvidence, category: Unknown, passes: true,
		explain: "The evidence does not show why the server failed.",
		fix:     "To see the server's output and exit status, test it: `gauze test -- COMMAND`",
	},
}

// obvious are the remedies for mistakes that are visible in a Spec without any evidence.
var obvious = []remedy{splitLine, commandToURL, expandTilde, fillIn, keepStdin}

// Unexplained reports whether the reason of the failure is not known.
func (d Diagnosis) Unexplained() bool {
	return d.Category == Unknown || d.Cause == noAnswer || d.Cause == exitedSilently || d.Cause == serverError
}

// unknown returns the diagnosis for a case without a known cause. It says what is known nevertheless.
func (x *exam) unknown() Diagnosis {
	d := Diagnosis{Category: Unknown, Cause: noEvidence, Confidence: 0.1, Reasons: []string{}}
	known, lines := x.symptoms()
	switch {
	case known != "":
		d.Explanation = known + " The evidence does not show why; the server's stderr and exit status usually do."
	case strings.TrimSpace(x.text) != "":
		d.Explanation = "The evidence does not show why the server failed: it does not match any known cause."
	default:
		d.Explanation = "The evidence does not show why the server failed: it contains neither the server's stderr nor its exit status."
	}
	d.Fix = "To see the server's output and exit status, test it: `gauze test -- " + cmp.Or(x.typed(), "COMMAND") + "`"
	if address := x.cmd.address(); address != "" && x.cmd.remote() && !x.cmd.bridge() {
		d.Explanation = "The evidence does not show why the server failed: it does not contain the server's response."
		if known != "" {
			d.Explanation = known + " The evidence does not show why; the server's response or its log usually does."
		}
		if len(x.HTTP) > 0 {
			d.Explanation = fmt.Sprintf("The evidence does not show why the server failed, only that it returned %d.", x.HTTP[0].Status)
		}
		d.Fix = "To see the server's response, test the connection: `gauze test --url " + cmp.Or(x.advised("url", &match{}), "URL") + "`"
	}
	x.seen(&d)
	d.Reasons = append(d.Reasons, lines...)
	return d
}

// seen describes what gauze itself saw of a failure without a known cause. Running gauze again would
// not show more, so it is not the next step.
func (x *exam) seen(d *Diagnosis) {
	failed := x.ownFault()
	switch {
	case failed != "" && (x.Live || x.URL != ""):
		d.Category, d.Cause, d.Confidence = Crashed, serverError, guess
		d.Explanation = "The server returned " + failed + ": it failed without reporting a reason."
		d.Fix = "Nothing is wrong on your side. Report this to the server's operator, or check the server's log if you run it."
		d.Reasons = append(d.Reasons, failed)
	case !x.Live:
	case x.Limit.Passed && x.Stage >= Started:
		d.Category, d.Cause, d.Confidence = Timeout, noAnswer, guess
		d.Explanation = "The server started, but it did not respond within " + x.Limit.After.Round(time.Second).String() +
			", and its output does not show why."
		d.Fix = "Check that the server is started in stdio mode (some servers require an argument for this). If it is only " +
			"slow, raise the timeout with `--start-timeout 3m` (or `--timeout 3m` in a test)."
		if x.Limit.Waiting == "tools/list" {
			d.Explanation = "The server answered initialize, but not tools/list within " + x.Limit.After.Round(time.Second).String() + "."
			d.Fix = "Check what the server does before it can list its tools: it may be waiting for a service or for a login. " +
				"If it is only slow, raise the timeout with `--start-timeout 3m` (or `--timeout 3m` in a test)."
		} else if x.URL != "" {
			d.Explanation = "The server accepted the connection but did not respond within " + x.Limit.After.Round(time.Second).String() + "."
			d.Fix = "Try again later. If the server is only slow, raise the timeout with `--start-timeout 3m` (or `--timeout 3m` in a test)."
		}
	case x.Exit.Known && x.Stage >= Started:
		d.Category, d.Cause, d.Confidence = Crashed, exitedSilently, guess
		d.Explanation = "The server exited (" + shown(x.Secrets, x.Exit.Said) + ") before it responded, and its output does not show why."
		d.Fix = "Start the server in a terminal, with verbose output if the server has an option for it: `" + cmp.Or(x.typed(), "COMMAND") + "`"
		d.Reasons = append(d.Reasons, shown(x.Secrets, x.Exit.Said))
		if x.Exit.Code == 0 && x.Exit.Signal == "" && x.URL == "" {
			d.Explanation = "The program ended without an error (exit status 0) before it responded: it did not stay to serve a client."
			d.Fix = "Check that the command starts a server on stdin and stdout: some programs require an argument for that, and a script must call the function that runs the server. " + d.Fix
		}
	case x.Stage < Started && x.URL == "":
		d.Explanation = "The server could not be started, and the operating system did not report a reason."
		d.Fix = "Start the server in a terminal to see its output: `" + cmp.Or(x.typed(), "COMMAND") + "`"
	case x.URL != "":
		d.Explanation = "The server responded, but not as an MCP server, and its responses do not show why."
		d.Fix = "Check in the server's documentation whether this is the address for MCP clients, and whether it requires a key."
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

// symptom is what a client says about a failure whose cause it does not know. It does not point to a
// cause, because every cause has it, but something is known then.
type symptom struct {
	expr  string
	known string
	atURL string // instead of known, for a server behind a URL
}

// symptoms are in the order of how much they say.
var symptoms = []symptom{
	connectionLost: {
		expr: `(?i)(?:connection|client|transport|server(?: transport)?|session|stream|pipe) (?:(?:was|is|has been|got|` +
			`unexpectedly) )*(?:closed?|disconnected|lost)\b|` +
			`exited before responding|process exited|connection reset|broken pipe|\b(?:Closed|Broken)ResourceError\b`,
		known: "The client lost its connection to the server: the server's process exited or closed its output.",
		atURL: "The client lost its connection to the server: the server, or a proxy in front of it, closed the connection.",
	},
	{
		expr:  `(?i)(?:failed to|could not) (?:start|initialize)`,
		known: "The client could not start the server, or could not parse its first response.",
	},
	{
		expr:  `(?i)request timed out`,
		known: "The client did not get a response in time.",
	},
	{
		expr:  `(?i)failed to (?:re)?connect|could not connect|couldn't reach|not connected`,
		known: "The client is not connected to the server.",
	},
	errorGroup: {
		expr:  `(?i)unhandled errors in a TaskGroup`,
		known: "The TaskGroup message only wraps the real error, which appears further down in a complete traceback.",
	},
}

// Positions in symptoms.
const (
	connectionLost = 0
	errorGroup     = 4
)

// maxSymptoms limits the lines that are quoted.
const maxSymptoms = 3

// shows reports whether the text has a symptom.
func (x *exam) shows(symptom int) bool { return x.find(x.table.symptoms[symptom], nil) != nil }

// symptoms returns what is known from the symptoms in the text, and the lines that have them.
func (x *exam) symptoms() (known string, lines []string) {
	for i, s := range symptoms {
		found := false
		x.find(x.table.symptoms[i], func(m *match) bool {
			found = true
			if line := x.reason(m); !slices.Contains(lines, line) && len(lines) < maxSymptoms {
				lines = append(lines, line)
			}
			return false // collect all of them
		})
		switch {
		case !found:
		case known == "" && x.cmd.remote() && s.atURL != "":
			known = s.atURL
		case known == "":
			known = s.known
		case i == errorGroup:
			known += " " + s.known
		}
	}
	return known, lines
}
