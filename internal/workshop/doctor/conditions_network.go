package doctor

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// aboutLocal reports whether the refused address is on the same machine.
func (x *exam) aboutLocal(m *match) bool {
	if host := m.names["host"]; host != "" {
		return local.MatchString(host) || host == "::1"
	}
	return local.MatchString(m.said) || local.MatchString(x.cmd.line)
}

var (
	// access logs

	proxyVariable = regex.New(`(?i)\b(?:HTTPS?|ALL)_PROXY\b`)
)

func namesAnApplication(m *match) bool {
	return !slices.Contains([]string{"Server", "Host", "Remote", "API", "Proxy", "Client", "SSE", "HTTP"},
		strings.Fields(m.names["host"])[0]) && !m.says("MCP", "Docker", "Failed to connect to PostgreSQL", "rror: read")
}
