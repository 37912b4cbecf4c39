package doctor

import (
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// FromEvidence returns a case made of what gauze saw itself.
func FromEvidence(spec launch.Spec, e upstream.Evidence) Case {
	c := Case{
		URL:     spec.URL,
		Live:    true,
		OS:      runtime.GOOS,
		Keyed:   keyed(spec),
		Account: spec.Login.Account,
		NoLogin: spec.Login.Mode == launch.LoginOff,
		Stage:   Stage(e.Stage), // the two types have the same values
		Stderr:  strings.Join(e.Stderr, "\n"),
		Stdout:  strings.Join(e.Stray, "\n"),
		HTTP:    failedResponses(e),
		RPC:     rpcOf(e),
		Limit:   limitOf(e.Limit),
		Secrets: spec.Secrets(),

		Set:      variablesSet(spec),
		Unfilled: unfilled(spec),
	}
	if e.StderrTail != nil {
		c.Stderr = string(e.StderrTail)
	}
	if e.StdoutHead != nil {
		c.Stdout = string(e.StdoutHead)
	}
	if spec.Command != "" {
		c.Command = append([]string{spec.Command}, spec.Args...)
	}
	if e.Spawn != nil {
		c.Log = e.Spawn.Error()
		if !e.Remote {
			c.Spawn = spawnOf(spec, e)
			if c.Spawn.Of == "interpreter" { // the system's error names the script, which exists
				c.Log = spec.Command + ": " + c.Spawn.Path + ": bad interpreter: No such file or directory"
			}
		}
	} else {
		c.Log = failures(e)
	}
	// An exit that gauze caused says nothing about the server.
	if e.Exit != "" && e.ByUs == "" {
		c.Exit = Exit{Known: true, Code: e.Code, Signal: e.Signal, After: e.Ran, Said: e.Exit}
		if signal, ok := strings.CutPrefix(e.Exit, "signal: "); ok && e.Signal == "" {
			c.Exit.Signal = signal
		}
	}
	return withNamedLog(c)
}

// keyed reports whether a header with a credential is sent to the URL.
func keyed(spec launch.Spec) bool {
	return slices.ContainsFunc(spec.Header, func(h launch.Header) bool { return h.Value != "" && keyHeader.MatchString(h.Name) })
}

var keyHeader = regex.New(`(?i)^(?:proxy-)?authorization$|api-?key|token|secret|cookie`)

// variablesSet returns the names of the variables that the server gets with a value of its own.
func variablesSet(spec launch.Spec) (names []string) {
	if spec.URL != "" {
		return nil
	}
	given := spec.Environment()
	if program(spec.Command) == "env" {
		given = append(slices.Clone(given), spec.Args...)
	}
	for _, pair := range given {
		if name, value, ok := strings.Cut(pair, "="); ok && value != "" && !isPlaceholder(value) {
			names = append(names, name)
		}
	}
	return names
}

// unfilled returns the variables whose unexpanded reference is a whole value, or a whole key in a
// header. A reference in part of a value may be literal text.
func unfilled(spec launch.Spec) (names []string) {
	note := func(value string) {
		if all := references(value); len(all) == 1 && !all[0].bare && all[0].from == 0 && all[0].to == len(value) {
			names = append(names, all[0].name)
		}
	}
	for _, pair := range spec.Environment() {
		if name, value, _ := strings.Cut(pair, "="); spec.URL == "" && !loads(name) {
			note(value)
		}
	}
	for _, h := range spec.Header {
		if words := strings.Fields(h.Value); len(words) > 0 {
			note(words[len(words)-1])
		}
	}
	return names
}

// spawnOf interprets the operating system's error. ENOENT can mean the program, its interpreter or
// the working directory; the file system shows which.
func spawnOf(spec launch.Spec, e upstream.Evidence) Spawn {
	s := Spawn{Errno: e.Errno, Path: spec.Command, Of: "command"}
	if s.Errno == "" {
		s.Errno = errnoOf(e.Spawn)
	}
	var folder *launch.WorkdirError
	var where *fs.PathError
	switch {
	case errors.As(e.Spawn, &folder):
		s.Path, s.Of = folder.Dir, "cwd"
	case errors.As(e.Spawn, &where) && where.Op == "chdir":
		s.Path, s.Of = where.Path, "cwd"
	case s.Errno == "ENOENT" && e.Program.Executable && e.Program.Interpreter != "":
		s.Path, s.Of = e.Program.Interpreter, "interpreter"
	}
	return s
}

func errnoOf(err error) string {
	var number syscall.Errno
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "ENOENT"
	case errors.Is(err, fs.ErrPermission):
		return "EACCES"
	case errors.As(err, &number):
		return number.Error()
	}
	return ""
}

// failedResponses returns the unsuccessful HTTP responses since the last successful one.
func failedResponses(e upstream.Evidence) (all []HTTP) {
	served := false
	for _, r := range e.HTTP {
		switch {
		case r.Status == 0, r.Method == http.MethodGet && served:
			continue // a standalone stream, which few servers offer
		case successful(r):
			if r.Method == http.MethodPost {
				all, served = nil, true
			}
			continue
		}
		seen := HTTP{Status: r.Status, Method: r.Method, ContentType: r.ContentType, Authenticate: r.Authenticate,
			Location: r.Location, Allow: r.Allow, Body: string(r.Body)}
		if r.Session {
			seen.Session = "yes"
		}
		all = append(all, seen)
	}
	return all
}

// successful reports whether a response is one that the protocol allows.
func successful(r upstream.Response) bool {
	kind, _, _ := strings.Cut(strings.ToLower(r.ContentType), ";")
	switch strings.TrimSpace(kind) {
	case "application/json", "text/event-stream":
		return r.Status < 300
	}
	return r.Status == http.StatusAccepted
}

// failures returns the errors of HTTP requests that got no response.
func failures(e upstream.Evidence) string {
	var lines []string
	for _, r := range e.HTTP {
		if r.Failed != "" {
			lines = append(lines, r.Failed)
		}
	}
	return strings.Join(lines, "\n")
}

// rpcOf returns the JSON-RPC errors without those that turned out to be harmless: a handshake of
// one protocol era that was rejected where that of the other succeeded, and gauze's own probe for
// it.
func rpcOf(e upstream.Evidence) (all []RPC) {
	for i, r := range e.RPC {
		if r.Phase < upstream.Initialized && e.Stage >= upstream.Initialized || r.Method == "server/discover" && i > 0 {
			continue
		}
		all = append(all, RPC{Code: r.Code, Method: r.Method, Message: r.Message})
	}
	return all
}

func limitOf(l upstream.AtLimit) Limit {
	limit := Limit{Passed: l.Passed, Waiting: l.Waiting, After: l.After, Alive: l.Alive, Stopped: l.Stopped,
		Downloading: l.Downloading != "", Busy: l.Busy(), Serves: l.Serves}
	if len(l.Ports) > 0 {
		limit.Listening = l.Ports[0]
	}
	if u, err := url.Parse(l.Serves); err == nil && l.Serves != "" {
		limit.Listening, _ = strconv.Atoi(u.Port())
	}
	return limit
}
