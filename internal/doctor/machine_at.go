package doctor

import (
	"net"
	"net/netip"

	"github.com/gauze-mcp/gauze/internal/upstream"
)

// At returns the machine as seen from a folder: servers without one of their
// own start there.
func (m *Machine) At(dir string) *Machine {
	return &Machine{OS: m.OS, Home: m.Home, Dir: dir, Root: m.Root, Env: m.Env, Run: m.Run, Dial: m.Dial, Lookup: m.Lookup, until: m.until, allow: m.allow}
}

// Only returns the machine restricted to addresses that allow accepts, for
// servers and for looks at the network alike.
func (m *Machine) Only(allow func(netip.AddrPort) error) *Machine {
	m = m.At(m.Dir)
	m.Dial, m.allow = (&net.Dialer{Control: upstream.Control(allow)}).DialContext, allow
	return m
}
