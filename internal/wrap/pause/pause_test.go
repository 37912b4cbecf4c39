package pause

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfterInBothForms(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "2": 2 * time.Second, " 3 ": 3 * time.Second, "-1": 0, "soon": 0, "1.5": 0, "86400": 24 * time.Hour,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		if got, _ := RetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}
