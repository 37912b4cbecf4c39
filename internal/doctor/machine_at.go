package doctor

import (
	"net"
	"net/netip"

	"github.com/gauze-mcp/gauze/internal/upstream"
)

// At returns the machine as seen from a directory, in which servers without a directory of their
// own start.
func (m *Machine) At(dir string) *Machine {
	return &Machine{OS: m.OS, Home: m.Home, Dir: dir, Root: m.Root, Project: m.Project, Entries: m.Entries, Env: m.Env, Run: m.Run, Dial: m.Dial, Lookup: m.Lookup, Required: m.Required, until: m.until, allow: m.allow, local: m.local}
}

// Only returns the machine restricted to addresses that allow accepts, for servers and for network
// look-ups. Whether a port of this machine accepts connections can still be checked.
func (m *Machine) Only(allow func(netip.AddrPort) error) *Machine {
	m = m.At(m.Dir)
	if m.local == nil {
		m.local = m.Dial
	}
	m.Dial, m.allow = (&net.Dialer{Control: upstream.Control(allow)}).DialContext, allow
	return m
}
