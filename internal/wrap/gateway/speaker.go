package gateway

import (
	"context"
	"net"
	"net/http"

	"github.com/gauze-mcp/gauze/internal/access/httpguard"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// speaker distinguishes the modern clients of one principal, which have no session. Two clients
// never have the same speaker; one client has a new one for each connection. The zero value is an
// unknown client.
type speaker struct {
	conn uint64 // number of the connection, from 1
	info string // raw clientInfo
}

type connKey struct{}

// NumberConn numbers the connections for speakerOf.
func (g *Gateway) NumberConn(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, g.conns.Add(1))
}

// speakerOf returns the speaker of a request. Through a proxy the connection identifies no client:
// the proxy may use it for all of them.
func speakerOf(r *http.Request, m *message) speaker {
	if httpguard.IsProxied(r) {
		return speaker{}
	}
	conn, ok := r.Context().Value(connKey{}).(uint64)
	if !ok {
		return speaker{}
	}
	info, _ := wire.Field(m.meta, wire.MetaClient)
	return speaker{conn: conn, info: string(info)}
}
