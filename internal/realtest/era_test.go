//go:build linux

package realtest

import "testing"

// Client and server agree on the protocol as they would without gauze, and keep to it over a kill.
func TestEraIsTheirOwn(t *testing.T) {
	const legacy, modern = "2025-11-25", "2026-07-28"
	for _, c := range []struct {
		pair
		want string
	}{
		{pair{goSDK, timeServer}, modern},
		{pair{mcpGo, timeServer}, modern},
		{pair{tsV2Auto, timeServer}, modern},
		{pair{goSDKLegacy, timeServer}, legacy},
		{pair{goSDK, memory}, legacy},
		{pair{mcpGo, memory}, legacy},
		{pair{tsV2, memory}, legacy},
		{pair{tsV2Auto, memory}, legacy},
	} {
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			s := open(t, c.pair, setup{})
			if got := s.version(); got != c.want {
				t.Errorf("they speak %s, want %s", got, c.want)
			}
			s.list()
			s.killAll()
			s.wantRead()
		})
	}
}
