package fleet

import (
	"slices"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// What is written is what was tested: the values that differ, where the entry has them literally.
func TestWhatHealedIsWhatIsWritten(t *testing.T) {
	const old, now = "postgres://u:pw@localhost:5432/x", "postgres://u:pw@localhost:54320/x"
	written := launch.Spec{Command: "x", Args: []string{"--db", old}, Env: []string{"DB=" + old, "TOKEN=${TOKEN}"}}
	before := launch.Spec{Command: "x", Args: []string{"--db", old}, Env: []string{"PATH=/bin", "DB=inherited", "DB=" + old, "TOKEN=secret"}}
	for name, c := range map[string]struct {
		healed func(*launch.Spec)
		args   []string
		env    []string // nil if the change cannot be written
	}{
		"an argument":                 {func(s *launch.Spec) { s.Args[1] = now }, []string{"--db", now}, written.Env},
		"a variable":                  {func(s *launch.Spec) { s.Env[2] = "DB=" + now }, written.Args, []string{"DB=" + now, "TOKEN=${TOKEN}"}},
		"both":                        {func(s *launch.Spec) { s.Args[1], s.Env[2] = now, "DB="+now }, []string{"--db", now}, []string{"DB=" + now, "TOKEN=${TOKEN}"}},
		"an inherited one beside it":  {func(s *launch.Spec) { s.Env[1], s.Env[2] = "DB=other", "DB="+now }, written.Args, []string{"DB=" + now, "TOKEN=${TOKEN}"}},
		"nothing":                     {func(*launch.Spec) {}, nil, nil},
		"a reference":                 {func(s *launch.Spec) { s.Env[3] = "TOKEN=other" }, nil, nil},
		"a variable from elsewhere":   {func(s *launch.Spec) { s.Env = append(s.Env, "KEY=value") }, nil, nil},
		"a port and from elsewhere":   {func(s *launch.Spec) { s.Args[1] = now; s.Env = append(s.Env, "KEY=value") }, nil, nil},
		"a different program":         {func(s *launch.Spec) { s.Command = "/bin/x" }, nil, nil},
		"a different working folder":  {func(s *launch.Spec) { s.Dir = "/x" }, nil, nil},
		"one argument more than that": {func(s *launch.Spec) { s.Args = append(s.Args, "y") }, nil, nil},
	} {
		healed := before
		healed.Args, healed.Env = slices.Clone(before.Args), slices.Clone(before.Env)
		c.healed(&healed)
		got, ok := withValues(written, before, healed)
		if ok != (c.env != nil) || ok && (!slices.Equal(got.Args, c.args) || !slices.Equal(got.Env, c.env)) {
			t.Errorf("%s: %v %q %q", name, ok, got.Args, got.Env)
		}
		for _, wrapped := range []bool{true, false} {
			if kept := lasting(written, before, healed, wrapped); ok && (!slices.Equal(kept.Args, c.args) || !slices.Equal(kept.Env, c.env)) {
				t.Errorf("%s, wrapped %v: %q %q", name, wrapped, kept.Args, kept.Env)
			}
		}
	}
	if written.Args[1] != old || written.Env[0] != "DB="+old {
		t.Error("the entry itself was changed")
	}
}
