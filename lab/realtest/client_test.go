//go:build linux

package realtest

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
)

// client is what the tests need of a real MCP client.
type client interface {
	tools(ctx context.Context) ([]string, error)
	call(ctx context.Context, c call) (answer, error)
	subscribe(ctx context.Context, uri string) error
	updates() <-chan string // of resources it subscribed to, by URI
	pid() int               // of the gauze it started; 0 if it was given a URL
	version() string        // of the protocol, as negotiated
	close() error
}

// call is one tools/call. progressed, if set, asks for progress and hears of each.
type call struct {
	tool       string
	args       map[string]any
	progressed func()
}

// answer is a tool result, cut down to what the tests look at.
type answer struct {
	Text    string
	IsError bool
	Meta    map[string]json.RawMessage
}

// clientKind is one client library in one of its ways of connecting: to a command line, or to a single URL.
type clientKind struct {
	name    string
	connect func(t *testing.T, ctx context.Context, env []string, at []string) client
}

// isURL reports whether a client is to speak HTTP, and not to start something.
func isURL(at []string) bool { return len(at) == 1 && strings.HasPrefix(at[0], "http://") }

var (
	goSDK       = clientKind{"go-sdk", goSDKClient("")}                  // asks server/discover first, falls back
	goSDKLegacy = clientKind{"go-sdk-legacy", goSDKClient("2025-11-25")} // initialize at once
	mcpGo       = clientKind{"mcp-go", mcpGoClient()}                    // asks server/discover first, falls back
	tsV1        = clientKind{"ts-v1", tsClient("v1")}
	tsV2        = clientKind{"ts-v2", tsClient("v2")}
	tsV2Auto    = clientKind{"ts-v2-auto", tsClient("v2-auto")} // starts a second gauze only to ask for the era

	// mcp-go over HTTP hears what belongs to no call only if told to, and then speaks only the legacy era.
	//lint:ignore SA1019 the legacy era has nothing else
	mcpGoListening = clientKind{"mcp-go-listening", mcpGoClient(transport.WithContinuousListening())}

	everyClient = []clientKind{goSDK, goSDKLegacy, mcpGo, tsV1, tsV2, tsV2Auto}
	eachLibrary = []clientKind{goSDK, mcpGo, tsV1, tsV2}
	withSession = []clientKind{goSDK, goSDKLegacy, mcpGoListening, tsV1, tsV2, tsV2Auto} // with a server that has sessions
	speakModern = []clientKind{goSDK, mcpGo, tsV2Auto}                                   // with a server that does
)

// environment is the tests' own, with additions, for a client's process and everything below it.
func environment(more []string) []string {
	return append(append(os.Environ(), raceOptions()), more...)
}
