package fleet

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// addressesOf returns a check of which addresses may be dialed for a URL that the user did not
// write. A literal IP address and localhost are allowed, because the user saw them when they
// confirmed. A host name resolves to whatever its name server says at the time, so only public
// addresses are reached by name.
func addressesOf(address string) func(netip.AddrPort) error {
	host := ""
	if u, err := url.Parse(address); err == nil {
		host = strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	}
	literal, err := netip.ParseAddr(host)
	spelled := err == nil
	return func(to netip.AddrPort) error {
		addr := to.Addr().Unmap()
		switch {
		case spelled && addr.WithZone("") == literal.Unmap().WithZone(""):
			return nil
		case (host == "localhost" || strings.HasSuffix(host, ".localhost")) && addr.IsLoopback():
			return nil
		case launch.ReachOf(addr) == launch.Public:
			return nil
		}
		return fmt.Errorf("%s resolves to %s, which is not a public address; gauze does not connect to such addresses on behalf of an agent", host, addr)
	}
}
