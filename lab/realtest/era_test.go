//go:build linux

package realtest

import (
	"os/exec"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// The newest version of each era that all the clients and servers know.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// era is what the two would agree on without gauze.
func (p pair) era() string {
	switch p.clientKind.name {
	case goSDK.name, mcpGo.name, tsV2Auto.name:
		if p.part == timeServer.part {
			return modern
		}
	}
	return legacy
}

// wantEra fails if client and server speak another version. The TypeScript SDK v1 does not tell which it speaks.
func (s *session) wantEra(want string) {
	s.t.Helper()
	if got := s.version(); got != want && got != "" {
		s.t.Errorf("they speak %s, want %s", got, want)
	}
}

// A server that takes its time before it first reads is asked for its era by the client, and answers in the end.
func TestSlowStartKeepsTheSession(t *testing.T) {
	slowly := func(t *testing.T, server []string) []string {
		sh, err := exec.LookPath("sh")
		if err != nil {
			t.Fatal(err)
		}
		return append([]string{sh, "-c", `sleep 5; exec "$@"`, "sh"}, server...)
	}
	for _, p := range half(t, []pair{{goSDK, timeServer}, {goSDK, everything}, {mcpGo, timeServer}}) {
		t.Run(p.name(), func(t *testing.T) {
			t.Parallel()
			s := open(t, p, setup{launch: slowly, options: []string{"--patience", patience.Limit().String()}})
			s.wantRead()
			s.killAll()
			s.wantRead()
		})
	}
}
