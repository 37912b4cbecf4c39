package top

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
)

// Source is where the view gets its data. Its methods may block until the context ends, and are
// called from several goroutines.
type Source interface {
	// Servers returns the wrapped servers of this user.
	Servers(context.Context) ([]live.Server, error)
	// Detail returns everything about one of them.
	Detail(ctx context.Context, id string) (live.Detail, error)
	// Items returns what is recorded, newest last.
	Items(context.Context) ([]timeline.Item, error)
	// Week returns what was healed in the last seven days.
	Week(context.Context) (timeline.Sums, error)
	// Restart restarts a server.
	Restart(ctx context.Context, id string) error
	// Doctor returns the output of gauze doctor for a server.
	Doctor(ctx context.Context, s live.Server) (string, error)
}

// maxRecords is how many recorded events are read.
const maxRecords = 2000

// Machine is the Source of what runs and is recorded on this machine.
type Machine struct {
	StateDir string
	Journal  string                                                 // the path of the journal
	Check    func(ctx context.Context, name string) (string, error) // returns the output of gauze doctor

	mu      sync.Mutex
	open    *journal.Journal
	records []journal.Record
	items   []timeline.Item
	week    timeline.Weekly
}

// Servers implements Source.
func (m *Machine) Servers(ctx context.Context) ([]live.Server, error) {
	return live.All(ctx, m.StateDir)
}

// Detail implements Source.
func (m *Machine) Detail(ctx context.Context, id string) (live.Detail, error) {
	return live.One(ctx, m.StateDir, id)
}

// Restart implements Source.
func (m *Machine) Restart(ctx context.Context, id string) error {
	return live.Restart(ctx, m.StateDir, id)
}

// Doctor implements Source. gauze doctor runs a name with a space as a command line, so such a name
// must be the command line of the wrap and not what a configuration file calls it.
func (m *Machine) Doctor(ctx context.Context, s live.Server) (string, error) {
	if strings.ContainsAny(s.Name, " \t") || strings.Contains(s.Name, "://") {
		if d, err := m.Detail(ctx, s.ID); err != nil || d.Command != s.Name {
			return "", fmt.Errorf("gauze doctor cannot find a server named %q; gauze list shows all names", s.Name)
		}
	}
	return m.Check(ctx, s.Name)
}

// Items implements Source. It reads only the events that are new since the last call.
func (m *Machine) Items(ctx context.Context) ([]timeline.Item, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if open, err := m.opened(); err != nil || !open {
		return m.items, err
	}
	q := journal.Query{Limit: maxRecords}
	if n := len(m.records); n > 0 {
		q.After = m.records[n-1].Seq
	}
	fresh, err := m.open.Events(ctx, q)
	if err != nil || len(fresh) == 0 {
		return m.items, err
	}
	m.records = append(m.records, fresh...)
	m.records = slices.Clone(m.records[max(0, len(m.records)-maxRecords):])
	m.items = timeline.Items(m.records)
	return m.items, nil
}

// Week implements Source.
func (m *Machine) Week(ctx context.Context) (timeline.Sums, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if open, err := m.opened(); err != nil || !open {
		return timeline.Sums{}, err
	}
	return m.week.Sums(ctx, m.open.Events, time.Now())
}

// opened opens the journal if it exists. It is never created.
func (m *Machine) opened() (bool, error) {
	if m.open != nil {
		return true, nil
	}
	if _, err := os.Lstat(m.Journal); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	j, err := journal.Open(m.Journal)
	if err != nil {
		return false, err
	}
	m.open = j
	return true, nil
}

// Close closes the journal. It does not wait for a disk that does not respond: the process exits.
func (m *Machine) Close() error {
	if !m.mu.TryLock() {
		return nil
	}
	defer m.mu.Unlock()
	if m.open == nil {
		return nil
	}
	return m.open.Close()
}

// details asks several wraps at the same time. Those that do not answer are left out.
func details(ctx context.Context, s Source, ids []string) (all []live.Detail) {
	found := make([]*live.Detail, len(ids))
	var asking sync.WaitGroup
	for i, id := range ids {
		asking.Go(func() {
			if d, err := s.Detail(ctx, id); err == nil {
				found[i] = &d
			}
		})
	}
	asking.Wait()
	for _, d := range found {
		if d != nil {
			all = append(all, *d)
		}
	}
	return all
}
