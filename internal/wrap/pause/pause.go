// Package pause waits: for a time, for as long as a server asks, longer each time.
package pause

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// For waits for d and reports whether ctx is still valid.
func For(ctx context.Context, d time.Duration) bool { return Until(ctx, d, nil) }

// Until is For that early ends.
func Until(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-early:
		return true
	case <-ctx.Done():
		return false
	}
}

// Jitter returns a random part of base, doubled n times and limited to most. chance is uniform in
// [0,1).
func Jitter(base time.Duration, n int, most time.Duration, chance float64) time.Duration {
	return time.Duration(chance * float64(min(base<<min(n, 20), most)))
}

// RetryAfter returns how long a response asks to wait before the next request, in seconds or until a
// date (RFC 9110, section 10.2.3). asked is false if it does not, or not in a way that is understood.
func RetryAfter(h http.Header, now time.Time) (wait time.Duration, asked bool) {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}
