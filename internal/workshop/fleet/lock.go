package fleet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/text/sorting"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
)

// LockFile is the default name of a lock file.
const LockFile = "gauze.lock.json"

// Lock records what servers are like. It contains names and hashes, never a value.
type Lock struct {
	Format  int       `json:"gauzeLock"`
	Made    time.Time `json:"made"`
	Partial bool      `json:"partial,omitempty"` // the servers were chosen by name: others are not compared
	Servers []Locked  `json:"servers"`
}

// Locked records one server.
type Locked struct {
	Client  string            `json:"client"`
	Name    string            `json:"name"`
	Scope   string            `json:"scope"`
	Command []string          `json:"command,omitempty"` // without secrets
	URL     string            `json:"url,omitempty"`     // without secrets
	Env     []string          `json:"env,omitempty"`     // names of the variables that the entry sets
	Headers []string          `json:"headers,omitempty"` // names
	Fields  []string          `json:"fields"`            // names of the other fields that may matter; nil if an older gauze made the lock
	Package string            `json:"package,omitempty"`
	Version string            `json:"version,omitempty"` // the version that was actually run
	Server  string            `json:"server,omitempty"`  // name and version that the server reports
	Tools   map[string]string `json:"tools"`             // hash of each tool's definition, by name
	Key     string            `json:"key,omitempty"`     // identifies the key of Values
	Values  map[string]string `json:"values,omitempty"`  // HMACs of values, by "variable NAME", "header NAME", "field NAME", "query" and others
	Seal    string            `json:"seal,omitempty"`    // HMAC of all of the above: only who has the key can change any of it
}

const lockFormat = 1

// Lock records the checked servers. It leaves out those that did not work and returns them.
func (f *Fleet) Lock(all []*Checked, now time.Time) (l Lock, out []*Checked, err error) {
	key, err := f.lockKey(true)
	if err != nil {
		return l, nil, fmt.Errorf("cannot use the key for hashing values: %w", err)
	}
	l = Lock{Format: lockFormat, Made: now.UTC().Truncate(time.Second)}
	for _, c := range all {
		if !c.Tried || !c.Report.Healthy {
			out = append(out, c)
			continue
		}
		l.Servers = append(l.Servers, f.locked(c, key))
	}
	sorting.Stable(l.Servers, byID)
	return l, out, nil
}

// SecretError reports that a lock would contain a secret.
type SecretError struct{ Server, Field string }

func (e *SecretError) Error() string {
	return fmt.Sprintf("not written: %s has a secret in its %s, and lock files are meant to be shared; remove or rename that part", e.Server, e.Field)
}

// Check returns a SecretError if the lock contains a secret of any server. Server output is
// redacted beforehand, but names are not: the entry would not be found again. A lock that ReadLock
// would reject is not right either.
func (l Lock) Check(secrets redact.Secrets) error {
	certain := secrets.Certain()
	for _, s := range l.Servers {
		if err := s.checkNames(); err != nil {
			return fmt.Errorf("not written: %s has %s; rename or remove it", certain.Quote(s.Client+"/"+s.Name), certain.Quote(err.Error()))
		}
	}
	for _, s := range l.Servers {
		id := certain.Redact(redact.Quote(s.Client + "/" + s.Name))
		for _, field := range []struct {
			name  string
			texts []string
		}{
			{"name", []string{s.Name}}, {"command line", s.Command}, {"URL", []string{s.URL}}, {"variable names", s.Env},
			{"header names", s.Headers}, {"field names", s.Fields}, {"package", []string{s.Package, s.Version}}, {"name", []string{s.Server}},
			{"tool names", slices.Collect(maps.Keys(s.Tools))},
		} {
			if slices.ContainsFunc(field.texts, certain.In) {
				return &SecretError{id, field.name}
			}
		}
	}
	return nil
}

func (f *Fleet) locked(c *Checked, key []byte) Locked {
	spec := c.Real()
	l := Locked{Client: c.Client.ID, Name: c.Name, Scope: string(c.Scope), Env: c.sets(), Fields: []string{}, Tools: map[string]string{}}
	if spec.URL != "" {
		l.URL = c.Hide(spec.Shown())
		if u, err := url.Parse(spec.URL); err == nil && (u.RawQuery != "" || u.User != nil) {
			l.URL += "?" + redact.Redacted // record that something was left out
		}
		for _, h := range spec.Header {
			l.Headers = append(l.Headers, h.Name)
		}
	} else {
		for _, word := range redact.MaskWords(append([]string{spec.Command}, spec.Args...)) {
			l.Command = append(l.Command, c.Hide(word))
		}
		l.Package, l.Version = f.Machine.Resolved(spec)
	}
	l.Fields = append(l.Fields, slices.Sorted(maps.Keys(c.Config.Others(c.Entry)))...)
	found := c.Attempt.Found
	l.Server = c.Hide(plaintext.Clean(strings.TrimSpace(found.Name + " " + found.Version)))
	tools := slices.Clone(found.Tools)
	sorting.Stable(tools, func(a, b probe.Tool) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Definition, b.Definition))
	})
	for _, tool := range tools {
		l.Tools[unused(l.Tools, c.Hide(tool.Name))] = tool.Definition
	}
	if l.Values = c.valueHashes(key); l.Values != nil {
		l.Key = keyID(key)
		l.Seal = l.seal(key)
	}
	return l
}

