//go:build linux

package realtest

import "testing"

// Clients that know only stdio, gauze run --url, and a server with sessions that is killed and started again: over
// streamable HTTP, and over the transport of 2024-11-05, whose session is a stream.
func TestStdioClientsGoOnThroughRestartsOfAServerAtAURL(t *testing.T) {
	for _, row := range []struct {
		kind    webKind
		clients []clientKind
	}{
		{everythingHTTP, some(t, eachLibrary, 4)},
		{everythingSSE, half(t, []clientKind{goSDK, tsV1})},
	} {
		t.Run(row.kind.name, func(t *testing.T) {
			t.Parallel()
			server := row.kind.start(t)
			c := newCrowd(t)
			c.run(server.url(), row.clients...)
			c.settle(server)
			c.restartBetweenCalls(server)
			c.restartUnderReads(server)
		})
	}
}
