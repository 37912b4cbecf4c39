package wire

// Versions of MCP.
const (
	VersionWithBatches = "2025-03-26" // the only one
	NewestLegacy       = "2025-11-25" // the last one with initialize and sessions
	FirstModern        = "2026-07-28" // each request carries its version in its _meta
)

// LegacyVersions are the versions with initialize, oldest first.
var LegacyVersions = []string{"2024-11-05", VersionWithBatches, "2025-06-18", NewestLegacy}

// Keys of the _meta of a message.
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaClient       = "io.modelcontextprotocol/clientInfo"
	MetaServer       = "io.modelcontextprotocol/serverInfo"
	MetaLogLevel     = "io.modelcontextprotocol/logLevel"
	MetaSubscription = "io.modelcontextprotocol/subscriptionId"
	MetaRelatedTask  = "io.modelcontextprotocol/related-task"
)

// ModernMeta returns the _meta of a modern request by a client without capabilities. info is its
// clientInfo, a JSON object.
func ModernMeta(info string) string {
	return `{"` + MetaVersion + `":"` + FirstModern + `","` + MetaCapabilities + `":{},"` + MetaClient + `":` + info + `}`
}
