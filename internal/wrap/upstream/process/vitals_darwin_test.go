package process

import (
	"testing"
	"time"
)

func TestVitalsFromPS(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]Vitals{
		"S    0:01.50 node server.js\n":                                           {CPU: 1500 * time.Millisecond},
		"T    0:00.50 node server.js\n":                                           {Stopped: true, CPU: 500 * time.Millisecond},
		"S    0:00.00 npm exec x\nS 0:00.00 sh -c x\nT 0:00.00 node x\nZ 0:00.00": {Stopped: true},
		"S    0:00.00 node server.js\nT    0:00.00 sleep 1000\n":                  {},
		"TX   0:00.00 node server.js\n":                                           {Held: true},
	} {
		want.Known = true
		if got := parseVitals(out); got != want {
			t.Errorf("%q: %+v, want %+v", out, got, want)
		}
	}
}
