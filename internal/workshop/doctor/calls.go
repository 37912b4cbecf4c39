package doctor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/disk/remembered"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// CallDoctor explains failed tool calls. Many servers connect lazily: they start without what they
// need, and only their calls fail.
type CallDoctor struct {
	Machine *Machine
	Log     CallLog // remembers failures for gauze doctor
}

// maxCallText is the length of the longest failure that is examined, in bytes. Longer text is the
// output of a tool.
const maxCallText = 2 << 10

// The search for the fix of a failed call ends after fixTimeout, and fixReserve before the response no
// longer waits: the cause is worth more than a fix that fits this machine.
const (
	fixTimeout = 2 * time.Second
	fixReserve = 500 * time.Millisecond
)

// callTrouble are words of texts that may be about what a server needs: a connection, a name, a
// certificate, a credential or a variable. They only keep everything else away from Diagnose.
var callTrouble = []string{
	"econn", "enotfound", "eai_", "etimedout", "unreach", "getaddrinfo", "refused", "no such host", "name resolution",
	"could not connect", "could not resolve",
	"certificate", "tls", "ssl", "x509", "unauthori", "unauthenticated", "401", "credential", "authenticat", "api key", "api-key",
	"apikey", "token", "password",
	"database", "environment", "_key", "_token", "_url", "_uri", "_host", "_secret", "_dsn",
}

// maxVagueLen is the length of the longest text that vague matches, in bytes.
const maxVagueLen = 100

// vague matches text of libraries that hide why a connection failed.
var vague = regex.New(`(?i)^\W*(?:(?:MCP error -32603|(?:\w+ ?)?error(?: executing tool \S+)?)\W+)*(?:|fetch failed|` +
	`(?:a )?(?:network|connection|connect|internal|aggregate) ?error|(?:connection|request) (?:failed|error)|terminated|` +
	`socket hang.up|all connection attempts failed)\W*$`)

// claimedFailure matches a result that claims success, but whose whole text is an HTTP 401.
var claimedFailure = regex.New(`(?i)^\W*(?:(?:error|failed|failure|request failed|api error|http(?: error|` +
	` status)?)\b[^\n]{0,60})?\b401\b[^\n]{0,120}$`)

// Suspects reports whether a failed call may have failed because of the server's setup. It is fast:
// the response waits for it.
//
// A server at a URL runs in a setup that is not the user's, so its failures are never suspect.
func (d *CallDoctor) Suspects(spec launch.Spec, f upstream.FailedCall) bool {
	switch {
	case spec.URL != "", len(f.Text) > maxCallText:
		return false
	case f.Claimed:
		return claimedFailure.MatchString(f.Text)
	}
	text := strings.ToLower(f.Text)
	return slices.ContainsFunc(callTrouble, func(word string) bool { return strings.Contains(text, word) }) || saysNothing(f.Text)
}

func saysNothing(text string) bool { return len(text) <= maxVagueLen && vague.MatchString(text) }

// Examine returns why a suspect call failed, and remembers it. The cause is unknown unless it is
// likely and about the server's setup. Examine may read files and connect to addresses of the
// server's own entry; what the text says decides nothing but the diagnosis.
func (d *CallDoctor) Examine(ctx context.Context, spec launch.Spec, f upstream.FailedCall) fault.Cause {
	m := d.Machine.At(d.Machine.Dir).Until(ctx) // facts change between calls
	c := caseOfCall(spec, f.Text)
	diagnosis := Diagnose(c)
	if saysNothing(f.Text) { // what gauze sees itself says more
		c, diagnosis = m.ownEvidence(spec, f)
	}
	if !m.ofSetup(diagnosis, spec, f) {
		return fault.Cause{}
	}
	cause := causeOf(&diagnosis, diagnosis.Fix)
	looking, cancel := context.WithDeadline(ctx, fixDeadline(ctx))
	defer cancel()
	if fix, ok := m.Until(looking).firstFix(diagnosis, c, spec); ok {
		if cause.Remedy = fix.sentence(); fix.Apply != nil && fix.Risk <= Config {
			cause.Remedy += " To review this change and make it: `gauze doctor --fix`"
		}
	}
	d.Log.Put(spec, CallFailure{At: time.Now(), Tool: f.Tool, Dir: cmp.Or(spec.Dir, m.Dir),
		Category: diagnosis.Category, Cause: diagnosis.Cause,
		Explanation: diagnosis.Explanation, Fix: diagnosis.Fix, Said: strings.Join(diagnosis.Reasons, "\n")})
	return cause
}

