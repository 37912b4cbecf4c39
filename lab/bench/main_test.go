package main

import (
	"os"
	"testing"
)

// TestMain lets the test binary play the roles of the benchmark.
func TestMain(m *testing.M) {
	runIfNamed(roles)
	code := m.Run()
	removeAfterTests()
	os.Exit(code)
}

// removeAfterTests removes the binaries that several tests share.
var removeAfterTests = func() {}
