package doctor

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// sighting is a cause that gauze saw itself: in the way a process ended, in files, ports and versions, and
// not in what the server wrote.
type sighting struct {
	said  string            // what was seen, for Reasons
	names map[string]string // for templates
	// explain and fix replace those of the cause; templates, or "".
	explain, fix string

	cause      string
	confidence float64
	beside     bool // whether the server complained about something, which may be something else
}

// observed is the confidence of what decides whatever the output says.
const observed = 0.97

// look is one place to look at.
type look struct {
	cause      string
	confidence float64
	// unexplained restricts it to a command that failed before it sent a message: what it finds can be the
	// reason, but a server may also work with it. If the server complained, it is only a guess.
	unexplained bool
	see         func(*witness) *sighting
}

// looks are all places, the most telling first.
var looks = []look{
	{"process_stopped", observed, false, seeStopped},
	{"not_a_program", observed, false, seeNoProgram},
	{"binary_download_incomplete", observed, false, seePartialProgram},
	{"command_path_missing", observed, false, seeReturnAfterInterpreter},
	{"venv_broken", observed, false, seeBrokenVenv},
	{"missing_exec_bit", observed, false, seeNoExec},
	{"process_limit_reached", observed, false, seeLimitSignal},
	{"server_bug_crash", observed, false, seeFaultSignal},
	{"stdin_not_connected", observed, false, seeBackground},
	{"invalid_jsonrpc_message", observed, false, seeInvalidMessage},
	{"session_expired_no_reinit", observed, false, seeForgottenSession},
	{CredentialRequired, observed, false, seeLoginPage},
	{"wrong_endpoint_path", strong, false, seeForeignJSON},
	{"tls_handshake_failed", observed, false, seePlainHTTP},
	{"certificate_not_valid", observed, false, seeCertificate},
	{"script_missing", certain, true, seeNoScript},
	{"disk_full", likely, true, seeFullDisk},
	{"node_heap_oom", likely, true, seeMemoryLimit},
	{"too_many_open_files", likely, true, seeFileLimit},
	{"wrong_runner", likely, true, seePackageWithoutProgram},
	{"broken_npm_install", likely, true, seeNoModules},
	{"node_engine_too_old", likely, true, seeOldNode},
	{"python_too_old", likely, true, seeOldPython},
	{"server_config_invalid", likely, true, seeBrokenSettings},
	{"wrong_directory_argument", likely, true, seeMissingArgument},
	{"env_not_set", likely, true, seeEmptyVariable},
	{"env_not_set", likely, true, seeRequiredVariable},
	{"port_taken_by_sibling", likely, true, seeTakenPort},
	{"proxy_env_breaks", likely, true, seeDeadProxy},
	{"companion_app_not_running", likely, true, seeDeadService},
	{"dotenv_not_loaded", faint, true, seeUnreadDotenv},
}

// witness looks at the machine for one failure.
type witness struct {
	server server
	e      upstream.Evidence
	c      Case
}

// seen returns the case of what gauze saw itself, with what the machine shows about it.
func (m *Machine) seen(spec launch.Spec, e upstream.Evidence) Case {
	c := FromEvidence(spec, e)
	w := &witness{server: server{m, spec, spec.Environment(), c.Secrets}, e: e, c: c}
	c.machine = &w.server
	done := make(chan sightings, 1)
	go func() { done <- w.look() }()
	select {
	case c.sightings = <-done:
	case <-time.After(lookTimeout): // a file system or a host does not answer, and a client waits for the diagnosis
	}
	return c
}

// look looks at all places.
func (w *witness) look() (seen sightings) {
	failed, complains := w.failed(), strings.TrimSpace(w.c.Stderr) != ""
	for _, l := range looks {
		if l.unexplained && !failed {
			continue
		}
		s := l.see(w)
		if s == nil {
			continue
		}
		s.cause, s.confidence = l.cause, l.confidence
		if l.unexplained && complains && l.confidence < certain {
			s.confidence, s.beside = min(l.confidence, guess), true
		}
		seen = append(seen, *s)
	}
	return seen
}

// failed reports whether a command on this machine ended with a failure before it sent a message.
func (w *witness) failed() bool {
	return !w.e.Remote && w.e.Stage < upstream.Spoke && w.c.Exit.Known && (w.c.Exit.Code != 0 || w.c.Exit.Signal != "") && !runsElsewhere(w.c)
}

