package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// The most that is read of one entry.
const (
	maxWays      = 16
	maxVariables = 64
	maxChoices   = 32
	maxNotes     = 16
)

// page is one answer.
type page struct {
	servers []Server
	next    string // the cursor of the next page
}

// readPage is the gate: what comes out of it is cleaned, bounded and checked. An entry that breaks the rules is left out,
// and the others stand.
func readPage(body []byte) (page, error) {
	var list struct {
		Servers  []json.RawMessage `json:"servers"`
		Server   json.RawMessage   `json:"server"` // the answer is one entry, not a list
		Metadata struct {
			NextCursor text `json:"nextCursor"`
		} `json:"metadata"`
	}
	err := json.Unmarshal(body, &list)
	if list.Server != nil {
		list.Servers = []json.RawMessage{body}
	}
	if err != nil || list.Servers == nil {
		return page{}, errors.New("this is no registry: its answer is not a list of servers")
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

// entry is how a registry writes a server: the publisher's server.json and what the registry adds.
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
	official // older registries and exports have it here
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
	RunnersOwn  []input `json:"runtimeArguments"`
	Environment []input `json:"environmentVariables"`
}

type address struct {
	Type    text    `json:"type"`
	URL     text    `json:"url"`
	Headers []input `json:"headers"`
}

// input is anything a user may have to fill in.
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

// text is a string, or the number or boolean that some publishers write instead.
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

// shown is the text for people: one line, cleaned, cut.
func (t text) shown() string { return fault.Quote(string(t)) }

// exact is the text as a value, and nothing if it is not fit to be one: a value that was cleaned or cut is another value.
func (t text) exact() string {
	if fault.Quote(string(t)) != string(t) {
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
		remotes = slices.DeleteFunc(remotes, func(a address) bool { return a.Type == "sse" }) // the same server, the old way
	}
	for _, r := range remotes {
		s.add(r.clean())
	}
	return s, true
}

// add takes a way, unless it cannot be gone or is there already.
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

// clean is a package as facts. Its runtimeHint and registryBaseUrl are not even read: which runner starts a package and
// where it comes from is the user's business.
func (p pack) clean() (Facts, error) {
	f := Facts{Kind: Kind(p.Type), Name: string(p.Identifier), Version: strings.TrimPrefix(string(p.Version), "v")}
	switch f.Kind {
	case NPM, PyPI, OCI:
	default:
		return f, fmt.Errorf("also as %s, which Gauze does not start", p.Type.shown())
	}
	if f.Kind == OCI && p.Version != "" && f.Name == repository(f.Name) && imageTag.MatchString(string(p.Version)) {
		f.Name += ":" + string(p.Version) // entries from before images had to name their tag
	}
	switch {
	case !validName(f.Kind, f.Name):
		return f, fmt.Errorf("left out: %q cannot be a package of kind %s", p.Identifier.shown(), f.Kind)
	case p.Transport.Type != "stdio":
		return f, fmt.Errorf("also as %s %s, which has to be started by hand and then reached over HTTP", f.Kind, f.Name)
	}
	switch {
	case f.Kind == OCI:
		f.Version = ""
		if f.Name == repository(f.Name) || strings.HasSuffix(f.Name, ":latest") {
			f.note("no version is named: whatever is newest will run")
		}
	case !validVersion(f.Kind, f.Version):
		f.Version = ""
		f.note("no version is named: whatever is newest will run")
	}
	for _, in := range few(p.Environment) {
		if name := string(in.Name); !envName.MatchString(name) {
			f.note("left out: %q cannot be the name of a variable", in.Name.shown())
		} else if Loads(name) {
			f.note("left out: %s, which decides what code runs or whom it trusts", name)
		} else {
			f.Env = append(f.Env, in.variable(name))
		}
	}
	for _, in := range few(p.Arguments) {
		if in.Name == "" {
			in.Name = in.ValueHint
		}
		if name := string(in.Name); name != "" && !argName.MatchString(name) || in.Value != "" && !argValue.MatchString(string(in.Value)) {
			f.note("left out: the argument %q", strings.TrimSpace(in.Name.shown()+" "+in.Value.shown()))
		} else if v := in.variable(name); v.Name != "" || v.Value != "" {
			f.Args = append(f.Args, v)
		}
	}
	if len(p.RunnersOwn) > 0 {
		f.note("left out: options for the program that starts it")
	}
	return f, nil
}

// clean is a remote as facts.
func (a address) clean() (Facts, error) {
	f := Facts{Kind: Remote, Name: string(a.URL)}
	switch {
	case strings.ContainsAny(f.Name, "{}"):
		return f, fmt.Errorf("also at an address with blanks to fill: %s", a.URL.shown())
	case !publicURL(f.Name):
		return f, fmt.Errorf("left out: %q is no public https address", a.URL.shown())
	}
	u, err := url.Parse(f.Name)
	if err != nil {
		return f, err
	}
	u.Host = strings.ToLower(u.Host)
	f.Name = u.String()
	for _, in := range few(a.Headers) {
		if name := string(in.Name); !header.MatchString(name) || upstream.CheckHeader(name, "") != nil || strings.EqualFold(name, "Host") {
			f.note("left out: the header %q, which is not for others to set", in.Name.shown())
		} else {
			f.Headers = append(f.Headers, in.variable(name))
		}
	}
	return f, nil
}

func few(inputs []input) []input { return inputs[:min(maxVariables, len(inputs))] }

// variable is an input whose name was found good.
func (in input) variable(name string) Variable {
	v := Variable{Name: name, About: in.Description.shown(), Required: in.Required, Secret: in.Secret || fault.NamesSecret(name, "value"), Value: in.Value.exact()}
	for _, blank := range in.Variables {
		v.Required, v.Secret = v.Required || blank.Required, v.Secret || blank.Secret
	}
	blanks := strings.Contains(v.Value, "{")
	if v.Secret && !blanks || directs(name) { // a stranger's secret, a stranger's address
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