// fixDeadline returns when the search for a fix ends.
func fixDeadline(ctx context.Context) time.Time {
	at := time.Now().Add(fixTimeout)
	if end, ok := ctx.Deadline(); ok && end.Add(-fixReserve).Before(at) {
		at = end.Add(-fixReserve)
	}
	return at
}

// ownEvidence diagnoses a call whose text says nothing: by what the server wrote to stderr while it
// ran, or else by the addresses in its entry.
func (m *Machine) ownEvidence(spec launch.Spec, f upstream.FailedCall) (c Case, d Diagnosis) {
	if f.Stderr != nil {
		c = caseOfCall(spec, f.Stderr())
		if d = Diagnose(c); m.ofSetup(d, spec, f) {
			return c, d
		}
	}
	c = caseOfCall(spec, "")
	if s := m.unreachable(spec); s != nil {
		c.sightings = []sighting{*s}
	}
	return c, Diagnose(c)
}

// Ailing returns the tool whose last call failed for a known cause, or "".
func (d *CallDoctor) Ailing(spec launch.Spec) string {
	f, _ := d.Log.Get(spec)
	return f.Tool
}

// Succeeded forgets the failure of a tool whose call has succeeded.
func (d *CallDoctor) Succeeded(spec launch.Spec, tool string) { d.Log.Delete(spec, tool) }

// caseOfCall returns the case of a failed call.
func caseOfCall(spec launch.Spec, text string) Case {
	c := FromLog("", text)
	c.Command, c.Stage, c.Live, c.OS = append([]string{spec.Command}, spec.Args...), Called, true, runtime.GOOS
	c.Secrets, c.Unfilled = spec.Secrets(), unfilled(spec)
	return c
}

// ofSetup reports whether a diagnosis is certain enough to be shown with a failed call, and about
// the server's setup rather than about what the call asked for.
func (m *Machine) ofSetup(d Diagnosis, spec launch.Spec, f upstream.FailedCall) bool {
	least := strong
	switch {
	case d.Category == ConnectionRefused:
		least = likely
	case f.Claimed && d.Category != AuthFailed:
		return false
	case causeNamed(d.Cause).atCall == never:
		return false
	case d.Category == MissingEnvVar && hasAll(variablesSet(spec), d.variables):
		return false // the server has it: a different program lacks it
	case d.Category == AuthFailed, d.Category == DNSOrNetwork, d.Category == TLSOrProxy, d.Category == MissingEnvVar,
		causeNamed(d.Cause).atCall == always:
	default:
		return false
	}
	return d.Confidence >= least && !parserError.MatchString(f.Text) && !relayed.MatchString(f.Text) && !m.aboutArguments(d, f.Arguments)
}

// hasAll reports whether a server that is started with set has all of these variables.
func hasAll(set, names []string) bool {
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(set, name) })
}

// parserError matches the errors of parsers, whose tokens are not credentials.
var parserError = regex.New(`(?i)\b(?:invalid|unexpected|illegal|bad) token\b[^\n]{0,80}\b(?:line|column|col|position|` +
	`offset|char(?:acter)?|near|input|expected|in JSON)\b|\bsyntax error\b`)

