//go:build race

package faultyserver

import "os"

// raceEnv lets a server that was built with the race detector exit at once: the detector otherwise sleeps a second
// in every exit, which looks like a server that ignores the end of stdin.
func raceEnv() []string { return []string{"GORACE=" + os.Getenv("GORACE") + " atexit_sleep_ms=0"} }
