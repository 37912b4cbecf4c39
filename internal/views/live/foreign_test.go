package live_test

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

// A file that no wrap wrote must not make gauze status connect to a different machine or service.
func TestOnlyAddressesOfWrapsAreConnectedTo(t *testing.T) {
	for _, c := range []struct{ name, listen, network, host string }{
		{"a name, which may resolve to any machine", "127.0.0.1:0", "tcp", "localhost"},
		{"a different network", "127.0.0.1:0", "tcp4", "127.0.0.1"},
		{"the socket of a different program", filepath.Join(stateDir(t), "agent.sock"), "unix", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			windowstest.Skip(t)
			network := strings.TrimSuffix(c.network, "4")
			l, err := net.Listen(network, c.listen)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			address := l.Addr().String()
			if _, port, err := net.SplitHostPort(address); err == nil && network == "tcp" {
				address = net.JoinHostPort(c.host, port)
			}
			first := make(chan string, 1)
			go func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				sent := make([]byte, 5)
				conn.Read(sent)
				first <- string(sent)
			}()
			dir := stateDir(t)
			write(t, filepath.Join(dir, "live", "4131-1.json"), map[string]any{"pid": 1, "network": c.network, "address": address, "name": "foreign", "token": "t"})
			if all, err := live.All(t.Context(), dir); err != nil || len(all) != 0 {
				t.Errorf("%+v, %v", all, err)
			}
			if err := live.Restart(t.Context(), dir, "4131-1"); !errors.Is(err, live.ErrGone) {
				t.Errorf("restart: %v", err)
			}
			conn, err := net.Dial(network, l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.Write([]byte("test\n"))
			if got := <-first; got != "test\n" {
				t.Errorf("something else connected first and sent %q", got)
			}
		})
	}
}

// What a wrap says is shown on terminals, so that its words must be only words.
func TestWordsOfAWrapAreCleaned(t *testing.T) {
	const hostile = "a\x1b]0;title\x07\x1b[31m\nb\u202ec\x00"
	said := live.Server{ID: "../../x", Name: hostile, Client: hostile, Via: hostile, Version: hostile, State: hostile, LastReason: hostile}
	dir := stateDir(t)
	a := announce(t, dir, hostile, live.Source{
		Server:  func() live.Server { return said },
		Detail:  func() live.Detail { return live.Detail{Server: said} },
		Restart: func() error { return errors.New(hostile) },
	})
	defer a.Close()
	all, err := live.All(t.Context(), dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	detail, err := live.One(t.Context(), dir, a.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []live.Server{all[0], detail.Server} {
		for _, word := range []string{s.Name, s.Client, s.Via, s.Version, s.State, s.LastReason} {
			if word != plaintext.Clean(hostile) {
				t.Errorf("%q", word)
			}
		}
		if s.ID != a.ID {
			t.Errorf("its ID is %q", s.ID)
		}
	}
	if err := live.Restart(t.Context(), dir, a.ID); err == nil || err.Error() != plaintext.Clean(hostile) {
		t.Errorf("restart: %q", err)
	}
}
