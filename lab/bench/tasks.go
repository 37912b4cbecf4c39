package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

// tasksRun is one run of the benchmark: its settings.
type tasksRun struct {
	tasks, steps int
	work         time.Duration // how long a tool takes in the second part
	dir          string
	self         string
}

// runTasks runs many scripted tasks at the same time in one process, each through a session of its
// own, with one journal on disk. In the first part the tools answer immediately, so the machine is
// the limit. In the second part they take as long as tools do, and the bookkeeping of a step is
// timed.
func runTasks(args []string) error {
	flags := flag.NewFlagSet("tasks", flag.ContinueOnError)
	var r tasksRun
	flags.IntVar(&r.tasks, "tasks", 1000, "number of tasks at the same time")
	flags.IntVar(&r.steps, "steps", 10, "steps of each task")
	flags.DurationVar(&r.work, "work", 5*time.Second, "how long a tool takes in the second part")
	flags.StringVar(&r.dir, "dir", "", "directory for the journal; its disk is measured (default: a temporary one)")
	jsonTo := flags.String("json", "", "write the result as JSON to this file (-: to stdout, after the table)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if r.tasks < 1 || r.steps < 1 {
		return errors.New("invalid -tasks or -steps: must be at least 1")
	}
	b, err := newBinaries()
	if err != nil {
		return err
	}
	defer b.remove()
	r.self = b.self
	dir, err := os.MkdirTemp(r.dir, "gauze-bench-tasks-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r.dir = dir
	rep, err := r.measure()
	if err != nil {
		return err
	}
	rep.judge()
	rep.print(os.Stdout)
	if err := writeJSON(*jsonTo, rep); err != nil {
		return err
	}
	if !rep.Pass {
		return errors.New("a target was missed")
	}
	return nil
}

func (r *tasksRun) measure() (*tasksReport, error) {
	rep := &tasksReport{Tasks: r.tasks, Steps: r.steps}
	for _, part := range []struct {
		name string
		work time.Duration
	}{{"tools that answer immediately", 0}, {fmt.Sprintf("tools that take %v", r.work), r.work}} {
		one, err := r.play(part.name, part.work)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
		rep.Parts = append(rep.Parts, *one)
	}
	return rep, nil
}

// play runs all tasks once. Tasks whose tools take a while start one after another, so that their
// steps do not stay in line.
func (r *tasksRun) play(name string, work time.Duration) (*tasksPart, error) {
	dir, err := os.MkdirTemp(r.dir, "part-")
	if err != nil {
		return nil, err
	}
	ledger := filepath.Join(dir, "ledger")
	server, err := startHTTP(exec.Command(r.self, roleFaultyHTTP, "-era", "legacy", "-answers", "json", "-ledger", ledger, "-lifetime", "0"))
	if err != nil {
		return nil, err
	}
	defer server.stop()
	empty, _ := memoryOf(os.Getpid())
	j, err := journal.Open(filepath.Join(dir, journal.FileName))
	if err != nil {
		return nil, err
	}
	defer j.Close()

	logs := make([]*timedLog, r.tasks)
	var atWork atomic.Int64
	var group sync.WaitGroup
	var mu sync.Mutex
	var firstErr error
	begin := time.Now()
	for n := range logs {
		logs[n] = &timedLog{journal: j, atWork: &atWork, tasks: int64(r.tasks)}
		delay := time.Duration(rand.Int64N(int64(work) + 1))
		group.Go(func() {
			time.Sleep(delay)
			if err := r.runOne(logs[n], n, server.url, work); err != nil {
				mu.Lock()
				firstErr = err
				mu.Unlock()
			}
		})
	}
	finished := make(chan struct{})
	go func() { group.Wait(); close(finished) }()
	full, disk, err := observe(dir, finished)
	elapsed := time.Since(begin)
	if err := errors.Join(firstErr, err); err != nil {
		return nil, err
	}
	part := newTasksPart(name, elapsed, logs)
	part.Empty, part.Full = empty, full
	part.SyncP50, part.SyncP99 = quantile(disk, 0.5), quantile(disk, 0.99)
	part.Twice, part.Missing, err = r.effects(ledger)
	return part, err
}

// observe returns the highest memory of this process until done is closed, and how long the disk
// takes meanwhile to make a page durable that has nothing to do with the journal, in milliseconds.
func observe(dir string, done <-chan struct{}) (peak memory, disk []float64, err error) {
	f, err := os.CreateTemp(dir, "sync-")
	if err != nil {
		return peak, nil, err
	}
	defer f.Close()
	page := make([]byte, 4096)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		begin := time.Now()
		_, err := f.WriteAt(page, 0)
		if err = errors.Join(err, f.Sync()); err != nil {
			return peak, nil, err
		}
		disk = append(disk, time.Since(begin).Seconds()*1000)
		if n%10 == 0 {
			if m, err := memoryOf(os.Getpid()); err == nil && m.RSS > peak.RSS {
				peak = m
			}
		}
		select {
		case <-tick.C:
		case <-done:
			return peak, disk, nil
		}
	}
}

