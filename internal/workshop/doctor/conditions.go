package doctor

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// onlySymptom reports whether the text says that the server failed, in the words of also or of any
// client, and puts that line into the match. Whether it says why is decided by the other causes.
func (x *exam) onlySymptom(m *match, also *regex.Lazy) bool {
	for _, words := range []*regex.Lazy{also, anySymptom} {
		if words == nil {
			continue
		}
		if where := words.FindStringIndex(x.text); where != nil {
			m.said = x.page.line(where[0])
			return true
		}
	}
	return false
}

var anySymptom = regex.New(`(?i)connection (?:was )?closed|client closed|server (?:transport )?(?:closed|disconnected|exited)|exited ` +
	`before|process exited|failed to (?:connect|start|initialize|reconnect|load)|could not (?:attach|connect|start)|couldn't reach|` +
	`timed out|timeout|-3200[01]|not connected|broken pipe|disconnected`)

var unreachable = regex.New(`(?i)fetch failed|connection (?:attempts? failed|error|refused|failed)|max retries exceeded|failed to ` +
	`establish a new connection|cannot connect|could not connect|couldn't connect|failed to connect to (?:localhost|127|the)|` +
	`ECONNREFUSED|unreachable`)

// windowsHost reports whether the text is from a Windows machine: the entry itself does not count.
func (x *exam) windowsHost() bool { return windowsSigns.MatchString(x.text) }

// complaint reports whether a line is about the failure and not routine log output.
func complaint(m *match) bool {
	for _, usual := range []string{`"method":`, `"jsonrpc"`, `"capabilities"`, "For troubleshooting guidance", "this is likely due to",
		"announced", "If you are developing"} {
		if strings.Contains(m.said, usual) {
			return false
		}
	}
	return !harmless.MatchString(m.said) && !announced.MatchString(m.hit) && !strings.HasSuffix(strings.ToLower(m.hit), " mcp")
}

var harmless = regex.New(`(?i)\b(?:info|debug|trace)\b[^\n]{0,80}$|\bsuccessfully\b|\bauthenticated via\b|may require|^\s+at \S|` +
	`without error|no errors?\b|0 errors|key: internal server error|\boptional\b`)

// allIsWell reports whether a line names a problem only to rule it out, or to say what would be
// done about it.
func allIsWell(m *match) bool {
	return wellSaid.MatchString(m.said) && !inEarnest.MatchString(m.said) && !strings.HasPrefix(m.hit, "Unknown")
}

var wellSaid = regex.New(`(?i)[:=] ?(?:0(?:\.0+)?%?(?: requests?| errors?)?|false|ok|on|off|none|enabled|disabled|passed)\.?$|` +
	`\b(?:handler|middleware|policy|check|hook|guard|limiter|interceptor)s? (?:is |was )?(?:registered|installed|enabled|loaded|ready|` +
	`configured|ok|passed)\b|\bretry (?:policy|on|for)\b[^\n]*,`)

var inEarnest = regex.New(`(?i)exit|exception|error:`)

// isProgramWord reports whether a word can be a configured program that starts servers.
func isProgramWord(word string) bool {
	return isRunner(program(word)) || isPath(word) || program(word) == "cmd"
}

// npm exits with the number of the error that stopped it, truncated to an exit code: -13 (EACCES)
// becomes 243. If a client kept nothing else, that number is the only evidence. It differs between
// systems; Windows keeps all 32 bits.
const (
	eacces    = "EACCES"
	enotempty = "ENOTEMPTY"
	ebusy     = "EBUSY"
	eexist    = "EEXIST"
	enoent    = "ENOENT"
	noNetwork = "no network"
)

var npmExits = map[int]string{
	243: eacces, 4294963204: eacces, -4092: eacces, 4294963248: eacces, -4048: eacces,
	217: enotempty, 190: enotempty, 4294963245: enotempty, -4051: enotempty,
	240: ebusy, 4294963214: ebusy, -4082: ebusy,
	239: eexist, 4294963221: eexist, -4075: eexist,
	254: enoent, 4294963238: enoent, -4058: enoent,
	64: noNetwork, 71: noNetwork, 145: noNetwork, 195: noNetwork, 146: noNetwork, 196: noNetwork, 152: noNetwork, 202: noNetwork,
	4294964288: noNetwork, -3008: noNetwork, 4294964295: noNetwork, -3001: noNetwork,
}

// npmExit reports whether npm exited with one of these errors.
func (x *exam) npmExit(m *match, names ...string) bool {
	name, ok := npmExits[x.Exit.Code]
	return ok && slices.Contains(names, name) && x.cmd.runs("npx", "npm") && x.exited(m, x.Exit.Code)
}

// tells reports whether the text has these words, and puts their line into the match.
func (x *exam) tells(m *match, words *regex.Lazy) bool {
	where := words.FindStringIndex(x.text)
	if where != nil {
		m.said = x.page.line(where[0])
	}
	return where != nil
}

// signal reports whether one of these signals ended the process.
func (x *exam) signal(m *match, signals ...string) bool {
	ok := slices.ContainsFunc(signals, func(signal string) bool { return strings.EqualFold(signal, x.Exit.Signal) })
	if ok {
		m.said = x.Exit.Said
	}
	return ok
}

// wantedProgram completes the report of a missing program: without a name, it is the configured one.
func wantedProgram(m *match) bool {
	name := m.names["command"]
	switch {
	case m.names["wanted"] != "":
	case name == "" && m.x.Live && m.x.Stage >= Started && m.x.Exit.Code != 126 && m.x.Exit.Code != 127:
		return false // the configured program was started, and this is about something that it looked for
	case name != "":
		name = strings.TrimRight(strings.Trim(name, `"' `), ".")
		m.names["command"], m.names["wanted"] = name, name
	case m.names == nil:
		m.names = map[string]string{"wanted": m.x.cmd.firstWord()}
	default:
		m.names["wanted"] = m.x.cmd.firstWord()
	}
	return true
}

// spawnMissing reports whether gauze itself did not find the program.
func spawnMissing(m *match) bool {
	seen := m.x.Spawn
	if seen.Errno != "ENOENT" || seen.Said != "" || seen.Of == "cwd" {
		return false
	}
	m.names["command"], m.names["wanted"], m.said = seen.Path, seen.Path, "spawn "+seen.Path+" ENOENT"
	return true
}
