package taskrun

import (
	"context"
	"errors"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
)

const (
	maxDoneAge = 30 * 24 * time.Hour  // as that of events
	maxIdleAge = 180 * 24 * time.Hour // of a task that can be resumed, after its last entry

	pruneInterval = time.Hour
	maxPruned     = 100 // tasks removed when one starts, so that no start takes long
)

// Remove removes a task and its log. The error is ErrRunning if a process runs it.
func (s *Store) Remove(ctx context.Context, id string) error {
	if _, err := s.Entries(ctx, id); err != nil && !errors.As(err, new(*journal.Damage)) {
		return err
	}
	return s.journal.Remove(ctx, id, journal.AnyEntry)
}

// RemoveDone removes every task that is done, and returns their ids.
func (s *Store) RemoveDone(ctx context.Context) (ids []string, err error) {
	return s.removeAll(ctx, func(last journal.Entry) bool { return last.Kind == task.KindDone })
}

// prune removes old tasks. An error is not reported: it would not be about the task that starts, and
// the next start tries again.
func (s *Store) prune(ctx context.Context, now time.Time) {
	s.mu.Lock()
	due := now.Sub(s.pruned) >= pruneInterval
	if due {
		s.pruned = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	count := 0
	s.removeAll(ctx, func(last journal.Entry) bool {
		limit := maxIdleAge
		if last.Kind == task.KindDone {
			limit = maxDoneAge
		}
		old := now.Sub(last.Time) > limit
		if old {
			count++
		}
		return old && count <= maxPruned
	})
}

// removeAll removes the tasks whose last entry is chosen, unless they run or were continued since.
func (s *Store) removeAll(ctx context.Context, chosen func(last journal.Entry) bool) (ids []string, err error) {
	heads, err := s.journal.Tasks(ctx)
	if err != nil {
		return nil, err
	}
	for _, head := range heads {
		if !chosen(head.Last) || s.Running(head.Task) {
			continue
		}
		err := s.journal.Remove(ctx, head.Task, head.Last.Seq)
		if errors.Is(err, journal.ErrRunning) || errors.Is(err, journal.ErrChanged) {
			continue
		}
		if err != nil {
			return ids, err
		}
		ids = append(ids, head.Task)
	}
	return ids, nil
}
