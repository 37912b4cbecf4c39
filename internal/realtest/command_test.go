//go:build linux

package realtest

import (
	"time"
)

// The options of gauze run, in the one place that knows their names.
const (
	optProbeInterval = "--probe-interval"
	optProbeTimeout  = "--probe-timeout"
	optHangGrace     = "--hang-grace"
	optTimeout       = "--timeout"
)

// hasty are timings short enough to wait for in a test: a server that stands still is replaced after about two seconds
// instead of after about a minute.
var hasty = []string{
	optProbeInterval, (200 * time.Millisecond).String(),
	optProbeTimeout, (300 * time.Millisecond).String(),
	optHangGrace, (300 * time.Millisecond).String(),
	optTimeout, (time.Second).String(),
}

// gauzeRun is the command line a client would have in its configuration.
func gauzeRun(options []string, server ...string) []string {
	argv := append([]string{gauzeBinary, "run"}, options...)
	return append(append(argv, "--"), server...)
}