// relayed matches what a different program reported: one that the server ran, a script that it was
// given, or a page in a browser.
var relayed = regex.New(`(?i)\b(?:exit(?:ed)?(?: with)?|return(?:ed)?)(?: non-?zero)?(?: code| status)\b|` +
	`\bcommand failed\b|, in <module>|\bFile "<|\bnet::ERR_|\bNS_ERROR_`)

// aboutArguments reports whether a call failed because of its arguments: an address to fetch, a
// database to open, a password to check, a program to run. A tool that is sent somewhere by its
// caller fails there with the same words as a tool whose own service is down.
func (m *Machine) aboutArguments(d Diagnosis, arguments []byte) bool {
	if d.Category != MissingEnvVar && bytes.Contains(arguments, []byte("://")) {
		return true
	}
	for _, reason := range d.Reasons {
		for _, word := range addressWord.FindAllString(reason, 20) {
			host, port, err := net.SplitHostPort(word)
			if err != nil {
				host = word
			}
			if bytes.Contains(arguments, []byte(host)) || port != "" && bytes.Contains(arguments, []byte(port)) {
				return true
			}
		}
	}
	var sent any
	if json.Unmarshal(arguments, &sent) != nil {
		return false
	}
	return anyText(sent, "", func(name, text string) bool {
		switch {
		case d.Category == AuthFailed && (redact.NamesSecret(name, text) || webName.MatchString(text)):
			return true
		case d.Category == TLSOrProxy && webName.MatchString(text):
			return true
		}
		return isNamedIn(d.Reasons, text) || m.runs(text)
	})
}

// anyText reports whether one of the strings in a JSON value satisfies is, which also gets the name
// of the member that the string is in.
func anyText(v any, name string, is func(name, text string) bool) bool {
	switch v := v.(type) {
	case string:
		return is(name, v)
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return anyText(item, name, is) })
	case map[string]any:
		for name, item := range v {
			if anyText(item, name, is) {
				return true
			}
		}
	}
	return false
}

// isNamedIn reports whether a line repeats a text that is long enough to mean something.
func isNamedIn(lines []string, text string) bool {
	const shortest = 3
	return len(text) >= shortest && slices.ContainsFunc(lines, func(line string) bool {
		before, after, found := strings.Cut(line, text)
		return found && !endsInWord(before) && !beginsWithWord(after)
	})
}

func endsInWord(text string) bool     { return text != "" && isWordByte(text[len(text)-1]) }
func beginsWithWord(text string) bool { return text != "" && isWordByte(text[0]) }

func isWordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z'
}

// webName matches a host name with an optional path, as people type it for a web page.
var webName = regex.New(`(?i)^(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?(?:[/?#]\S*)?$`)

// runs reports whether a text is a command line: it begins with a program of this machine.
func (m *Machine) runs(text string) bool {
	first, _, _ := strings.Cut(strings.TrimLeft(text, " \t\n"), " ")
	if strings.HasPrefix(first, "./") {
		return true
	}
	if first == "" || len(first) > 64 || strings.ContainsAny(first, "/\\\x00") {
		return false
	}
	return slices.ContainsFunc(filepath.SplitList(m.variable("PATH")), func(dir string) bool {
		return filepath.IsAbs(dir) && slices.ContainsFunc(m.spellings(first), func(file string) bool {
			return runnable(filepath.Join(dir, file))
		})
	})
}

// addressWord matches a host name, an IP address, or one of these with a port.
var addressWord = regex.New(`(?i)\blocalhost(?::\d{2,5})?\b|\b[\w-]+(?:\.[\w-]+)+(?::\d{2,5})?\b`)

