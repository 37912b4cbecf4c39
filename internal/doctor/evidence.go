package doctor

import (
	"errors"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"

	"github.com/gauze-mcp/gauze/internal/upstream"
)

// FromEvidence makes a case of what we saw ourselves.
func FromEvidence(spec upstream.Spec, e upstream.Evidence) Case {
	c := Case{
		URL:     spec.URL,
		Stderr:  strings.Join(e.Stderr, "\n"),
		Stdout:  strings.Join(e.Stray, "\n"),
		Secrets: spec.Secrets(),
	}
	if spec.Command != "" {
		c.Command = append([]string{spec.Command}, spec.Args...)
	}
	switch e.Stage {
	case upstream.Started:
		c.Stage = Started
	case upstream.Spoke:
		c.Stage = Spoke
	}
	if e.Spawn != nil && e.Remote {
		c.Log = e.Spawn.Error()
	} else if e.Spawn != nil {
		c.Spawn = spawnOf(spec, e.Spawn)
		c.Log = e.Spawn.Error()
	}
	if e.Exit != "" {
		c.Exit = Exit{Known: true, Code: e.Code, After: e.Ran, Said: e.Exit}
		if signal, ok := strings.CutPrefix(e.Exit, "signal: "); ok {
			c.Exit.Signal = signal
		}
	}
	return c
}

// spawnOf reads the operating system's error. It says ENOENT for a program, an
// interpreter and a folder alike; which of them is meant, the path tells.
func spawnOf(spec upstream.Spec, err error) Spawn {
	s := Spawn{Path: spec.Command, Of: "command"}
	var number syscall.Errno
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		s.Errno = "ENOENT"
	case errors.Is(err, fs.ErrPermission):
		s.Errno = "EACCES"
	case errors.As(err, &number):
		s.Errno = number.Error()
	}
	var where *fs.PathError
	if errors.As(err, &where) && where.Op == "chdir" {
		s.Path, s.Of = where.Path, "cwd"
	}
	return s
}
