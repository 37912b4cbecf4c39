//go:build !windows

package process

import "time"

// CPUTick is the resolution of the CPU time that the system reports.
const CPUTick = 10 * time.Millisecond
