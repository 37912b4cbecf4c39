package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Limits of one entry.
const (
	maxWays      = 16
	maxVariables = 64
	maxChoices   = 32
	maxNotes     = 16
)

// page is one response.
type page struct {
	servers []Server
	next    string // the cursor of the next page
}

// readPage is the one place where responses are cleaned, limited and validated. It skips invalid
// entries.
func readPage(body []byte) (page, error) {
	var list struct {
		Servers  []json.RawMessage `json:"servers"`
		Metadata struct {
			NextCursor text `json:"nextCursor"`
		} `json:"metadata"`
	}
	err := json.Unmarshal(body, &list)
	if err != nil || list.Servers == nil {
		return page{}, errors.New("this is not a registry: its response is not a list of servers")
	}
	var p page
	if cursor := string(list.Metadata.NextCursor); len(cursor) <= maxCursor {
		p.next = cursor
	}
	for _, raw := range list.Servers {
		var e entry
		if json.Unmarshal(raw, &e) != nil {
			continue
		}
		if server, ok := e.clean(); ok {
			p.servers = append(p.servers, server)
		}
	}
	return p, nil
}

// entry is a server as a registry describes it: the publisher's server.json and the registry's
// metadata.
type entry struct {
	Server struct {
		Name        text      `json:"name"`
		Title       text      `json:"title"`
		Description text      `json:"description"`
		Version     text      `json:"version"`
		Packages    []pack    `json:"packages"`
		Remotes     []address `json:"remotes"`
	} `json:"server"`
	Meta struct {
		Official official `json:"io.modelcontextprotocol.registry/official"`
	} `json:"_meta"`
	official // where older registries and exports have it
}

type official struct {
	Status      text  `json:"status"`
	Message     text  `json:"statusMessage"`
	PublishedAt text  `json:"publishedAt"`
	UpdatedAt   text  `json:"updatedAt"`
	IsLatest    *bool `json:"isLatest"`
}

type pack struct {
	Type        text    `json:"registryType"`
	Identifier  text    `json:"identifier"`
	Version     text    `json:"version"`
	Transport   address `json:"transport"`
	Arguments   []input `json:"packageArguments"`
	RuntimeArgs []input `json:"runtimeArguments"`
	Environment []input `json:"environmentVariables"`
}

type address struct {
	Type    text    `json:"type"`
	URL     text    `json:"url"`
	Headers []input `json:"headers"`
}

// input is a value that the user may have to provide.
type input struct {
	Name        text             `json:"name"`
	ValueHint   text             `json:"valueHint"`
	Description text             `json:"description"`
	Required    bool             `json:"isRequired"`
	Secret      bool             `json:"isSecret"`
	Default     text             `json:"default"`
	Value       text             `json:"value"`
	Choices     []text           `json:"choices"`
	Variables   map[string]input `json:"variables"`
}

// text is a string. It also accepts the numbers and booleans that some publishers write instead.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	switch {
	case json.Unmarshal(raw, &s) == nil:
		*t = text(s)
	case raw[0] != '{' && raw[0] != '[':
		*t = text(raw)
	}
	return nil
}

// shown returns the text for display: one line, cleaned, truncated.
func (t text) shown() string { return redact.Quote(string(t)) }

// exact returns the text as a value, or "" if it is not safe to use as it is: a cleaned or
// truncated value would be a different value.
func (t text) exact() string {
	if redact.Quote(string(t)) != string(t) {
		return ""
	}
	return string(t)
}

func (t text) time() time.Time {
	at, err := time.Parse(time.RFC3339, string(t))
	if err != nil {
		return time.Time{}
	}
	return at
}

func (e entry) clean() (Server, bool) {
	about := e.Meta.Official
	if about.Status == "" {
		about = e.official
	}
	name := string(e.Server.Name)
	if !serverName.MatchString(name) || about.Status == "deleted" || about.IsLatest != nil && !*about.IsLatest {
		return Server{}, false
	}
	s := Server{
		Name: name, Title: e.Server.Title.shown(), About: e.Server.Description.shown(), Version: e.Server.Version.exact(),
		Updated: about.PublishedAt.time(), Deprecated: about.Status == "deprecated",
	}
	if updated := about.UpdatedAt.time(); updated.After(s.Updated) {
		s.Updated = updated
	}
	if s.Deprecated && about.Message != "" {
		s.note("deprecated: %s", about.Message.shown())
	}
	for _, p := range e.Server.Packages[:min(maxWays, len(e.Server.Packages))] {
		s.add(p.clean())
	}
	remotes := slices.Clone(e.Server.Remotes[:min(maxWays, len(e.Server.Remotes))])
	if streamable := func(a address) bool { return a.Type == "streamable-http" }; slices.ContainsFunc(remotes, streamable) {
		remotes = slices.DeleteFunc(remotes, func(a address) bool { return a.Type == "sse" }) // the same server over the old transport
	}
	for _, r := range remotes {
		s.add(r.clean())
	}
	return s, true
}

