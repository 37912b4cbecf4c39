package doctor

import (
	"errors"
	"io/fs"
	"net/http"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// FromEvidence makes a case of what we saw ourselves.
func FromEvidence(spec launch.Spec, e upstream.Evidence) Case {
	c := Case{
		URL:     spec.URL,
		Live:    true,
		OS:      runtime.GOOS,
		Keyed:   keyed(spec),
		Stage:   Stage(e.Stage), // the same ladder
		Stderr:  strings.Join(e.Stderr, "\n"),
		Stdout:  strings.Join(e.Stray, "\n"),
		HTTP:    refusals(e),
		RPC:     rpcOf(e),
		Limit:   limitOf(e.Limit),
		Secrets: spec.Secrets(),

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
			if c.Spawn.Of == "interpreter" { // the system's words blame the script, which is there
				c.Log = spec.Command + ": " + c.Spawn.Path + ": bad interpreter: No such file or directory"
			}
		}
	} else {
		c.Log = failures(e)
	}
	// An end that we made says nothing about the server.
	if e.Exit != "" && e.ByUs == "" {
		c.Exit = Exit{Known: true, Code: e.Code, Signal: e.Signal, After: e.Ran, Said: e.Exit}
		if signal, ok := strings.CutPrefix(e.Exit, "signal: "); ok && e.Signal == "" {
			c.Exit.Signal = signal
		}
	}
	return c
}

// keyed tells whether a header that lets somebody in goes to the URL.
func keyed(spec launch.Spec) bool {
	return slices.ContainsFunc(spec.Header, func(h launch.Header) bool { return h.Value != "" && keyHeader.MatchString(h.Name) })
}

var keyHeader = &wording{source: `(?i)^(?:proxy-)?authorization$|api-?key|token|secret|cookie`}

// unfilled are the variables that stand as references in the place of a whole
// value, or of a whole key in a header. Half a value may mean what it says.
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

// spawnOf reads the operating system's error. It says ENOENT for a program, an
// interpreter and a folder alike; which of them is meant, the disk tells.
func spawnOf(spec launch.Spec, e upstream.Evidence) Spawn {
	s := Spawn{Errno: e.Errno, Path: spec.Command, Of: "command"}
	if s.Errno == "" {
		s.Errno = errnoOf(e.Spawn)
	}
	var folder *upstream.WorkdirError
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

// refusals are the answers over HTTP that were in the way: those since the
// last one that was of use.
func refusals(e upstream.Evidence) (all []HTTP) {
	served := false
	for _, r := range e.HTTP {
		switch {
		case r.Status == 0, r.Method == http.MethodGet && served:
			continue // a stream that stands by itself, which few servers have
		case ofUse(r):
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

// ofUse: an answer as the protocol has it.
func ofUse(r upstream.Response) bool {
	kind, _, _ := strings.Cut(strings.ToLower(r.ContentType), ";")
	switch strings.TrimSpace(kind) {
	case "application/json", "text/event-stream":
		return r.Status < 300
	}
	return r.Status == http.StatusAccepted
}

// failures are the requests over HTTP that had no answer at all.
func failures(e upstream.Evidence) string {
	var lines []string
	for _, r := range e.HTTP {
		if r.Failed != "" {
			lines = append(lines, r.Failed)
		}
	}
	return strings.Join(lines, "\n")
}

// rpcOf leaves out what turned out to be no trouble: a handshake of one era
// that is refused where that of the other is taken, and our try of it.
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
	limit := Limit{Passed: l.Passed, After: l.After, Alive: l.Alive, Downloading: l.Downloading != "", Busy: l.Busy()}
	if len(l.Ports) > 0 {
		limit.Listening = l.Ports[0]
	}
	return limit
}