// unused returns a name that no other tool has: redacted names may be equal.
func unused(tools map[string]string, name string) string {
	for n, free := 2, name; ; n++ {
		if _, taken := tools[free]; !taken {
			return free
		}
		free = fmt.Sprintf("%s (%d)", name, n)
	}
}

// sets returns the names of the variables that the entry itself sets.
func (s *Server) sets() (names []string) {
	if s.Real().URL != "" {
		return nil // those are for its headers, added by gauze wrap
	}
	names = s.Variables()
	slices.Sort(names)
	return names
}

// Bytes returns the content of the lock file.
func (l Lock) Bytes() []byte {
	text, _ := plaintext.EncodeJSON(l, "  ") // a Lock always encodes
	return append(text, '\n')
}

// maxLockBytes bounds a lock file; one with a thousand servers is a tenth of it.
const maxLockBytes = 10 << 20

// OpenLock reads a lock file and also returns its bytes. The file may come with a project, so it
// could be a pipe or a device.
func OpenLock(path string) (l Lock, text []byte, err error) {
	info, err := os.Stat(path)
	var cannot *fs.PathError
	switch {
	case errors.As(err, &cannot):
		return l, nil, fmt.Errorf("%s: %w", redact.Quote(path), cannot.Err) // err itself would contain the path unquoted
	case err != nil:
		return l, nil, err
	case !info.Mode().IsRegular():
		return l, nil, fmt.Errorf("%s is not a regular file. To create a lock file, run: gauze lock", redact.Quote(path))
	case info.Size() > maxLockBytes:
		return l, nil, fmt.Errorf("%s is too large for a lock file: %d bytes (limit: %d)", redact.Quote(path), info.Size(), maxLockBytes)
	}
	if text, err = os.ReadFile(path); err != nil {
		return l, nil, err
	}
	if l, err = ReadLock(text); err != nil {
		return l, nil, fmt.Errorf("%s: %w", redact.Quote(path), err)
	}
	return l, text, nil
}

// ReadLock parses a lock file.
func ReadLock(text []byte) (l Lock, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&l); err != nil { // err may quote the file
		return l, fmt.Errorf("not a gauze lock file, or damaged at byte %d. To create one, run: gauze lock", decoder.InputOffset())
	}
	switch {
	case l.Format == 0:
		return l, fmt.Errorf("not a gauze lock file. To create one, run: gauze lock")
	case l.Format > lockFormat:
		return l, fmt.Errorf("the lock file has format %d, which requires a newer version of gauze", l.Format)
	}
	for i, s := range l.Servers {
		if err := s.checkNames(); err != nil {
			return l, fmt.Errorf("server %d (%s) has %w. gauze lock never writes such a name, so the file must have been edited: use an earlier version of it, or delete it and run: gauze lock",
				i+1, redact.Quote(s.Client+"/"+s.Name), err)
		}
	}
	return l, nil
}

// The names of a lock become parts of an entry, so a name must not bring a value along. npm reads
// variables with / and : in their names, but ${A:-B} would be more than a name.
var (
	word       = regex.New(`^[a-z0-9-]+$`)
	envName    = regex.New(`^\w([\w.()/@-]|:[\w/@])*$`)
	headerName = regex.New("^[\\w!#$%&'*+.^`|~-]+$")
	fieldName  = regex.New(`^[^\pC]+$`)
)

// checkNames returns an error for the first name that is not one.
func (l Locked) checkNames() error {
	for _, all := range []struct {
		what  string
		valid *regex.Lazy
		names []string
	}{
		{"client", word, []string{l.Client}}, {"scope", word, []string{l.Scope}},
		{"variable name", envName, l.Env}, {"header name", headerName, l.Headers}, {"field name", fieldName, l.Fields},
	} {
		for _, name := range all.names {
			if !all.valid.MatchString(name) {
				return fmt.Errorf("an invalid %s: %s", all.what, cmp.Or(redact.Quote(name), `""`))
			}
		}
	}
	return nil
}

