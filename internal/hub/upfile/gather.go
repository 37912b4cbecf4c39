package upfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/hub/names"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Gather plans to move the servers of a view to the file at a path, which need not exist, and to leave one
// entry in each client's file, that of gauze connect. remote includes servers that their client may be
// logged in to. What the file has already stays as it is.
func Gather(fl *fleet.Fleet, view *fleet.View, path string, remote bool) (fleet.Plan, error) {
	e, err := edit(fl, path)
	if err != nil {
		return fleet.Plan{}, err
	}
	return view.Gather(fleet.Gathering{File: e.config, Remote: remote, Kept: e.kept, Write: e.with})
}

// editor adds servers to a file.
type editor struct {
	fleet  *fleet.Fleet
	config *clientconfig.Config
	file   *File // empty if it does not exist
	added  []Given
}

// edit reads the file at a path, which need not exist.
func edit(fl *fleet.Fleet, path string) (*editor, error) {
	e := &editor{fleet: fl, config: Config(fl, path), file: &File{Path: path}}
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if e.config.Err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, e.config.Err)
	}
	if e.file, err = parse(path, path, e.config.Text, Options{Fleet: fl}); err != nil {
		return nil, fmt.Errorf("%w\nnext: correct the file, and try again", err)
	}
	return e, nil
}

// InFleet is the path of the file of gauze up, which need not exist, as a Fleet uses it.
type InFleet string

// Add returns the file, and its text with one more server.
func (path InFleet) Add(fl *fleet.Fleet, s fleet.NewServer) (*clientconfig.Config, []byte, error) {
	e, err := edit(fl, string(path))
	if err != nil {
		return nil, nil, err
	}
	old := e.file.Server(names.Key(s.Name))
	switch {
	case old != nil && old.origin.entry == nil && same(old.origin.bare(), s.Spec):
		return e.config, e.config.Text, nil
	case old != nil && !s.Replace:
		return nil, nil, fmt.Errorf("%s has another server with the key %s; use --replace to overwrite it", fl.Tilde(string(path)), old.Key)
	}
	e.added = []Given{{Key: names.Key(s.Name), Spec: s.Spec}}
	text, err := e.text()
	return e.config, text, err
}

// Config returns the file at a path, which need not exist, as if gauze were a client with such a file.
func Config(fl *fleet.Fleet, path string) *clientconfig.Config {
	if _, err := os.Stat(path); err != nil {
		return fl.Home.ReadText(fl.Home.Up(path), nil)
	}
	return fl.Home.Read(fl.Home.Up(path))
}

// Read returns the servers that the file itself describes, as gauze up starts or reaches them.
func (path InFleet) Read(fl *fleet.Fleet) (up fleet.UpServers) {
	e, err := edit(fl, string(path))
	if err != nil {
		at := fl.Home.Up(string(path))
		if up.Problems = inFleet(at, clientconfig.Error, err); up.Problems == nil {
			up.Problems = append(up.Problems, at.UpProblem(clientconfig.Error, 0, 0, err.Error()))
		}
		return up
	}
	if !e.config.Exists {
		return up
	}
	up.Config, up.Pending = e.config, map[string]string{}
	up.Config.Keep(func(entry clientconfig.Entry) bool {
		s := e.file.Server(entry.Name)
		return s != nil && s.origin.entry == nil && !s.origin.missing()
	})
	for i := range up.Config.Entries {
		entry := &up.Config.Entries[i]
		s := e.file.Server(entry.Name)
		entry.Line, up.Pending[s.Key] = s.origin.line, s.Pending
		if spec := s.Spec; len(s.Unset) == 0 && entry.Inner == nil {
			spec.Others = entry.Spec.Others
			entry.Spec = spec
		}
	}
	_, tokens := e.file.Pinned(fl.Home.Getenv, nil)
	up.Problems = append(inFleet(up.Config.File, clientconfig.Warning, e.file.Missing), inFleet(up.Config.File, clientconfig.Warning, tokens)...)
	return up
}

// inFleet returns what is wrong with a file as a Fleet shows it.
func inFleet(at clientconfig.File, severity clientconfig.Severity, err error) (all []clientconfig.Problem) {
	var problems Problems
	errors.As(err, &problems)
	for _, p := range problems {
		what := p.Message
		if p.Key != "" {
			what = p.Key + ": " + what
		}
		all = append(all, at.UpProblem(severity, p.Line, p.Column, plaintext.Clean(what)))
	}
	return all
}

// Apart returns how the servers of a view differ from those of the file at a path, which need not exist.
func Apart(fl *fleet.Fleet, view *fleet.View, path string) ([]fleet.Difference, error) {
	e, err := edit(fl, path)
	if err != nil {
		return nil, err
	}
	return view.Apart(e.config, e.kept), nil
}

// Check returns what is wrong with a plan that changes the file, or nil.
func (path InFleet) Check(fl *fleet.Fleet, plan fleet.Plan) error {
	for _, c := range plan.Changes {
		if c.Path != string(path) {
			continue
		}
		if _, err := parse(c.Path, c.Path, c.New, Options{Fleet: fl}); err != nil {
			return fmt.Errorf("the file of gauze up would not be valid: %w", err)
		}
	}
	return nil
}

// kept returns why a server stays in its client's file: the file refers to it there.
func (e *editor) kept(s *fleet.Server) string {
	for i := range e.file.Servers {
		if entry := e.file.Servers[i].origin.entry; entry != nil && entry.ID() == s.ID() && entry.File == s.File {
			return fmt.Sprintf("%s already includes it, as %s", e.fleet.Tilde(e.file.Path), e.file.Servers[i].Key)
		}
	}
	return ""
}

