package main

import (
	"os"
	"testing"
)

// The test binary plays the roles of the benchmark, as the benchmark does itself.
func TestMain(m *testing.M) {
	runIfNamed(roles)
	os.Exit(m.Run())
}
