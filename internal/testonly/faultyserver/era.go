package faultyserver

import (
	"encoding/json"
	"fmt"
	"slices"
)

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServerInfo   = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"

	serverInfo = `{"name":"faultyserver","version":"1.0.0"}`
)

// eraOf determines the era of a request, as the protocol does: a modern request has a version in
// its _meta.
func (s *server) eraOf(m *message) (modern bool, no *refusal) {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if len(m.Params) > 0 {
		_ = json.Unmarshal(m.Params, &p) // params that are not an object have no _meta
	}
	var version string
	_ = json.Unmarshal(p.Meta[metaVersion], &version)
	modern = version >= modernVersion && s.cfg.era != "legacy"
	if !modern {
		return false, s.admitLegacy(m)
	}
	if _, ok := p.Meta[metaCapabilities]; !ok {
		return true, &refusal{code: -32602, text: fmt.Sprintf("missing _meta field %q", metaCapabilities)}
	}
	if a := s.cfg.faults["unsupported-version"]; a.fires(s.memory) {
		return true, unsupported(a.words("to"), version)
	}
	if !slices.Contains(s.cfg.versions, version) {
		return true, unsupported(s.cfg.versions, version)
	}
	switch m.Method {
	case "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return true, &refusal{code: -32601, text: fmt.Sprintf("%q is not supported in %s", m.Method, modernVersion)}
	}
	return true, nil
}

// admitLegacy rejects what a legacy session does not allow yet. "The client SHOULD NOT send
// requests other than pings before the server has responded to the initialize request."
func (s *server) admitLegacy(m *message) *refusal {
	switch m.Method {
	case "initialize":
		if s.cfg.era == "modern" {
			var p struct {
				Version string `json:"protocolVersion"`
			}
			_ = json.Unmarshal(m.Params, &p)
			return unsupported(s.cfg.versions, p.Version)
		}
		return nil
	case "ping":
		return nil
	case "server/discover", "subscriptions/listen":
		return &refusal{code: -32601, text: fmt.Sprintf("method %q not found", m.Method)}
	}
	var ready bool
	s.session.change(func(x *session) { ready = x.Initialize })
	if !ready && !s.cfg.lax {
		return &refusal{code: -32600, text: fmt.Sprintf("%q was sent before initialize", m.Method)}
	}
	return nil
}

func unsupported(supported []string, requested string) *refusal {
	list, _ := json.Marshal(supported)
	return &refusal{code: -32022, text: "unsupported protocol version",
		data: fmt.Sprintf(`{"supported":%s,"requested":%s}`, list, quote(requested))}
}

// complete adds the fields that every modern result has.
func complete(result string, modern bool) string {
	if !modern {
		return result
	}
	rest := result[1:]
	if rest != "}" {
		rest = "," + rest
	}
	return `{"resultType":"complete","_meta":{"` + metaServerInfo + `":` + serverInfo + `}` + rest
}
