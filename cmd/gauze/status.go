package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/gauze-mcp/gauze"
)

// status is what --status-file holds.
type status struct {
	State      string         `json:"state"`
	Restarts   int            `json:"restarts"`
	Recoveries int            `json:"recoveries"`
	Replays    uint64         `json:"replays"`
	Unknowns   uint64         `json:"unknowns"`
	RecoveryMS []float64      `json:"recovery_ms"` // from a death to a restored session
	StartMS    []float64      `json:"start_ms"`    // of these, the server's own start
	Calls      gauze.Counters `json:"calls"`
	Health     gauze.Health   `json:"health"`
}

func writeStatus(file string, wrap *gauze.Wrap) error {
	health, calls := wrap.Health(), wrap.Counters()
	s := status{
		State: health.State.String(), Restarts: int(health.Restarts), Recoveries: int(health.Recoveries),
		Replays: calls.Replayed, Unknowns: calls.Unknown, Calls: calls, Health: health,
	}
	for _, r := range wrap.Recoveries() {
		s.RecoveryMS = append(s.RecoveryMS, r.Took.Seconds()*1000)
		s.StartMS = append(s.StartMS, r.Start.Seconds()*1000)
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	return nil
}
