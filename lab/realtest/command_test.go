//go:build linux

package realtest

import "slices"

// The options of gauze run, in the one place that knows their names.
const (
	optStartTimeout  = "--start-timeout"
	optProbeInterval = "--probe-interval"
	optProbeTimeout  = "--probe-timeout"
	optHangGrace     = "--hang-grace"
	optTimeout       = "--timeout"
)

// unhurried is for every test: the machine may be busy with the rest of them, and a slow start is not what they test.
var unhurried = []string{optStartTimeout, "60s"}

// oftenRestarted is for servers that are killed more often than what is healthy, and are soon back.
var oftenRestarted = []string{"--restart-limit", "0", "--restart-backoff", "50ms"}

// watchful makes gauze notice within seconds, not within half a minute, that a server stands still.
var watchful = []string{optProbeInterval, "300ms", optProbeTimeout, "1s", optHangGrace, "500ms", optTimeout, "10s"}

// strict also ends calls early that make no progress.
var strict = []string{optProbeInterval, "300ms", optProbeTimeout, "1s", optHangGrace, "500ms", optTimeout, "4s"}

// gauzeRun is the command line a client would have in its configuration.
func gauzeRun(options []string, server ...string) []string {
	argv := append([]string{gauzeBinary(), "run"}, unhurried...)
	argv = append(argv, options...)
	return append(append(argv, "--"), server...)
}

// gauzeRunURL is the same for a server at a URL.
func gauzeRunURL(url string) []string {
	return slices.Concat([]string{gauzeBinary(), "run"}, unhurried, oftenRestarted, []string{"--url", url})
}