// with returns the file with more servers, and their keys.
func (e *editor) with(all []fleet.Moved) (text []byte, keys []string, err error) {
	e.added = nil
	for _, m := range all {
		e.add(m.Name, m.Client.ID, m.ID(), m.As.Spec, Filter{m.As.Allow, m.As.Deny})
	}
	for _, s := range e.added {
		keys = append(keys, s.Key)
	}
	text, err = e.text()
	return text, keys, err
}

// text returns the text of the file with what was added. It is valid.
func (e *editor) text() ([]byte, error) {
	if len(e.added) == 0 {
		return e.config.Text, nil
	}
	if err := e.checkMode(); err != nil {
		return nil, err
	}
	text, err := extend(e.config.Text, e.added)
	if err != nil {
		return nil, fmt.Errorf("cannot add servers to %s: %w", e.file.Path, err)
	}
	if _, err := parse(e.file.Path, e.file.Path, text, Options{Fleet: e.fleet}); err != nil {
		return nil, fmt.Errorf("cannot add servers to %s: %w", e.file.Path, err)
	}
	return text, nil
}

// add adds a server, unless the file has it with no more tools than the client selects, and returns its key.
// The same server of several clients is added once, with the tools that all of them select.
func (e *editor) add(name, client, from string, spec launch.Spec, tools Filter) string {
	for i := range e.file.Servers {
		if s := &e.file.Servers[i]; s.origin.entry == nil && same(s.origin.bare(), spec) && s.Tools.within(tools) {
			return s.Key
		}
	}
	for i := range e.added {
		if s := &e.added[i]; same(s.Spec, spec) {
			if both, ok := s.Tools.and(tools); ok {
				s.Tools, s.From = both, append(s.From, from)
				return s.Key
			}
		}
	}
	taken := func(key string) bool {
		return e.file.Server(key) != nil || slices.ContainsFunc(e.added, func(s Given) bool { return s.Key == key })
	}
	key := keyFor(name, client, taken)
	e.added = append(e.added, Given{Key: key, From: []string{from}, Spec: spec, Tools: tools})
	return key
}

// bare returns the server as it is written, without policies.
func (o *origin) bare() launch.Spec {
	plain := *o
	plain.policies = nil
	return plain.written()
}

// and returns a filter that admits what both admit. It returns false if one filter cannot say that.
func (f Filter) and(other Filter) (both Filter, ok bool) {
	both.Deny = slices.Concat(f.Deny, other.Deny)
	slices.Sort(both.Deny)
	both.Deny = slices.Compact(both.Deny)
	switch {
	case len(f.Allow) == 0:
		both.Allow = other.Allow
	case len(other.Allow) == 0:
		both.Allow = f.Allow
	default:
		both.Allow = slices.DeleteFunc(slices.Clone(f.Allow), func(glob string) bool { return !slices.Contains(other.Allow, glob) })
		return both, len(both.Allow) > 0
	}
	return both, true
}

// within reports whether everything that the filter admits is admitted by the other one as well, as far as
// their patterns show it.
func (f Filter) within(other Filter) bool {
	denies := func(glob string) bool { return slices.Contains(f.Deny, glob) }
	allowed := func(glob string) bool { return slices.Contains(other.Allow, glob) }
	return all(other.Deny, denies) && (len(other.Allow) == 0 || len(f.Allow) > 0 && all(f.Allow, allowed))
}

func all(globs []string, is func(string) bool) bool {
	return !slices.ContainsFunc(globs, func(glob string) bool { return !is(glob) })
}

// checkMode returns an error if other users could read a secret that is added to the file.
func (e *editor) checkMode() error {
	info, err := os.Stat(e.file.Path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o044 == 0 {
		return nil
	}
	if slices.ContainsFunc(e.added, Given.hasSecret) {
		return fmt.Errorf("other users of this machine can read %s, and it would contain secrets\nnext: chmod 600 %[1]s", e.file.Path)
	}
	return nil
}

// hasSecret reports whether a server is written with a secret and not only with references.
func (s Given) hasSecret() bool {
	is := func(name, value string) bool {
		return !strings.Contains(value, "${") && redact.NamesSecret(name, value)
	}
	for _, pair := range s.Spec.Env {
		if name, value, _ := strings.Cut(pair, "="); is(name, value) {
			return true
		}
	}
	words := append([]string{s.Spec.Command}, s.Spec.Args...)
	return slices.ContainsFunc(s.Spec.Header, func(h launch.Header) bool { return is(h.Name, h.Value) }) ||
		!slices.Equal(redact.MaskWords(words), words) || redact.MaskAddress(s.Spec.URL) != s.Spec.URL
}

// ConfirmAdded remembers that the user has seen the servers with these keys, which a plan that the user
// confirmed has added to the file.
func ConfirmAdded(fl *fleet.Fleet, plan fleet.Plan) {
	for _, c := range plan.Changes {
		before, err := parse(c.Path, c.Path, c.Old, Options{Fleet: fl})
		if c.Client.ID != clientconfig.UpID {
			continue
		}
		now, wrong := Read(c.Path, Options{Fleet: fl})
		if wrong != nil {
			return
		}
		for i := range now.Servers {
			s := &now.Servers[i]
			if isNew := err != nil || before.Server(s.Key) == nil; isNew && s.Pending != "" && s.origin.entry == nil {
				s.Confirm()
			}
		}
	}
}
