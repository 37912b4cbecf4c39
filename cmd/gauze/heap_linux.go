//go:build heapreport

package main

import (
	"encoding/json"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// Built with the tag heapreport, gauze appends what it has on its heap to the file that
// GAUZE_HEAP_REPORT names, once for each SIGUSR1. bench soak reads it.
func init() {
	path := os.Getenv("GAUZE_HEAP_REPORT")
	if path == "" {
		return
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			reportHeap(path)
		}
	}()
}

func reportHeap(path string) {
	for range 2 { // the first collection only moves what is in a sync.Pool
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	line, err := json.Marshal(map[string]uint64{"heap": m.HeapAlloc, "goroutines": uint64(runtime.NumGoroutine())})
	if err != nil {
		return
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer file.Close()
	file.Write(append(line, '\n'))
}
