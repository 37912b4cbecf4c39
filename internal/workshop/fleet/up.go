package fleet

import (
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// UpFile is the file of gauze up. Package upfile, which uses this one, reads and changes it.
type UpFile interface {
	// Read returns what the file has now.
	Read(f *Fleet) UpServers
	// Add returns the file with one more server.
	Add(f *Fleet, s NewServer) (up *clientconfig.Config, text []byte, err error)
	// Check returns what would be wrong with the file after a plan.
	Check(f *Fleet, p Plan) error
}

// UpServers is what the file of gauze up has. The zero value is a file that does not exist.
type UpServers struct {
	Config   *clientconfig.Config   // with the servers that the file itself describes, not those of clients; nil: nothing of it is used
	Pending  map[string]string      // why a server is not started before the user has confirmed it, by its name
	Problems []clientconfig.Problem // of the file
}

// beside returns the servers of gauze up with those of clients.
func (up UpServers) beside(f *Fleet, configs []*clientconfig.Config) *View {
	if up.Config != nil {
		configs = append(configs, up.Config)
	}
	v := f.view(configs)
	for _, s := range v.Servers {
		if s.Config == up.Config {
			s.pending = up.Pending[s.Name]
		}
	}
	v.Problems = append(v.Problems, up.Problems...)
	return v
}

// OfUp reports whether an entry is one of the file of gauze up, and not of a client's.
func OfUp(e *clientconfig.Entry) bool { return e.Client.ID == clientconfig.UpID }

// Through reports whether clients reach the server of an entry through gauze: by gauze run or gauze up.
func Through(e *clientconfig.Entry) bool { return e.Wrapped || OfUp(e) }

// through returns the command through which clients reach the server of an entry.
func through(e *clientconfig.Entry) string {
	if OfUp(e) {
		return "gauze up"
	}
	return "gauze run"
}

// Connects reports whether a command is gauze connect.
func Connects(s launch.Spec) bool { return (&clientconfig.Entry{Spec: s}).Connects() }

const (
	ForUp      = "stands for the servers of gauze up"              // what an entry of gauze connect is
	ToollessUp = "none of the servers of gauze up lists any tools" // what it means that gauze connect lists none
)
