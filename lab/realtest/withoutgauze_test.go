//go:build linux

package realtest

import (
	"errors"
	"fmt"
	"testing"
)

// What gauze is for: without it no client survives a restart of a server with sessions. If one learns to, this fails,
// and docs that say so are to be changed. Servers differ in how they say that a session is gone: 400, or, as the
// protocol wants it, 404.
func TestClientsWithoutGauzeDoNotSurviveARestart(t *testing.T) {
	clients := some(t, withSession, 3)
	for _, kind := range []webKind{everythingHTTP, sdkStateful(len(clients))} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			server := kind.start(t)
			c := newCrowd(t)
			c.dial(server.url(), clients...)
			c.settle(server)
			server.restart()
			c.all("without gauze", func(m *member) error {
				for range 2 { // not only the first call fails: it does not come back
					if m.must(server.read, server.want) == nil {
						return errors.New("a call after a restart succeeds: this client has learned it")
					}
				}
				if n := m.front.initialized(); n != 1 {
					return fmt.Errorf("it initialized %d times: this client has learned it", n)
				}
				return nil
			})

			// Nothing is wrong with the server.
			next := newCrowd(t)
			next.dial(server.url(), goSDKLegacy)
			next.settle(server)
		})
	}
}
