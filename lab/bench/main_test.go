package main

import (
	"os"
	"testing"
)

// TestMain lets the test binary play the roles of the benchmark.
func TestMain(m *testing.M) {
	runIfNamed(roles)
	// The gauze of the storms has the race detector. With a race it exits immediately, which fails the storm.
	os.Setenv("GORACE", "halt_on_error=1 atexit_sleep_ms=0")
	code := m.Run()
	removeAfterTests()
	os.Exit(code)
}

// removeAfterTests removes the binaries that several tests share.
var removeAfterTests = func() {}
