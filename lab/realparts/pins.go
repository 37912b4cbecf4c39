package realparts

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"runtime"
)

// The npm parts are pinned by lock files with a checksum for every package. They were written with
// npm's omit-lockfile-registry-resolved, so they contain no address and install from the registry
// that npm is configured for.
//
//go:embed pins/package.json pins/package-lock.json pins/conformance/package.json pins/conformance/package-lock.json pins/clients/package.json pins/clients/package-lock.json pins/clients-more/package.json pins/clients-more/package-lock.json
//go:embed pins/clients-gemini/package.json pins/clients-gemini/package-lock.json
//go:embed pins/servers/package.json pins/servers/package-lock.json pins/servers-more/package.json pins/servers-more/package-lock.json
//go:embed pins/postgres/package.json pins/postgres/package-lock.json
//go:embed pins/browser/package.json pins/browser/package-lock.json
//go:embed pins/windows/package.json pins/windows/package-lock.json
//go:embed pins/grafana/package.json pins/grafana/package-lock.json
//go:embed pins/peers/package.json pins/peers/package-lock.json
//go:embed pins/gateways/package.json pins/gateways/package-lock.json
//go:embed pins/mcpb/package.json pins/mcpb/package-lock.json
var npmPins embed.FS

const (
	uvPin         = "uv==0.13.7"
	timePin       = "mcp-server-time@2026.10.19"
	gitPin        = "mcp-server-git@2026.10.19"
	nodePin       = "22.23.3" // installed only where Node.js is too old for a unit
	minNode       = 20
	minSuiteNode  = 22 // the conformance suite requires a newer version
	goSDKPin      = "v1.8.0"
	layoutVersion = "1" // raise when the layout of an installed unit changes

	pinsPackage      = "pins/package.json"
	pinsLock         = "pins/package-lock.json"
	pinsSuitePackage = "pins/conformance/package.json"
	pinsSuiteLock    = "pins/conformance/package-lock.json"

	pinsClientsPackage = "pins/clients/package.json"
	pinsClientsLock    = "pins/clients/package-lock.json"
	pinsGeminiPackage  = "pins/clients-gemini/package.json"
	pinsGeminiLock     = "pins/clients-gemini/package-lock.json"
	pinsMorePackage    = "pins/clients-more/package.json"
	pinsMoreLock       = "pins/clients-more/package-lock.json"

	pinsServersPackage     = "pins/servers/package.json"
	pinsServersLock        = "pins/servers/package-lock.json"
	pinsMoreServersPackage = "pins/servers-more/package.json"
	pinsMoreServersLock    = "pins/servers-more/package-lock.json"

	pinsPostgresPackage = "pins/postgres/package.json"
	pinsPostgresLock    = "pins/postgres/package-lock.json"

	pinsBrowserPackage = "pins/browser/package.json"
	pinsBrowserLock    = "pins/browser/package-lock.json"

	pinsWindowsPackage = "pins/windows/package.json"
	pinsWindowsLock    = "pins/windows/package-lock.json"

	pinsGrafanaPackage = "pins/grafana/package.json"
	pinsGrafanaLock    = "pins/grafana/package-lock.json"

	pinsPeersPackage = "pins/peers/package.json"
	pinsPeersLock    = "pins/peers/package-lock.json"

	pinsGatewaysPackage = "pins/gateways/package.json"
	pinsGatewaysLock    = "pins/gateways/package-lock.json"
)

// fingerprint returns the name of the directory of a unit, which changes with its pins.
func fingerprint(parts ...string) string {
	h := sha256.New()
	for _, s := range append(parts, layoutVersion, runtime.GOOS, runtime.GOARCH) {
		io.WriteString(h, s)
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

func pinned(name string) string {
	b, err := npmPins.ReadFile(name)
	if err != nil {
		panic(err) // embedded at build time
	}
	return string(b)
}
