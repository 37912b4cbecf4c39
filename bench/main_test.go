package main

import (
	"os"
	"testing"
)

// TestMain lets the test binary play the roles of the benchmark.
func TestMain(m *testing.M) {
	runIfNamed(roles)
	os.Exit(m.Run())
}
