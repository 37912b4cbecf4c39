package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	minSamples = 10 // of one wrap
	numSamples = 100
)

// sample waits until the server runs again and appends a sample.
func (w *soakWrap) sample(state string) error {
	if _, err := w.nextServer(state); err != nil {
		return err
	}
	// The end of the last question and of the batch that the journal writes may still be under way:
	// the smallest numbers of a few tries are those at rest.
	best := sample{}
	for try := range 3 {
		now, err := w.look()
		if err != nil {
			return err
		}
		if try == 0 {
			best = now
			continue
		}
		best.Heap, best.Goroutines = min(best.Heap, now.Heap), min(best.Goroutines, now.Goroutines)
		best.Files, best.Children = min(best.Files, now.Files), min(best.Children, now.Children)
	}
	w.samples = append(w.samples, best)
	return nil
}

// look measures once.
func (w *soakWrap) look() (now sample, err error) {
	now.Calls = w.calls
	pid := w.cmd.Process.Pid
	if now.Heap, now.Goroutines, err = w.heap(pid); err != nil {
		return now, err
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return now, err
	}
	now.Files = len(files)
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return now, err
	}
	for _, file := range tasks {
		text, _ := os.ReadFile(file) // the thread may have ended
		now.Children += len(strings.Fields(string(text)))
	}
	return now, nil
}

// heap asks gauze for its heap.
func (w *soakWrap) heap(pid int) (heap uint64, goroutines int, err error) {
	if err := syscall.Kill(pid, syscall.SIGUSR1); err != nil {
		return 0, 0, err
	}
	for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(pollInterval) {
		text, _ := os.ReadFile(w.report) // absent at first
		lines := bytes.Split(text, []byte("\n"))
		if len(lines)-1 <= w.reports {
			continue
		}
		w.reports = len(lines) - 1
		var r struct {
			Heap       uint64
			Goroutines int
		}
		err := json.Unmarshal(lines[w.reports-1], &r)
		return r.Heap, r.Goroutines, err
	}
	return 0, 0, errors.New("gauze did not report its heap")
}
