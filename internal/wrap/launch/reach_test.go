package launch

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestReachOf(t *testing.T) {
	for reach, addresses := range map[Reach]string{
		Public: "8.8.8.8 2606:4700::1111 64:ff9b::8.8.8.8 ::ffff:8.8.8.8",
		Private: "10.1.2.3 172.16.0.1 192.168.1.1 100.64.0.1 192.0.2.1 198.18.0.1 203.0.113.9 255.255.255.255 fd00::1 fec0::1 2001:db8::1 " +
			"::ffff:10.0.0.1 64:ff9b::10.0.0.1 64:ff9b:1::8.8.8.8 2002:808:808:: 2002:a00:1:: ::127.0.0.1 2606:4700::1111%eth0 fec0::1%eth0",
		Loopback: "127.0.0.1 127.8.9.10 ::1 ::ffff:127.0.0.1",
		Nowhere:  "0.0.0.0 0.1.2.3 :: 169.254.169.254 224.0.0.1 fe80::1 fe80::1%eth0 ff02::1 64:ff9b::127.0.0.1 64:ff9b::169.254.169.254 2002:7f00:1::",
	} {
		for address := range strings.FieldsSeq(addresses) {
			if got := ReachOf(netip.MustParseAddr(address)); got != reach {
				t.Errorf("%s: %d, want %d", address, got, reach)
			}
		}
	}
	if ReachOf(netip.Addr{}) != Nowhere {
		t.Error("no address is somewhere")
	}
}

func TestSameOrigin(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"https://h/a", "https://h:443/b?c"}: true, {"http://H", "http://h:80"}: true, {"https://h:", "https://h"}: true, {"http://[::1]:80/", "http://[::1]"}: true,
		{"https://h", "http://h"}: false, {"https://h", "https://h:80"}: false, {"https://h", "https://h:8443"}: false, {"https://h", "https://h.example"}: false,
		{"https://user@h", "https://h"}: true,
	} {
		a, err := url.Parse(pair[0])
		if err != nil {
			t.Fatal(err)
		}
		b, err := url.Parse(pair[1])
		if err != nil {
			t.Fatal(err)
		}
		if SameOrigin(a, b) != want {
			t.Errorf("%v: %v", pair, !want)
		}
	}
}