// add adds a way to start the server, unless it is unusable or already there.
func (s *Server) add(way Facts, err error) {
	switch {
	case err != nil:
		s.note("%v", err)
	case !slices.ContainsFunc(s.Ways, func(w Facts) bool { return w.Kind == way.Kind && sameName(w.Kind, w.Name, way.Name) }):
		way.Server = s.Name
		s.Ways = append(s.Ways, way)
	}
}

func (s *Server) note(format string, args ...any) { s.Notes = noted(s.Notes, format, args...) }
func (f *Facts) note(format string, args ...any)  { f.Notes = noted(f.Notes, format, args...) }

func noted(notes []string, format string, args ...any) []string {
	note := fmt.Sprintf(format, args...)
	if len(notes) >= maxNotes || slices.Contains(notes, note) {
		return notes
	}
	return append(notes, note)
}

// clean converts a package to facts. It ignores runtimeHint and registryBaseUrl: the user decides
// which runner starts a package and where it comes from.
func (p pack) clean() (Facts, error) {
	f := Facts{Kind: Kind(p.Type), Name: string(p.Identifier), Version: strings.TrimPrefix(string(p.Version), "v")}
	switch f.Kind {
	case NPM, PyPI, OCI:
	default:
		return f, fmt.Errorf("also available as %s, which gauze cannot start", p.Type.shown())
	}
	if f.Kind == OCI && p.Version != "" && f.Name == repository(f.Name) && imageTag.MatchString(string(p.Version)) {
		f.Name += ":" + string(p.Version) // older entries have the tag of an image here
	}
	switch {
	case !validName(f.Kind, f.Name):
		return f, fmt.Errorf("ignored: %q is not a valid %s package", p.Identifier.shown(), f.Kind)
	case p.Transport.Type != "stdio":
		return f, fmt.Errorf("also available as %s %s, which you must start yourself and connect to over HTTP", f.Kind, f.Name)
	}
	switch {
	case f.Kind == OCI:
		f.Version = ""
		if f.Name == repository(f.Name) || strings.HasSuffix(f.Name, ":latest") {
			f.note("no version is specified, so the latest one will run")
		}
	case !validVersion(f.Kind, f.Version):
		f.Version = ""
		f.note("no version is specified, so the latest one will run")
	}
	for _, in := range limited(p.Environment) {
		if name := string(in.Name); !envName.MatchString(name) {
			f.note("ignored: %q is not a valid variable name", in.Name.shown())
		} else if loads(name) {
			f.note("ignored: %s, which controls what code runs or what that code trusts", name)
		} else {
			f.Env = append(f.Env, in.variable(name))
		}
	}
	for _, in := range limited(p.Arguments) {
		if in.Name == "" {
			in.Name = in.ValueHint
		}
		if name := string(in.Name); name != "" && !argName.MatchString(name) || in.Value != "" && !argValue.MatchString(string(in.Value)) {
			f.note("ignored: the argument %q", strings.TrimSpace(in.Name.shown()+" "+in.Value.shown()))
		} else if v := in.variable(name); v.Name != "" || v.Value != "" {
			f.Args = append(f.Args, v)
		}
	}
	if len(p.RuntimeArgs) > 0 {
		f.note("ignored: options for the program that starts the server")
	}
	return f, nil
}

// clean converts a remote to facts.
func (a address) clean() (Facts, error) {
	f := Facts{Kind: Remote, Name: string(a.URL)}
	switch {
	case strings.ContainsAny(f.Name, "{}"):
		return f, fmt.Errorf("also available at an address with placeholders: %s", a.URL.shown())
	case !publicURL(f.Name):
		return f, fmt.Errorf("ignored: %q is not a public https address", a.URL.shown())
	}
	u, err := url.Parse(f.Name)
	if err != nil {
		return f, err
	}
	u.Host = strings.ToLower(u.Host)
	f.Name = u.String()
	for _, in := range limited(a.Headers) {
		if name := string(in.Name); !header.MatchString(name) || launch.CheckHeader(name, "") != nil || strings.EqualFold(name, "Host") {
			f.note("ignored: the %q header, which a registry must not set", in.Name.shown())
		} else {
			f.Headers = append(f.Headers, in.variable(name))
		}
	}
	return f, nil
}

func limited(inputs []input) []input { return inputs[:min(maxVariables, len(inputs))] }

// variable converts an input whose name is valid.
func (in input) variable(name string) Variable {
	v := Variable{Name: name, About: in.Description.shown(), Required: in.Required, Secret: in.Secret || redact.NamesSecret(name, "value"), Value: in.Value.exact()}
	for _, blank := range in.Variables {
		v.Required, v.Secret = v.Required || blank.Required, v.Secret || blank.Secret
	}
	blanks := strings.Contains(v.Value, "{")
	if v.Secret && !blanks || directs(name) { // a registry must not provide secrets or addresses
		v.Value = ""
	}
	if !v.Secret && !directs(name) {
		v.Default = in.Default.exact()
	}
	for _, choice := range in.Choices[:min(maxChoices, len(in.Choices))] {
		if c := choice.exact(); c != "" {
			v.Choices = append(v.Choices, c)
		}
	}
	return v
}
