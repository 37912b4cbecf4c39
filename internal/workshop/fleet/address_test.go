package fleet

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/workshop/trust"
)

func TestWhichAddressesAreReachedForAnAgent(t *testing.T) {
	private := []string{"127.0.0.1", "127.8.9.10", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254", "224.0.0.1", "255.255.255.255",
		"::1", "::", "fd00::1", "fe80::1", "ff02::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1", "fd00:ec2::254"}
	for _, address := range private {
		addr := netip.MustParseAddr(address)
		for _, u := range []string{"https://mcp.example.com/mcp", "https://printer.local/mcp", "", "https://8.8.8.8/mcp"} {
			if addressesOf(u)(netip.AddrPortFrom(addr, 443)) == nil {
				t.Errorf("%s may be at %s", u, address)
			}
		}
		spelled := "http://" + net.JoinHostPort(address, "3000") + "/mcp"
		if err := addressesOf(spelled)(netip.AddrPortFrom(addr, 3000)); err != nil {
			t.Errorf("%s was agreed to: %v", spelled, err)
		}
	}
	for _, address := range []string{"8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"} {
		if err := addressesOf("https://mcp.example.com/mcp")(netip.AddrPortFrom(netip.MustParseAddr(address), 443)); err != nil {
			t.Error(err)
		}
	}
	if addressesOf("http://localhost:3000/mcp")(netip.MustParseAddrPort("127.0.0.1:3000")) != nil || addressesOf("http://localhost:3000/mcp")(netip.MustParseAddrPort("10.0.0.1:3000")) == nil {
		t.Error("localhost is this machine and no other")
	}
}

// resolveTo answers every question for a name with one IPv4 address.
func resolveTo(t *testing.T, address netip.Addr) {
	t.Helper()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		resolver, server := net.Pipe()
		go answerNames(server, address)
		return resolver, nil
	}}
	t.Cleanup(func() { net.DefaultResolver = before })
}

// answerNames is a name server for one connection, which is a stream: each message follows its length.
func answerNames(conn net.Conn, address netip.Addr) {
	defer conn.Close()
	for {
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		end := 12
		for end < len(query) && query[end] != 0 {
			end += int(query[end]) + 1
		}
		question := query[12 : end+5]
		answer := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
		if binary.BigEndian.Uint16(question[len(question)-4:]) == 1 { // A
			answer[7] = 1
			answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
			answer = append(answer, address.AsSlice()...)
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// A name that leads into this machine is not followed for an agent, whatever
// anybody agreed to; the user's own is.
func TestANameLeadsAnAgentNowherePrivate(t *testing.T) {
	resolveTo(t, netip.MustParseAddr("127.0.0.1"))
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.NotFound(w, r)
	}))
	defer server.Close()
	u, _ := url.Parse(server.URL)
	h := newHome(t)
	for _, c := range []struct {
		from    trust.Source
		host    string
		reached bool
	}{{trust.Agent, "rebind.example.com", false}, {trust.Agent, "localhost", true}, {trust.Agent, "127.0.0.1", true}, {trust.Entry, "rebind.example.com", true}} {
		asked.Store(0)
		h.fleet.Machine.Dial = (&net.Dialer{}).DialContext
		got, err := h.fleet.Try(context.Background(), Request{From: c.from, URL: "http://" + net.JoinHostPort(c.host, u.Port()) + "/mcp", Heal: true, Timeout: 5 * time.Second})
		if err != nil || (asked.Load() > 0) != c.reached {
			t.Errorf("%v %s: %d requests, %v, %s", c.from, c.host, asked.Load(), err, got.Attempt.Stopped)
		}
	}
}
