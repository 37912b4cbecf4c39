package clientconfig

import (
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/workshop/splice"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Entry is one server in a file.
type Entry struct {
	Name   string
	Client *Client
	Scope  Scope
	File   string
	Path   []any // in the document
	Line   int

	Spec      launch.Spec // as the client would start or reach it, including secrets
	Transport Transport
	Disabled  bool
	Builtin   string        // set for servers that are part of the client: its term for them
	Wrapped   bool          // the command is gauze run, of a gauze that is not a project's own
	Inner     *launch.Spec  // if wrapped: the server itself
	Timeout   time.Duration // of a call; zero if not set
	Start     time.Duration // of the start
	Unset     []string      // variables that it refers to and that are not set
	Waiting   []string      // references that the user, a file or a program must supply

	refs usage
	wrap *wrap // if it runs a server through gauze run, whichever program is called gauze
	src  source
}

// usage is which variables of the environment an entry refers to.
type usage struct {
	names  []string
	values []string // except those that every program has
	sent   []string // values of those that its headers and variables refer to
}

// source is an entry as it is written.
type source struct {
	node   splice.Node // the fields; those inside Nest if it has one
	outer  splice.Node
	fields Fields
}

// Transport is how a client communicates with a server.
type Transport string

const (
	Stdio Transport = "stdio"
	HTTP  Transport = "http"
	SSE   Transport = "sse"
	Auto  Transport = "auto" // a URL; the client detects the transport
)

// at returns the path of a field that the client reads in this entry, inside Nest if the entry has
// that.
func (e *Entry) at(more ...any) []any {
	path := e.Path
	if e.src.nested() {
		path = below(path, e.src.fields.Nest)
	}
	return below(path, more...)
}

func (s *source) nested() bool {
	inner, ok := member(s.outer, s.fields.Nest)
	return ok && inner.Kind() == splice.MapKind
}

// RunsGauze reports whether the entry starts a program called gauze: for a server that is wrapped, as
// the server gauze mcp, or as gauze connect.
func (e *Entry) RunsGauze() bool { return e.wrap != nil || runs(e.Spec, "mcp") || e.Connects() }

// Connects reports whether the entry is that of gauze connect.
func (e *Entry) Connects() bool { return runs(e.Spec, "connect") }

// runs reports whether a server is a command of gauze.
func runs(s launch.Spec, command string) bool {
	return isGauze(s.Command) && len(s.Args) > 0 && s.Args[0] == command
}

func isGauze(command string) bool {
	name := strings.ToLower(path.Base(filepath.ToSlash(strings.ReplaceAll(command, `\`, "/"))))
	return strings.TrimSuffix(name, ".exe") == "gauze"
}

func (s *source) off() bool {
	if m, ok := member(s.outer, s.fields.Disabled); ok {
		if off, is := boolean(m); is && off {
			return true
		}
	}
	if m, ok := member(s.outer, s.fields.Enabled); ok {
		on, is := boolean(m)
		return is && !on
	}
	return false
}

func (s *source) times() (call, start time.Duration) {
	for _, t := range s.fields.Timeouts {
		value := t.Default
		if m, ok := member(s.outer, t.Field); ok {
			switch m.Kind() {
			case splice.MapKind: // opencode's newer format
				if n, ok := member(m, "request"); ok {
					call = duration(n, t.Unit)
				}
				if m, ok = member(m, "startup"); !ok {
					continue
				}
				fallthrough
			default:
				value = duration(m, t.Unit)
			}
		}
		switch {
		case value <= 0:
		case t.Start && start == 0:
			start = value
		case !t.Start && call == 0:
			call = value
		}
	}
	return call, start
}

func duration(n splice.Node, unit time.Duration) time.Duration {
	f, ok := number(n)
	if !ok || f <= 0 || f*float64(unit) > math.MaxInt64/2 {
		return 0
	}
	return time.Duration(f * float64(unit))
}

// transport returns the transport that the client would use. An entry with neither a command nor a
// URL is part of the client.
func (s *source) transport() (t Transport, builtin string) {
	kind := textOf(s.node, s.fields.Types.Field)
	hasURL := s.url() != ""
	switch {
	case s.fields.Types.Field != "" && slices.Contains(s.fields.Types.Stdio, kind):
		return Stdio, ""
	case slices.Contains(s.fields.Types.HTTP, kind):
		if kind == "remote" { // one value for both
			return Auto, ""
		}
		return HTTP, ""
	case slices.Contains(s.fields.Types.SSE, kind):
		return SSE, ""
	case slices.Contains([]string{"builtin", "platform", "frontend", "inline_python", "inMemory"}, kind):
		return "", kind
	case kind == "" && has(s.node, s.fields.Command):
		return Stdio, ""
	case hasURL && s.fields.Types.Bare == "assumes sse" && kind == "":
		return SSE, ""
	case slices.ContainsFunc(s.fields.Old, func(o oldField) bool { return o.Type != "" && textOf(s.node, o.Field) != "" }):
		return HTTP, ""
	case hasURL:
		return Auto, ""
	}
	if part := s.fields.Builtin; has(s.node, part.Field) {
		return "", part.Term
	}
	return Stdio, ""
}

// url returns the URL that the client would use.
func (s *source) url() string { return textOf(s.node, s.urlField()) }

// urlField returns the name of the field that contains the URL.
func (s *source) urlField() string {
	for _, name := range s.fields.urls() {
		if textOf(s.node, name) != "" {
			return name
		}
	}
	return s.fields.URL
}

// remote reports whether the client would connect to the URL.
func (e *Entry) remote() bool {
	return e.src.url() != "" && (e.Transport != Stdio || !has(e.src.node, e.src.fields.Command)) && !e.src.fields.NoRemote
}