// Chosen returns the lock, marked as one of some servers if the choice names them.
func (l Lock) Chosen(c Choice) Lock {
	l.Partial = len(c.Names) > 0
	return l
}

// With returns the lock updated with the servers of a newer one. A lock of all servers stays one.
func (l Lock) With(newer Lock) Lock {
	l.Partial = newer.Partial && (l.Partial || len(l.Servers) == 0)
	l.Format, l.Made = newer.Format, newer.Made
	l.Servers = slices.DeleteFunc(slices.Clone(l.Servers), func(was Locked) bool {
		return slices.ContainsFunc(newer.Servers, was.same)
	})
	l.Servers = append(l.Servers, newer.Servers...)
	sorting.Stable(l.Servers, byID)
	return l
}

// Only returns the part of a lock that concerns the chosen servers.
func (l Lock) Only(c Choice) (Lock, error) {
	if _, err := Clients(c.Clients); err != nil {
		return l, err
	}
	l.Servers = slices.DeleteFunc(slices.Clone(l.Servers), func(was Locked) bool {
		named := len(c.Names) == 0 || slices.Contains(c.Names, was.Name) || slices.Contains(c.Names, was.Client+"/"+was.Name)
		return !named || len(c.Clients) > 0 && !slices.Contains(c.Clients, was.Client)
	})
	return l, nil
}

// Known returns the choice to verify: names that the lock has need not be in any file, and a
// partial lock chooses its own servers if the choice names none.
func (l Lock) Known(c Choice) Choice {
	all := l.Partial && len(c.Names) == 0
	for _, was := range l.Servers {
		c.Optional = append(c.Optional, was.Name, was.Client+"/"+was.Name)
		if all {
			c.Names = append(c.Names, was.Client+"/"+was.Name)
		}
	}
	return c
}

func (l Locked) same(other Locked) bool {
	return l.Client == other.Client && l.Name == other.Name && l.Scope == other.Scope
}

func byID(a, b Locked) int {
	return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Scope, b.Scope))
}

// Drift is a difference between a lock and the current state.
type Drift struct {
	Client string `json:"client"`
	Server string `json:"server"`
	Kind   string `json:"kind"` // config, version, tools, missing, extra, broken
	What   string `json:"what"`
}

// Uncompared says why values of variables, headers and query strings, or fields that only the client
// uses, cannot be compared with a lock. It returns "" if everything can.
func (f *Fleet) Uncompared(l Lock) string {
	key, err := f.lockKey(false)
	unnoted, unlisted, foreign := 0, 0, 0
	for _, s := range l.Servers {
		if s.Fields == nil {
			unlisted++
		}
		switch {
		case s.Values == nil:
			unnoted++
		case key == nil || s.Key != keyID(key):
			foreign++
		}
	}
	const values, old = "The values of variables, headers and query strings were not compared for ", ": the lock file was created by an older version of gauze, which did not record them. To record them, run: gauze lock"
	var all []string
	switch {
	case err != nil:
		all = append(all, values+"any server: "+err.Error())
	case foreign > 0:
		all = append(all, values+count(foreign, "server")+": they were recorded with another user's or machine's key.")
	case unnoted > 0:
		all = append(all, values+count(unnoted, "server")+old)
	}
	if unlisted > 0 && unnoted == 0 {
		all = append(all, "Fields such as envFile and trust were not compared for "+count(unlisted, "server")+old)
	}
	return strings.Join(all, " ")
}

// Verify compares servers with a lock. The tools of a server that does not work are not compared.
func (f *Fleet) Verify(l Lock, all []*Checked) (drifts []Drift) {
	key, _ := f.lockKey(false) // Uncompared reports the error
	seen := map[string]bool{}
	for _, was := range l.Servers {
		i := slices.IndexFunc(all, func(c *Checked) bool {
			return c.Client.ID == was.Client && c.Name == was.Name && string(c.Scope) == was.Scope
		})
		drift := func(kind, what string) {
			drifts = append(drifts, Drift{Client: was.Client, Server: was.Name, Kind: kind, What: what})
		}
		if i < 0 {
			drift("missing", "the server is in the lock file, but not in any configuration file")
			continue
		}
		c := all[i]
		seen[c.ID()+"\x00"+string(c.Scope)] = true
		now := f.locked(c, key)
		configured(was, now, drift)
		fields(was, now, drift)
		values(was, now, drift)
		if c.Wrapped && was.Values != nil && was.Key == now.Key && was.Values[wrapperKey] == "" && !f.wrappedByUs(c.Server) {
			drift("config", "the server is wrapped by another gauze binary, or with flags that gauze wrap does not add")
		}
		switch {
		case !c.Tried:
			drift("broken", "not tried: "+c.Not)
		case !c.Report.Healthy:
			drift("broken", "the server does not work: "+c.Hide(redact.Quote(c.Attempt.Stopped)))
		default:
			versions(was, now, drift)
			tools(was.Tools, now.Tools, drift)
		}
	}
	for _, c := range all {
		if !seen[c.ID()+"\x00"+string(c.Scope)] && c.Builtin == "" && !c.Disabled && c.Config.Place.Old == "" {
			drifts = append(drifts, Drift{Client: c.Client.ID, Server: c.Name, Kind: "extra", What: "the server is not in the lock file"})
		}
	}
	return drifts
}

