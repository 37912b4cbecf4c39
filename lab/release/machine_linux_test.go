package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/lab/programs"
)

// machine is a user's machine without Go, with what is installed on it.
type machine struct {
	t   *testing.T
	env []string
	dir string
}

// try runs a line of a shell.
func (m *machine) try(line string) (string, error) {
	m.t.Helper()
	cmd := exec.CommandContext(patience.Context(m.t), "/bin/sh", "-c", line)
	cmd.Env, cmd.Dir = m.env, m.dir
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// do is try for a line that must succeed.
func (m *machine) do(line string) string {
	m.t.Helper()
	said, err := m.try(line)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", line, err, said)
	}
	return said
}

// installed returns gauze as the machine finds it.
func (m *machine) installed(r *release, channel string) installation {
	return installation{gauze: []string{"gauze"}, env: m.env, version: r.version, channel: channel}
}

// tryOut runs the installed gauze: completely in a run of everything, otherwise without the demo.
func (m *machine) tryOut(r *release, channel string) {
	m.t.Helper()
	if programs.Everything() {
		tryOut(m.t, m.installed(r, channel))
		return
	}
	wantVersion(m.t, m.installed(r, channel))
	wantAnswer(m.t, m.installed(r, channel))
}

func (m *machine) file(name string) string { return filepath.Join(m.dir, filepath.FromSlash(name)) }

// onPath returns the environment with directories first on the PATH.
func onPath(env []string, dirs ...string) []string {
	return append(slices.Clip(env), "PATH="+strings.Join(append(dirs, valueIn(env, "PATH")), ":"))
}

// foreign is a system for which no program is needed to see that it is not installed here.
var foreign = target{"darwin", "arm64"}

type twoMade struct{ old, new *release }

var makeTwo = sync.OnceValues(func() (twoMade, error) {
	first, err := build()
	if err != nil {
		return twoMade{}, err
	}
	old, new := *first, *first
	old.dir, new.dir, new.version = filepath.Join(kept, "old"), filepath.Join(kept, "new"), "1.3.0"
	for _, r := range []*release{&old, &new} {
		r.targets = []target{linux, foreign}
		for _, t := range r.targets {
			if err := os.MkdirAll(filepath.Dir(r.binary(released[0], t)), 0o755); err != nil {
				return twoMade{}, err
			}
		}
		if err := os.WriteFile(r.binary(released[0], foreign), []byte("for another system"), 0o755); err != nil {
			return twoMade{}, err
		}
	}
	if err := os.Link(first.binary(released[0], linux), old.binary(released[0], linux)); err != nil {
		return twoMade{}, err
	}
	err = released[0].build(context.Background(), new.root, new.binary(released[0], linux), new.stamp, linux)
	return twoMade{&old, &new}, err
})

// twoReleases returns releases for this system and a foreign one, whose program is a stand-in. They are made once for all
// tests; the second is the newer one.
func twoReleases() (old, new *release, err error) {
	both, err := makeTwo()
	return both.old, both.new, err
}
