// Command standalone is the faulty server alone. Tests start it thousands of times; without the
// rest of a test binary it starts ten times as fast.
package main

import (
	"os"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

func main() {
	os.Unsetenv(faultyserver.EnvMain)
	os.Exit(faultyserver.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
