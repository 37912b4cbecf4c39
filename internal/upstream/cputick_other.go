//go:build !windows

package upstream

import "time"

// CPUTick is the precision in which the system reports CPU time.
const CPUTick = 10 * time.Millisecond