// match returns the sighting as the match of a clue.
func (s *sighting) match() *match {
	if s.names == nil {
		s.names = map[string]string{}
	}
	return &match{said: s.said, names: s.names, own: s}
}

// sightings are what was seen of one failure.
type sightings []sighting

// of returns the best sighting of a cause, or nil.
func (all sightings) of(cause string) (best *sighting) {
	for i, s := range all {
		if s.cause == cause && (best == nil || s.confidence > best.confidence) {
			best = &all[i]
		}
	}
	return best
}

func seeStopped(w *witness) *sighting {
	if !w.e.Limit.Stopped {
		return nil
	}
	return &sighting{said: "the process is paused"}
}

// limitSignals are the signals by which the system enforces a limit, with what is limited and its option
// of ulimit.
var limitSignals = map[string][2]string{"SIGXFSZ": {"file size", "-f"}, "SIGXCPU": {"CPU time", "-t"}}

func seeLimitSignal(w *witness) *sighting {
	limit, ok := limitSignals[w.c.Exit.Signal]
	if !ok {
		return nil
	}
	return &sighting{said: w.c.Exit.Said,
		explain: "The server exceeded the system's limit on " + limit[0] + " for a process.",
		fix: "Raise the limit in the environment that the client is started from (`ulimit " + limit[1] + "`), " +
			"or reduce the server's resource usage."}
}

// faultSignals end a process that did something invalid. No message that it wrote before ended it.
var faultSignals = []string{"SIGSEGV", "SIGBUS", "SIGFPE"}

func seeFaultSignal(w *witness) *sighting {
	if !slices.Contains(faultSignals, w.c.Exit.Signal) || w.e.Program.Partial {
		return nil
	}
	return &sighting{said: w.c.Exit.Said, names: map[string]string{"text": w.c.Exit.Said}}
}

func seeNoProgram(w *witness) *sighting {
	p := w.e.Program
	s := &sighting{said: w.server.quoted(p.Path), names: map[string]string{"command": p.Path}}
	switch {
	case w.e.Spawn == nil || p.Path == "" || w.c.Spawn.Of == "cwd" || w.server.m.OS == "windows" && p.Shim:
		return nil
	case p.Directory:
		s.explain = "{command|The command} is a directory, not a program."
		s.fix = `Set "command" to the program itself, or to an interpreter such as node or {$python}, with the script as its first argument.`
	case p.Exists && p.Executable && p.Format == "" && !p.Partial:
		s.explain = `{command|The command} is not a program: its first line does not specify an interpreter (such as "#!/usr/bin/env node").`
		s.fix = `Set "command" to the interpreter, such as node or {$python}, and pass the file as its first argument.`
	default:
		return nil
	}
	return s
}

func seePartialProgram(w *witness) *sighting {
	if p := w.e.Program; p.Partial && (w.e.Spawn != nil || w.failed()) {
		return &sighting{said: w.server.quoted(p.Path) + " is incomplete", names: map[string]string{"path": p.Path},
			explain: "The server's program ({path|see the entry}) is incomplete: its download or build was interrupted.",
			fix:     "Reinstall the server with network access and enough disk space."}
	}
	return nil
}

func seeReturnAfterInterpreter(w *witness) *sighting {
	p := w.e.Program
	if !p.InterpreterReturn || w.e.Spawn == nil && w.c.Exit.Code != 127 && w.c.Exit.Code != 126 {
		return nil
	}
	return &sighting{said: w.server.quoted(p.Path) + " has Windows line endings",
		names: map[string]string{"path": p.Path, "command": p.Interpreter},
		explain: "The server's script ({path|see the entry}) has Windows line endings, so the system looks for an interpreter whose " +
			"name ends in a carriage return.",
		fix: "Save the script with Unix line endings (LF)."}
}

func seeBrokenVenv(w *witness) *sighting {
	path := w.e.Program.Path
	if w.e.Program.InterpreterPath == "" && filepath.IsAbs(w.e.Program.Interpreter) {
		path = w.e.Program.Interpreter // of a program that pip installed there
	}
	if w.e.Spawn == nil || path == "" || !exists(path) || isFile(path) {
		return nil
	}
	venv := filepath.Dir(filepath.Dir(path))
	if !isFile(filepath.Join(venv, "pyvenv.cfg")) {
		return nil
	}
	return &sighting{said: w.server.quoted(path) + " is a link to a file that does not exist", names: map[string]string{"path": venv},
		fix: "Recreate the virtual environment in the project's directory: `{$python} -m venv --clear .venv`, then install " +
			"the project's dependencies."}
}

