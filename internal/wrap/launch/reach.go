package launch

import (
	"net/netip"
	"syscall"
)

// Reach says who can be at an IP address, from everyone to no one.
type Reach int

const (
	Public   Reach = iota
	Private        // on the user's network, or of a special purpose: not globally reachable
	Loopback       // on this machine
	Nowhere        // not an address of one server: link-local, multicast, unspecified
)

// ReachOf returns the reach of an IP address. One that leads to an IPv4 address has at least the
// reach of that.
func ReachOf(ip netip.Addr) Reach {
	zone := ip.Zone() != ""
	switch ip = ip.Unmap().WithZone(""); {
	case !ip.IsValid():
		return Nowhere
	case ip.IsLoopback():
		return Loopback
	case nat64.Contains(ip), sixToFour.Contains(ip):
		b, at := ip.As16(), 12
		if sixToFour.Contains(ip) {
			at = 2
		}
		reach := ReachOf(netip.AddrFrom4([4]byte(b[at : at+4])))
		if reach == Loopback {
			return Nowhere // the loopback address of a gateway
		}
		if sixToFour.Contains(ip) {
			return max(reach, Private) // a tunnel
		}
		return reach
	case ip.IsLinkLocalUnicast(), ip.IsMulticast(), ip.IsUnspecified(), thisNetwork.Contains(ip):
		return Nowhere
	case ip.IsPrivate(), zone:
		return Private
	}
	for _, block := range special {
		if block.Contains(ip) {
			return Private
		}
	}
	return Public
}

// StandIn are addresses that local proxies give to names for which they connect.
var StandIn = netip.MustParsePrefix("198.18.0.0/15")

var (
	nat64       = netip.MustParsePrefix("64:ff9b::/96") // leads to the IPv4 address at its end
	sixToFour   = netip.MustParsePrefix("2002::/16")    // leads to the IPv4 address after it
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
)

// special are the other blocks that the IANA registries of special-purpose addresses do not list as
// globally reachable. Some networks use them as their own: carriers 100.64.0.0/10, local proxies
// 198.18.0.0/15.
var special = prefixes(
	"100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10",
)

func prefixes(all ...string) (blocks []netip.Prefix) {
	for _, text := range all {
		blocks = append(blocks, netip.MustParsePrefix(text))
	}
	return blocks
}

// Control returns a function for net.Dialer that asks allow about each address after name
// resolution, so that a later DNS response cannot get around it.
func Control(allow func(netip.AddrPort) error) func(network, address string, _ syscall.RawConn) error {
	if allow == nil {
		return nil
	}
	return func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return allow(to)
	}
}