func configured(was, now Locked, drift func(kind, what string)) {
	list := func(all []string) string { return redact.Quote(strings.Join(all, " ")) }
	switch {
	case !slices.Equal(was.Command, now.Command):
		drift("config", fmt.Sprintf("the command changed from %s to %s", list(was.Command), list(now.Command)))
	case was.URL != now.URL:
		drift("config", fmt.Sprintf("the URL changed from %s to %s", redact.Quote(was.URL), redact.Quote(now.URL)))
	}
	if !slices.Equal(was.Env, now.Env) {
		drift("config", fmt.Sprintf("the variables changed from %s to %s", list(was.Env), list(now.Env)))
	}
	if !slices.Equal(was.Headers, now.Headers) {
		drift("config", fmt.Sprintf("the headers changed from %s to %s", list(was.Headers), list(now.Headers)))
	}
}

// fields compares the names of fields that only the client uses. An older gauze did not record them.
func fields(was, now Locked, drift func(kind, what string)) {
	if was.Fields == nil {
		return
	}
	for _, name := range without(was.Fields, now.Fields) {
		drift("config", "the field "+redact.Quote(name)+" was removed")
	}
	for _, name := range without(now.Fields, was.Fields) {
		drift("config", "the field "+redact.Quote(name)+" was added")
	}
}

// without returns the words that others do not include.
func without(words, others []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return slices.Contains(others, word) })
}

// values compares what the lock holds as hashes. Visible changes are reported by configured.
func values(was, now Locked, drift func(kind, what string)) {
	if was.Values == nil || was.Key != now.Key {
		return
	}
	visible := map[string]bool{"command line": !slices.Equal(was.Command, now.Command), "address": was.URL != now.URL, "query": was.URL != now.URL}
	words := map[string]string{"command line": "a hidden argument of the command changed", "address": "a hidden part of the URL changed",
		"query": "the URL's query string changed", "working directory": "the working directory changed", wrapperKey: "the gauze binary that wraps it, or one of its flags, changed"}
	for _, what := range slices.Sorted(maps.Keys(was.Values)) {
		name, isVariable := strings.CutPrefix(what, "variable ")
		header, isHeader := strings.CutPrefix(what, "header ")
		field, isField := strings.CutPrefix(what, "field ")
		gone := isField && !slices.Contains(now.Fields, field) || what == wrapperKey && now.Values[what] == "" || isVariable && !slices.Contains(now.Env, name) || isHeader && !slices.Contains(now.Headers, header)
		if was.Values[what] != now.Values[what] && !visible[what] && !gone {
			drift("config", cmp.Or(words[what], "the value of the "+redact.Quote(what)+" changed"))
		}
	}
	if _, had := was.Values["working directory"]; !had && now.Values["working directory"] != "" {
		drift("config", words["working directory"])
	}
}

func versions(was, now Locked, drift func(kind, what string)) {
	switch {
	case was.Version != now.Version:
		drift("version", fmt.Sprintf("%s changed from %s to %s", redact.Quote(was.Package), redact.Quote(was.Version), redact.Quote(now.Version)))
	case was.Server != now.Server:
		drift("version", fmt.Sprintf("the server's name and version changed from %s to %s", redact.Quote(was.Server), redact.Quote(now.Server)))
	}
}

func tools(was, now map[string]string, drift func(kind, what string)) {
	for _, name := range slices.Sorted(maps.Keys(was)) {
		hash, there := now[name]
		switch {
		case !there:
			drift("tools", "the tool "+redact.Quote(name)+" was removed")
		case hash != was[name]:
			drift("tools", "the definition of tool "+redact.Quote(name)+" changed; review the new definition before you trust the tool")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, known := was[name]; !known {
			drift("tools", "the tool "+redact.Quote(name)+" was added")
		}
	}
}
