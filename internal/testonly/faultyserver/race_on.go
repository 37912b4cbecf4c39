//go:build race

package faultyserver

import "os"

// raceEnv lets a server built with the race detector exit immediately. By default the detector
// sleeps for a second at exit, which looks like a server that ignores the end of stdin.
func raceEnv() []string { return []string{"GORACE=" + os.Getenv("GORACE") + " atexit_sleep_ms=0"} }