func (r *tasksRun) runOne(log *timedLog, n int, url string, work time.Duration) error {
	ctx := context.Background()
	id := fmt.Sprintf("task-%d", n)
	plan := &task.Plan{Name: id, Servers: map[string]task.Server{"s": {URL: url}}}
	for step := range r.steps {
		plan.Steps = append(plan.Steps, task.Step{ID: fmt.Sprintf("s%d", step), Server: "s", Tool: "append",
			Arguments: fmt.Appendf(nil, `{"key":"%d-%d","ms":%d}`, n, step, work.Milliseconds())})
	}
	if err := task.Start(ctx, log, id, plan); err != nil {
		return err
	}
	servers := &taskrun.Servers{Plan: plan.Servers}
	defer servers.Close(nil)
	s, err := (&task.Runner{ID: id, Log: log, Servers: servers}).Run(ctx)
	if err == nil && s.Done == nil {
		err = fmt.Errorf("%s did not finish:\n%s", id, s.Report(id, time.Now()))
	}
	return err
}

// effects compares the server's ledger with what the tasks were to do.
func (r *tasksRun) effects(ledger string) (twice, missing int, err error) {
	entries, _, err := faultyserver.ReadLedger(ledger)
	if err != nil {
		return 0, 0, err
	}
	seen := map[string]bool{}
	for _, e := range entries {
		if seen[e.Key] {
			twice++
		}
		seen[e.Key] = true
	}
	return twice, r.tasks*r.steps - len(seen), nil
}

// timedLog is the log of one task in the journal. It adds up how long each step waits for it.
type timedLog struct {
	journal *journal.Journal
	step    time.Duration
	steps   []float64 // milliseconds
	settled []float64 // those that began while all tasks were at work: starting and ending sessions takes CPU time

	atWork *atomic.Int64 // number of tasks that have done a step
	tasks  int64
	calm   bool // all tasks were at work when the step began
}

func (l *timedLog) Append(ctx context.Context, id string, after int, entries ...task.Entry) (int, error) {
	kept := make([]journal.Entry, len(entries))
	for i, e := range entries {
		kept[i] = journal.Entry(e)
	}
	begin := time.Now()
	last, err := l.journal.Append(ctx, id, after, kept...)
	took := time.Since(begin)
	switch entries[len(entries)-1].Kind {
	case task.KindIntent:
		l.step, l.calm = took, l.atWork.Load() == l.tasks
	case task.KindOutcome:
		l.note((l.step + took).Seconds() * 1000)
	case task.KindDone:
		l.atWork.Add(1) // no step is calm from now on
	}
	return last, err
}

func (l *timedLog) note(step float64) {
	if len(l.steps) == 0 {
		l.atWork.Add(1)
	}
	l.steps = append(l.steps, step)
	if l.calm {
		l.settled = append(l.settled, step)
	}
}

func (l *timedLog) Entries(ctx context.Context, id string) (all []task.Entry, err error) {
	kept, err := l.journal.Entries(ctx, id)
	for _, e := range kept {
		all = append(all, task.Entry(e))
	}
	return all, err
}
