package doctor

import "github.com/gauze-mcp/gauze/internal/upstream"

// Risk is what a fix touches, and so whose word it needs.
type Risk int

const (
	Runtime Risk = iota // only how the same program is started or reached: ours to try
	Config              // what stands in a configuration: a person says yes
	Install             // something is installed, fetched or removed
	Secret              // a secret is needed, or goes somewhere new
	Person              // nothing a program should do
)

func (r Risk) String() string {
	return [...]string{"runtime", "config", "install", "secret", "person"}[r]
}

// Fix is a named change to a Spec that is explained in one line. The Spec it
// is applied to stays as it is: undoing is not keeping the new one.
type Fix struct {
	Name  string
	Risk  Risk
	About string // what it changes and why, in one line
	Guess bool   // only a server that speaks shows that it was right
	Apply func(upstream.Spec) upstream.Spec
	Next  string // the command or the change a person makes to have it for good
}