// unreachable connects to the addresses in the server's own arguments and returns what is wrong with the first
// that cannot be reached, or nil.
func (m *Machine) unreachable(spec launch.Spec) *sighting {
	const most = 3
	tried := 0
	for _, word := range spec.Args {
		if _, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
			word = value
		}
		u, err := url.Parse(word)
		if err != nil || u.Hostname() == "" || !strings.Contains(word, "://") {
			continue
		}
		port := cmp.Or(u.Port(), strconv.Itoa(defaultPort(u.Scheme)))
		if tried++; tried > most || port == "0" {
			break
		}
		at := net.JoinHostPort(u.Hostname(), port)
		s := &sighting{confidence: certain, names: map[string]string{"host": u.Hostname(), "port": port}}
		switch seen := m.Reach((&url.URL{Scheme: u.Scheme, Host: at}).String()); {
		case seen.Late:
			return nil // it proves nothing
		case !seen.Resolved:
			s.cause, s.said = "hostname_wrong", "getaddrinfo ENOTFOUND "+u.Hostname()
		case !seen.Accepted && launch.IsLoopback(u.Hostname()):
			s.cause, s.said = "companion_app_not_running", "connect ECONNREFUSED "+at
		case u.Scheme == "https" && seen.TLS.Unknown:
			s.cause, s.said = "private_ca_not_trusted", "unable to get local issuer certificate"
		case u.Scheme == "https" && (seen.TLS.Mismatch || !seen.TLS.Expired.IsZero()):
			s.cause, s.said = "certificate_not_valid", "x509: certificate is not valid for "+u.Hostname()
		default:
			continue
		}
		return s
	}
	return nil
}

// firstFix returns the first fix that has facts of this machine in it: one that changes the Spec,
// or else one with a next step. What a look-up that runs out of time suggests does not count.
func (m *Machine) firstFix(d Diagnosis, c Case, spec launch.Spec) (first Fix, ok bool) {
	newPlan(m, d, c, spec).each(func(fixes []Fix) (more bool) {
		if m.late() {
			return false
		}
		if i := slices.IndexFunc(fixes, func(f Fix) bool { return f.Apply != nil }); i >= 0 {
			first, ok = fixes[i], true
			return false
		}
		if i := slices.IndexFunc(fixes, func(f Fix) bool { return f.Next != "" }); i >= 0 && !ok {
			first, ok = fixes[i], true
		}
		return true
	})
	return first, ok
}

// sentence returns what was found and what to do.
func (f Fix) sentence() string {
	if f.Apply == nil {
		return f.Next
	}
	return strings.ToUpper(f.About[:1]) + f.About[1:] + ". " + f.Next
}

// Recalled is a failure of a call that still lasts, and what to do about it.
type Recalled struct {
	CallFailure
	Todo    string      // the next step for a person
	About   string      // what Spec changes and why; empty if nothing is known to help
	Was     launch.Spec // the server as it is
	Spec    launch.Spec // the server with the change, which needs a person's consent
	Changed bool        // Spec differs from Was
}

// Recall returns the remembered failure of a server's calls, unless what failed works by now. The
// files of the directory that the server ran in may suggest a change.
func (l CallLog) Recall(m *Machine, spec launch.Spec) *Recalled {
	failure, ok := l.Get(spec)
	if !ok {
		return nil
	}
	c := caseOfCall(spec, failure.Said)
	d := Diagnosis{Category: failure.Category, Cause: failure.Cause,
		Explanation: failure.Explanation, Fix: failure.Fix, Reasons: []string{failure.Said}}
	if m = m.At(cmp.Or(failure.Dir, m.Dir)); m.acceptsAgain(d) {
		return nil
	}
	r := &Recalled{CallFailure: failure, Todo: d.Fix, Was: spec, Spec: spec}
	if fix, ok := m.firstFix(d, c, spec); ok {
		if r.Todo = fix.sentence(); fix.Apply != nil && fix.Risk <= Config {
			r.About, r.Spec, r.Changed = fix.About, fix.Apply(spec), true
		}
	}
	return r
}

