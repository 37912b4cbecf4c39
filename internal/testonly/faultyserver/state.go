package faultyserver

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// memory is what one generation passes on to the next: how often the server was started and how
// often each fault had an occasion to apply. The file is append-only with one line per event, so a
// SIGKILL can lose at most the last line.
type memory struct {
	mu   sync.Mutex
	file *os.File // nil without -state: then every generation is the first
	seen map[string]int
}

// openMemory records this start and returns its number, counted from 1.
func openMemory(path string) (*memory, int, error) {
	m := &memory{seen: map[string]int{}}
	if path == "" {
		return m, 1, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, err
	}
	m.file = f
	return m, m.occasion("start"), nil
}

// occasion records an occasion of this name and returns their number over all generations. The lock
// keeps two overlapping generations from counting the same number.
func (m *memory) occasion(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		m.seen[name]++
		return m.seen[name]
	}
	unlock := lockFile(m.file)
	defer unlock()
	count := 1
	data, err := os.ReadFile(m.file.Name())
	if err != nil {
		return count
	}
	text := string(data)
	lead := ""
	if text != "" && !strings.HasSuffix(text, "\n") {
		lead = "\n" // the last generation died within its line
	}
	for line := range strings.Lines(text) {
		if strings.TrimSuffix(line, "\n") == name {
			count++
		}
	}
	fmt.Fprintf(m.file, "%s%s\n", lead, name)
	return count
}
