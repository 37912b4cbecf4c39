//go:build unix

package agenttools

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gauze-mcp/gauze/internal/workshop/registry"
)

// Variables that the registry lists as required explain a server that exits without a reason, if the
// answer is cached or the user allowed requests. What the server says itself counts more.
func TestTheRegistryNamesTheMissingVariables(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		fmt.Fprint(w, `{"servers":[{"server":{"name":"io.github.alice/orbit","version":"1.0.0","packages":[{"registryType":"npm","identifier":"orbit-mcp","version":"1.0.0","transport":{"type":"stdio"},
			"environmentVariables":[{"name":"ORBIT_TOKEN","isRequired":true,"isSecret":true},{"name":"ORBIT_TEAM","isRequired":true},{"name":"ORBIT_SET","isRequired":true},{"name":"ORBIT_MODE"},{"name":"NODE_OPTIONS","isRequired":true}]}]}}],"metadata":{}}`)
	}))
	defer web.Close()
	const odd, plain = "flux capacitor misaligned", "Error: OTHER_KEY environment variable is required"
	for name, test := range map[string]struct {
		says   string
		cached bool
		online bool
		want   bool
	}{
		"cached": {odd, true, false, true}, "asked": {odd, false, true, true}, "neither": {odd, false, false, false}, "the server says it": {plain, true, false, false},
	} {
		a := newAgent(t, settings{})
		a.lonely()
		a.fleet.Home.Environ = []string{"HOME=" + a.dir, "PATH=" + filepath.Join(a.dir, "bin") + ":/bin:/usr/bin"}
		a.fleet.Registry = registry.Source{Dir: filepath.Join(a.dir, "registry"), URL: web.URL, Online: test.online}
		a.write("bin/npx", "#!/bin/sh\necho '"+test.says+"' >&2\nexit 1\n")
		a.write(".claude.json", `{"mcpServers": {"orbit": {"type": "stdio", "command": "npx", "args": ["-y", "orbit-mcp@1.0.0"], "env": {"ORBIT_SET": "1"}}}}`)
		if test.cached {
			source := a.fleet.Registry
			source.Online = true
			source.Lookup(t.Context(), registry.NPM, "orbit-mcp")
		}
		before := requests.Load()
		for tool, arguments := range map[string]object{"check_health": nil, "test_connection": {"server": "orbit"}, "heal_server": {"server": "orbit"}} {
			text := a.call(tool, arguments).text
			if named := strings.Contains(text, "ORBIT_TOKEN and ORBIT_TEAM") && strings.Contains(text, "registry"); named != test.want || strings.Contains(text, "ORBIT_MODE") || strings.Contains(text, "NODE_OPTIONS") || strings.Contains(text, "ORBIT_SET") {
				t.Errorf("%s, %s: %s", name, tool, text)
			}
		}
		if asked := requests.Load() > before; asked != test.online {
			t.Errorf("%s: the registry was asked: %v", name, asked)
		}
	}
}
