package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// status is the content of the --status-file of gauze run.
type status struct {
	State      string           `json:"state"`
	Restarts   int              `json:"restarts"`
	Recoveries int              `json:"recoveries"`
	Replays    uint64           `json:"replays"`
	Unknowns   uint64           `json:"unknowns"`
	RecoveryMS []float64        `json:"recovery_ms"` // from the exit of the server to the restored session
	StartMS    []float64        `json:"start_ms"`    // part of it that the server took to start
	Calls      proxy.Counters   `json:"calls"`
	Health     health.Snapshot  `json:"health"`
	Failures   []health.Failure `json:"failures,omitempty"` // the last ones, oldest first
	Unrecorded int              `json:"unrecorded"`         // events that could not be written to the journal
}

func writeStatus(file string, session *proxy.Session, unrecorded int) error {
	now, calls := session.Upstream().Snapshot(), session.Counters()
	s := status{
		State: now.State.String(), Restarts: int(now.Restarts), Recoveries: int(now.Recoveries),
		Replays: calls.Replayed, Unknowns: calls.Unknown, Calls: calls, Health: now, Failures: session.Upstream().Failures(), Unrecorded: unrecorded,
	}
	for _, r := range session.Upstream().Recoveries() {
		s.RecoveryMS = append(s.RecoveryMS, r.Took.Seconds()*1000)
		s.StartMS = append(s.StartMS, r.Start.Seconds()*1000)
	}
	return writeJSON(file, s)
}

// gatewayStatus is the content of the --status-file of gauze serve.
type gatewayStatus struct {
	Sessions uint64         `json:"sessions"` // since the start
	Replays  uint64         `json:"replays"`
	Unknowns uint64         `json:"unknowns"`
	Calls    proxy.Counters `json:"calls"`

	Unrecorded int `json:"unrecorded"` // events that could not be written to the journal
}

func writeGatewayStatus(file string, g *gateway.Gateway, unrecorded int) error {
	calls, sessions := g.Counters()
	return writeJSON(file, gatewayStatus{Sessions: sessions, Replays: calls.Replayed, Unknowns: calls.Unknown, Calls: calls, Unrecorded: unrecorded})
}

func writeJSON(file string, s any) error {
	text, err := plaintext.EncodeJSON(s, "  ")
	if err != nil {
		return err
	}
	if err := replaceFile(file, append(text, '\n')); err != nil {
		return fmt.Errorf("cannot write the status file: %w", err)
	}
	return nil
}

// replaceFile creates a file of mode 0600, or replaces a regular file. It never opens an existing
// file: a symbolic link could lead anywhere, and a pipe could block.
func replaceFile(path string, content []byte) error {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link; use the path of its target", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", path)
	}
	return files.Swap(path, content)
}
