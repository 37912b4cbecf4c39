// Package refusing has ports of this machine that refuse connections as long as a test runs.
package refusing

import "testing"

// Port returns a port of 127.0.0.1 that refuses connections until t ends. A port that was only free a moment ago is given to
// a different process on a busy machine.
func Port(t testing.TB) int {
	t.Helper()
	port, release, err := hold()
	if err != nil {
		t.Fatalf("no port that refuses connections: %v", err)
	}
	t.Cleanup(release)
	return port
}
