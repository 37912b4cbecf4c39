package fleet

import (
	"fmt"
	"slices"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// Use returns the server with this name, NAME or CLIENT/NAME, whose tools are to be called. Of servers
// with the same name, the user's own counts, not a project's. ask is as in CheckOptions.
func (v *View) Use(name string, ask func(*Server) error) (*Server, error) {
	all, err := v.Choose(Choice{Names: []string{name}})
	if err != nil {
		return nil, err
	}
	if own := slices.DeleteFunc(slices.Clone(all), func(s *Server) bool { return s.Config.InProject() }); len(own) > 0 {
		all = own
	}
	usable := slices.DeleteFunc(slices.Clone(all), func(s *Server) bool { return s.Disabled || s.Config.Place.Old != "" })
	if len(usable) > 0 {
		all = usable
	}
	for _, other := range all[1:] {
		if other.Real().Fingerprint() != all[0].Real().Fingerprint() {
			return nil, fmt.Errorf("%d different servers are named %q: use CLIENT/NAME, or remove all but one", len(all), plaintext.Clean(name))
		}
	}
	if not := all[0].whyNotTried(CheckOptions{Ask: ask}); not != "" {
		return nil, fmt.Errorf("%s was not started: %s", plaintext.Clean(all[0].ID()), not)
	}
	return all[0], nil
}

// LaunchNamed returns how the server with this name is started or reached, as configured for a
// directory. ask is as in CheckOptions.
func (f *Fleet) LaunchNamed(name, dir string, ask func(*Server) error) (launch.Spec, error) {
	f = f.At(dir)
	server, err := f.Look().Use(name, ask)
	if err != nil {
		return launch.Spec{}, err
	}
	return f.Launch(server), nil
}

// At returns the fleet as seen from a directory, whose project counts. Empty: the fleet itself.
func (f *Fleet) At(dir string) *Fleet {
	if dir == "" {
		return f
	}
	there := *f
	there.Home.Project = dir
	return &there
}

// LaunchGiven returns how a server is started or reached that an agent named: outside of the project,
// and only at addresses that the user could review. The Remote is nil for a command; otherwise the
// caller closes it.
func (f *Fleet) LaunchGiven(s launch.Spec) (launch.Spec, *upstream.Remote, error) {
	if s.URL != "" {
		remote, err := upstream.NewRemoteVia(s, upstream.Access{Allow: addressesOf(s.URL)})
		return s, remote, err
	}
	s.Dir = f.GivenDir(s.Dir)
	s.Env = append(slices.Clone(f.Home.Environ), s.Env...)
	return f.start(s, s.Dir, false), nil, nil
}

// GivenDir returns the directory in which a server starts that an agent named: dir, or outside of the
// project if it is empty or relative.
func (f *Fleet) GivenDir(dir string) string { return launch.Spec{Dir: dir}.In(f.folder(false)).Dir }