// acceptsAgain reports whether a local port that refused connections accepts them now.
func (m *Machine) acceptsAgain(d Diagnosis) bool {
	if d.Category != ConnectionRefused {
		return false
	}
	for _, reason := range d.Reasons {
		for _, word := range addressWord.FindAllString(reason, 20) {
			host, port, err := net.SplitHostPort(word)
			if n, bad := strconv.Atoi(port); err == nil && bad == nil && launch.IsLoopback(host) {
				return m.Accepts(host, n)
			}
		}
	}
	return false
}

// Sentence says what failed, when and why.
func (f CallFailure) Sentence(now time.Time) string {
	return "the last call to " + redact.Quote(f.Tool) + " failed " + ago(now.Sub(f.At)) + ": " + f.Explanation
}

func ago(age time.Duration) string {
	switch {
	case age < 2*time.Minute:
		return "just now"
	case age < 2*time.Hour:
		return strconv.Itoa(int(age.Minutes())) + " minutes ago"
	case age < 48*time.Hour:
		return strconv.Itoa(int(age.Hours())) + " hours ago"
	}
	return strconv.Itoa(int(age.Hours()/24)) + " days ago"
}

// CallLog remembers the last failed call of each server that was explained, in one small file for
// each server. It contains no arguments, no results and no secrets. The zero value remembers
// nothing.
type CallLog struct{ Dir string }

// CallLogIn returns the log in gauze's state directory.
func CallLogIn(state string) CallLog { return CallLog{Dir: filepath.Join(state, "calls")} }

// CallFailure is a failed tool call that was explained.
type CallFailure struct {
	At          time.Time `json:"at"`
	Tool        string    `json:"tool"`
	Dir         string    `json:"dir"` // where the server ran, whose files may have settings for it
	Category    Category  `json:"category"`
	Cause       string    `json:"cause"` // in the catalogue
	Explanation string    `json:"explanation"`
	Fix         string    `json:"fix"`
	Said        string    `json:"said"` // the line of the server's error that the cause rests on, redacted
}

// A failure is remembered for maxFailureAge. There are at most maxFailures files.
const (
	maxFailureAge  = 7 * 24 * time.Hour
	maxFailures    = 100
	maxFailureSize = 8 << 10
)

// file returns the file of a server. Its name is a hash of the command line without its secrets:
// gauze run and the client's file have the command line in common, but not the environment.
func (l CallLog) file(spec launch.Spec) string {
	sum := sha256.Sum256([]byte(spec.Shown()))
	return filepath.Join(l.Dir, hex.EncodeToString(sum[:8])+".json")
}

// Put remembers a failure instead of the server's last one. Errors are ignored: a call is answered
// the same without it.
func (l CallLog) Put(spec launch.Spec, f CallFailure) {
	if l.Dir == "" || os.MkdirAll(l.Dir, 0o700) != nil {
		return
	}
	secrets := spec.Secrets()
	for _, text := range []*string{&f.Tool, &f.Explanation, &f.Fix, &f.Said} {
		hidden := redact.Text(secrets.Redact(*text)) // before it is cut: half a secret is not recognised
		*text = hidden[:min(len(hidden), 1<<10)]
	}
	text, err := json.Marshal(f)
	if err != nil || len(text) > maxFailureSize {
		return
	}
	_ = remembered.Keep(l.file(spec), text, maxFailures)
}

// Get returns the last failure of a server's calls.
func (l CallLog) Get(spec launch.Spec) (f CallFailure, ok bool) {
	if l.Dir == "" {
		return f, false
	}
	text, err := readSmall(l.file(spec))
	if err != nil || json.Unmarshal(text, &f) != nil || time.Since(f.At) > maxFailureAge {
		return CallFailure{}, false
	}
	return f, true
}

// Delete forgets the last failure of a server's calls if it was of this tool.
func (l CallLog) Delete(spec launch.Spec, tool string) {
	if f, ok := l.Get(spec); ok && f.Tool == tool {
		os.Remove(l.file(spec))
	}
}