func seeNoExec(w *witness) *sighting {
	if p := w.e.Program; w.c.Spawn.Errno != eacces || !runnable(p.Path) || !mountedNoExec(p.Path) {
		return nil
	}
	return &sighting{said: "its file system is mounted with noexec", names: map[string]string{"command": w.e.Program.Path},
		explain: "{command|The program} cannot be started: its file system is mounted with the noexec option, which does not allow programs to run.",
		fix:     "Move the program to a file system that is not mounted with noexec."}
}

func seeBackground(w *witness) *sighting {
	if !w.e.Left || !w.c.Exit.Known || w.c.Exit.Code != 0 || w.e.Stage >= upstream.Spoke {
		return nil
	}
	return &sighting{said: "it exited (" + w.c.Exit.Said + ") while processes that it had started were still running",
		explain: "The command started the server in the background and exited, so the server is not connected to the client.",
		fix: "Run the server in the foreground: remove the & at the end of the command, or the option that runs it " +
			"in the background (such as --daemon). If a script starts the server, start it with exec on the script's last line."}
}

func seeInvalidMessage(w *witness) *sighting {
	if w.e.Invalid == "" {
		return nil
	}
	return &sighting{said: w.e.Invalid, names: map[string]string{"text": w.e.Invalid}}
}

func seeForgottenSession(w *witness) *sighting {
	named := slices.ContainsFunc(w.e.HTTP, func(r upstream.Response) bool { return r.Session && successful(r) })
	forgotten := func(r HTTP) bool { return r.Method == http.MethodPost && r.Status == http.StatusNotFound }
	if !w.e.Remote || !named || !slices.ContainsFunc(w.c.HTTP, forgotten) {
		return nil // or it served a new session since
	}
	return &sighting{said: "HTTP 404 after the server opened a session"}
}

// loginPath matches the path of a page that asks for a login.
var loginPath = regex.New(`(?i)/(?:log[-_]?in|sign[-_]?in|sso|saml2?|cas|oauth2?|authorize|auth)(?:[/?;.]|$)`)

func seeLoginPage(w *witness) *sighting {
	for _, r := range w.c.HTTP {
		if r.Status/100 == 3 && loginPath.MatchString(r.Location) && !loginPath.MatchString(w.server.spec.URL) {
			page, _, _ := strings.Cut(r.Location, "?") // what follows can be a key of the login
			return &sighting{said: "HTTP " + strconv.Itoa(r.Status) + ", Location: " + page,
				explain: "The server redirects to a login page: a login, key or token is missing or not valid."}
		}
	}
	return nil
}

func seeForeignJSON(w *witness) *sighting {
	if w.e.Stage >= upstream.Spoke {
		return nil
	}
	for _, r := range w.e.HTTP {
		var object map[string]any
		if r.Status == http.StatusOK && json.Unmarshal(r.Body, &object) == nil && object["jsonrpc"] == nil {
			return &sighting{said: "HTTP 200 with JSON that is not a JSON-RPC message"}
		}
	}
	return nil
}

func seePlainHTTP(w *witness) *sighting {
	answered := func(r upstream.Response) bool { return r.Status != 0 }
	if !strings.HasPrefix(w.server.spec.URL, "http://") || w.e.Stage < upstream.Started || slices.ContainsFunc(w.e.HTTP, answered) {
		return nil
	}
	if !w.server.m.Reach("https" + strings.TrimPrefix(w.server.spec.URL, "http")).TLS.Spoken {
		return nil
	}
	return &sighting{said: "a TLS handshake succeeds on this port", explain: "The server uses TLS on this port, but the " +
		"URL begins with http://.",
		fix: "Use https:// in the server's URL."}
}

func seeCertificate(w *witness) *sighting {
	if !strings.HasPrefix(w.server.spec.URL, "https://") || w.e.Stage >= upstream.Spoke || len(w.c.HTTP) > 0 {
		return nil
	}
	tls := w.server.m.Reach(w.server.spec.URL).TLS
	if !tls.Mismatch {
		return nil
	}
	return &sighting{said: "the certificate is issued for " + strings.Join(tls.Names, ", "),
		explain: "The server's certificate is issued for another host name.",
		fix: "In the server's URL, use a host name that the certificate covers. If the URL is correct, the server's " +
			"operator must replace the certificate."}
}
