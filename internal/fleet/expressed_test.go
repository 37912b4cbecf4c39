package fleet

import (
	"slices"
	"testing"

	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/launch"
)

// The user is asked about what a file can say: what was tested is what is written, in the entry's own words.
func TestWhatAnEntryCanExpress(t *testing.T) {
	written := launch.Spec{Command: "uvx", Args: []string{"notes", "--dir", "${HOME}/x"}, Env: []string{"A=${A}"}}
	before := launch.Spec{Command: "uvx", Args: []string{"notes", "--dir", "/home/me/x"}, Env: []string{"A=1"}}
	for name, test := range map[string]struct {
		now  launch.Spec
		want []string // command and arguments; nil if it cannot be expressed
	}{
		"another program":      {launch.Spec{Command: "/bin/notes", Args: []string{"--dir", "/home/me/x"}, Env: before.Env}, []string{"/bin/notes", "--dir", "${HOME}/x"}},
		"a different argument": {launch.Spec{Command: "uvx", Args: []string{"other", "--dir", "/home/me/x"}, Env: before.Env}, []string{"uvx", "other", "--dir", "${HOME}/x"}},
		"fewer arguments":      {launch.Spec{Command: "uvx", Args: []string{"--dir", "/home/me/x"}, Env: before.Env}, nil},
		"other arguments":      {launch.Spec{Command: "/bin/notes", Args: []string{"--dir", "/home/me/y"}, Env: before.Env}, nil},
		"a variable as well":   {launch.Spec{Command: "/bin/notes", Args: []string{"--dir", "/home/me/x"}, Env: []string{"A=2"}}, nil},
		"a directory as well":  {launch.Spec{Command: "/bin/notes", Args: []string{"--dir", "/home/me/x"}, Env: before.Env, Dir: "/x"}, nil},
	} {
		var got []string
		agree := agreeing(written, before, func(o Offer) bool {
			got = append([]string{o.Spec.Command}, o.Spec.Args...)
			return slices.Equal(o.Spec.Env, written.Env)
		})
		if asked := agree(doctor.Fix{}, test.now); asked != (test.want != nil) || !slices.Equal(got, test.want) {
			t.Errorf("%s: asked about %q, want %q", name, got, test.want)
		}
	}
}
