package main

import (
	"fmt"
	"os"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/gateway"
	"github.com/gauze-mcp/gauze/internal/health"
	"github.com/gauze-mcp/gauze/internal/proxy"
)

// status is what --status-file holds.
type status struct {
	State      string          `json:"state"`
	Restarts   int             `json:"restarts"`
	Recoveries int             `json:"recoveries"`
	Replays    uint64          `json:"replays"`
	Unknowns   uint64          `json:"unknowns"`
	RecoveryMS []float64       `json:"recovery_ms"` // from a death to a restored session
	StartMS    []float64       `json:"start_ms"`    // of these, the server's own start
	Calls      proxy.Counters  `json:"calls"`
	Health     health.Snapshot `json:"health"`
}

func writeStatus(file string, session *proxy.Session) error {
	now, calls := session.Upstream().Snapshot(), session.Counters()
	s := status{
		State: now.State.String(), Restarts: int(now.Restarts), Recoveries: int(now.Recoveries),
		Replays: calls.Replayed, Unknowns: calls.Unknown, Calls: calls, Health: now,
	}
	for _, r := range session.Upstream().Recoveries() {
		s.RecoveryMS = append(s.RecoveryMS, r.Took.Seconds()*1000)
		s.StartMS = append(s.StartMS, r.Start.Seconds()*1000)
	}
	return writeJSON(file, s)
}

// gatewayStatus is what it holds for gauze serve.
type gatewayStatus struct {
	Sessions uint64         `json:"sessions"` // over all time
	Replays  uint64         `json:"replays"`
	Unknowns uint64         `json:"unknowns"`
	Calls    proxy.Counters `json:"calls"`
}

func writeGatewayStatus(file string, g *gateway.Gateway) error {
	calls, sessions := g.Counters()
	return writeJSON(file, gatewayStatus{Sessions: sessions, Replays: calls.Replayed, Unknowns: calls.Unknown, Calls: calls})
}

func writeJSON(file string, s any) error {
	text, err := fault.EncodeJSON(s, "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	return nil
}
