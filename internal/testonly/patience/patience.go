// Package patience is the one place that says how long a test waits for an event.
//
// A limit is there to end a test that hangs, with a message that says what it waited for. It does not
// measure speed: it is far longer than anything takes on a busy machine, and a slower machine gets
// more of it.
package patience

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"
)

// EnvPace names a power of two: how many times slower this machine is than the one that the limits
// were chosen on. The check measures it.
const EnvPace = "GAUZE_TEST_PACE"

// limit is how long a test waits for one event at pace 1.
const limit = 2 * time.Minute

// Pace returns how many times slower than usual this machine is, at least 1.
func Pace() int {
	pace, err := strconv.Atoi(os.Getenv(EnvPace))
	if err != nil || pace < 1 {
		return 1
	}
	return pace
}

// Limit returns how long a test waits for one event.
func Limit() time.Duration { return time.Duration(Pace()) * limit }

// Context returns a context of t that ends after Limit, for a wait that takes one.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit())
	t.Cleanup(cancel)
	return ctx
}
