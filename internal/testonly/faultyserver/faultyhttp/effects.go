package faultyhttp

import (
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

var errKilled = errors.New("the server was killed")

// execute records an effect, unless the server was killed before. A kill and an effect never
// overlap, so that a test can count.
func (c *call) execute(op, key, value string) error {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.gen.dead {
		return errKilled
	}
	e := faultyserver.Entry{Op: op, Key: key, Value: value, PID: os.Getpid(), Generation: c.gen.number, Request: string(c.msg.ID)}
	if s.ledger != nil {
		if err := s.ledger.Append(e); err != nil {
			return err
		}
	} else {
		s.entries = append(s.entries, e)
	}
	if op == "put" && s.store != nil {
		s.store[key] = value
	}
	return nil
}

// value returns what put wrote last. A new process reads it from the ledger when first asked.
func (s *Server) value(key string) (value string, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store == nil {
		entries, _, err := faultyserver.ReadLedger(s.cfg.Ledger)
		if err != nil {
			return "", false, err
		}
		s.store = map[string]string{}
		for _, e := range entries {
			if e.Op == "put" {
				s.store[e.Key] = e.Value
			}
		}
	}
	value, ok = s.store[key]
	return value, ok, nil
}

// Entries returns the effects in order. If there is a ledger, they may include those of other
// processes.
func (s *Server) Entries() ([]faultyserver.Entry, error) {
	if s.cfg.Ledger == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.Clone(s.entries), nil
	}
	entries, _, err := faultyserver.ReadLedger(s.cfg.Ledger)
	return entries, err
}

// Effects counts the effects by key. It is empty if the ledger cannot be read.
func (s *Server) Effects() map[string]int {
	counts := map[string]int{}
	entries, _ := s.Entries()
	for _, e := range entries {
		counts[e.Key]++
	}
	return counts
}

// gate is what the tool slow waits at.
type gate struct {
	reached, open         chan struct{}
	reachedOnce, openOnce sync.Once
}

func (s *Server) gate(key string) *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gates[key] == nil {
		s.gates[key] = &gate{reached: make(chan struct{}), open: make(chan struct{})}
	}
	return s.gates[key]
}

// Release lets current and future calls that wait for this key continue.
func (s *Server) Release(key string) {
	g := s.gate(key)
	g.openOnce.Do(func() { close(g.open) })
}

// Reached returns a channel that is closed when a call waits for this key.
func (s *Server) Reached(key string) <-chan struct{} { return s.gate(key).reached }
