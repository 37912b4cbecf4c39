package realparts

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"testing"
)

// Conformance is the official conformance suite with go-sdk's server and client for it.
type Conformance struct {
	Node   string // Node.js to run the suite with
	Suite  string // the suite's script
	Server string // everything-server: HTTP with -http=ADDRESS, otherwise stdio
	Client string // everything-client: its argument is a URL, the scenario is in its environment
}

var conformanceUnit = unit{
	name:    "conformance",
	pins:    pinned(pinsSuitePackage) + pinned(pinsSuiteLock) + nodePin + goSDKPin,
	install: installConformance,
}

// InstallConformance installs the suite unless it is already installed.
func InstallConformance(ctx context.Context, out io.Writer) (Conformance, error) {
	p, err := installed(ctx, conformanceUnit, out)
	return p.conformance(), err
}

// NeedConformance is InstallConformance for tests. A missing suite is handled as in Need.
func NeedConformance(t testing.TB) Conformance {
	t.Helper()
	return need(t, conformanceUnit).conformance()
}

func (p place) conformance() Conformance {
	return Conformance{Node: p.Node, Suite: p.Suite, Server: p.Server, Client: p.Client}
}

func installConformance(ctx context.Context, dir string, out io.Writer) (place, error) {
	p, err := installPinned(ctx, dir, out, minSuiteNode, pinsSuitePackage, pinsSuiteLock)
	if err != nil {
		return place{}, err
	}
	p.Suite = filepath.Join(p.Modules, "@modelcontextprotocol", "conformance", "dist", "index.js")
	bin := filepath.Join(dir, "bin")
	const parts = "github.com/modelcontextprotocol/go-sdk/conformance/"
	server, client := "everything-server", "everything-client"
	if err := run(ctx, dir, []string{"GOBIN=" + bin}, "go", "install", parts+server+"@"+goSDKPin, parts+client+"@"+goSDKPin); err != nil {
		return place{}, fmt.Errorf("%w\nnext: check that go can reach its module proxy, then try again", err)
	}
	p.Server, p.Client = filepath.Join(bin, server), filepath.Join(bin, client)
	return p, nil
}
