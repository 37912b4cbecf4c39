package clientconfig

import (
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/splice"
)

// Entry is one server in a file.
type Entry struct {
	Name         string
	Client       *Client
	Scope        Scope
	File         string
	Path         []any // in the document
	Line, Column int

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

	uses     []string // variables of the environment that it refers to
	used     []string // their values, except those that every program has
	referred []string // values of the variables that its headers and variables refer to

	wrap   *wrap        // if it runs a server through gauze run, whichever program is called gauze
	runs   *launch.Spec // that server
	node   splice.Node  // the fields; those inside Nest if it has one
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

// Raw returns the entry as written in the file.
func (e Entry) Raw() splice.Map {
	m, _ := e.outer.Value().(splice.Map)
	return m
}

func isGauze(command string) bool {
	name := strings.ToLower(path.Base(filepath.ToSlash(strings.ReplaceAll(command, `\`, "/"))))
	return strings.TrimSuffix(name, ".exe") == "gauze"
}

func (e *Entry) off() bool {
	if m, ok := member(e.outer, e.fields.Disabled); ok {
		if off, is := boolean(m); is && off {
			return true
		}
	}
	if m, ok := member(e.outer, e.fields.Enabled); ok {
		on, is := boolean(m)
		return is && !on
	}
	return false
}

func (e *Entry) times() (call, start time.Duration) {
	for _, t := range e.fields.Timeouts {
		value := t.Default
		if m, ok := member(e.outer, t.Field); ok {
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
func (e *Entry) transport() (t Transport, builtin string) {
	kind := textOf(e.node, e.fields.Type)
	hasURL := e.url() != ""
	switch {
	case e.fields.Type != "" && slices.Contains(e.fields.Stdio, kind):
		return Stdio, ""
	case slices.Contains(e.fields.HTTP, kind):
		if kind == "remote" { // one value for both
			return Auto, ""
		}
		return HTTP, ""
	case slices.Contains(e.fields.SSE, kind):
		return SSE, ""
	case slices.Contains([]string{"builtin", "platform", "frontend", "inline_python", "inMemory"}, kind):
		return "", kind
	case kind == "" && has(e.node, e.fields.Command):
		return Stdio, ""
	case hasURL && e.fields.BareURL == AssumesSSE && kind == "":
		return SSE, ""
	case hasURL && has(e.node, "httpUrl") && slices.Contains(e.fields.OtherURLs, "httpUrl"):
		return HTTP, ""
	case hasURL:
		return Auto, ""
	case has(e.node, "settings") && slices.Contains(e.fields.Also, "settings") && !has(e.node, e.fields.Command):
		return "", "extension"
	case has(e.node, "warp_id") && slices.Contains(e.fields.Also, "warp_id"):
		return "", "cloud"
	}
	return Stdio, ""
}

// url returns the URL that the client would use.
func (e *Entry) url() string { return textOf(e.node, e.urlField()) }

// urlField returns the name of the field that contains the URL.
func (e *Entry) urlField() string {
	for _, name := range append([]string{e.fields.URL}, e.fields.OtherURLs...) {
		if textOf(e.node, name) != "" {
			return name
		}
	}
	return e.fields.URL
}

// remote reports whether the client would connect to the URL.
func (e *Entry) remote() bool {
	return e.url() != "" && (e.Transport != Stdio || !has(e.node, e.fields.Command)) && !e.fields.NoRemote
}
