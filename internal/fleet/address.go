package fleet

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
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
		case isPublic(addr):
			return nil
		}
		return fmt.Errorf("%s resolves to %s, which is not a public address; gauze does not connect to such addresses for an agent", host, addr)
	}
}

// isPublic reports whether an address is on the public internet: not on this machine or in a
// private or carrier network, and not one that embeds another address.
func isPublic(a netip.Addr) bool {
	a = a.Unmap()
	if b := a.As16(); a.Is6() && translated.Contains(a) { // an IPv4 address as mapped by NAT64
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, block := range notPublic {
		if block.Contains(a.WithZone("")) {
			return false
		}
	}
	return a.IsGlobalUnicast() && !a.IsPrivate() && a.Zone() == ""
}

// notPublic are the blocks that the IANA registries of special-purpose addresses do not list as
// globally reachable, and those that tunnel to an IPv4 address.
var notPublic = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16",
	"fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

var translated = netip.MustParsePrefix("64:ff9b::/96")

func prefixes(all ...string) (blocks []netip.Prefix) {
	for _, text := range all {
		blocks = append(blocks, netip.MustParsePrefix(text))
	}
	return blocks
}
