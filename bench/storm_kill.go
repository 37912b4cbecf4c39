package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gauze-mcp/gauze/bench/history"
)

// killer ends the server again and again, evenly spread over the answers, each
// time at a random moment and only once the one before was replaced.
type killer struct {
	client  *stormClient
	pidFile string
	random  *rand.Rand
	every   int64 // answers from one kill to the next
	planned int

	due  chan struct{} // the next kill is due
	over chan struct{} // closed: no more kills

	mu        sync.Mutex
	kills     int
	recovered bool      // a call made after the last kill was answered
	killedAt  time.Time // the last kill
	firstCall int64     // the first call made after it
	outages   []float64 // milliseconds from a kill to the first answer to a later call
}

func newKiller(c *stormClient, pidFile string, seed uint64, calls, kills int) *killer {
	return &killer{
		client: c, pidFile: pidFile, random: rand.New(rand.NewPCG(seed, 1)),
		every: int64(calls / (kills + 1)), planned: kills, due: make(chan struct{}, 1), over: make(chan struct{}), recovered: true,
	}
}

// heard is told of every answer.
func (k *killer) heard(e history.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.recovered && e.Kind == history.OK && callNumber(e.ID) >= k.firstCall {
		k.recovered = true
		k.outages = append(k.outages, time.Since(k.killedAt).Seconds()*1000)
	}
	if k.recovered && k.kills < k.planned && k.client.answered.Load() >= k.every*int64(k.kills+1) {
		select {
		case k.due <- struct{}{}:
		default:
		}
	}
}

// count is how many kills there were so far.
func (k *killer) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kills
}

// callNumber is n of the ids n and "call-n".
func callNumber(id string) int64 {
	n, err := strconv.ParseInt(strings.Trim(id, `"cal-`), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// serve kills until it has killed enough or nobody calls any more.
func (k *killer) serve() error {
	for k.count() < k.planned {
		select {
		case <-k.due:
		case <-k.over:
			return nil
		}
		time.Sleep(time.Duration(k.random.Int64N(int64(2 * time.Millisecond))))
		if err := k.kill(); err != nil {
			return err
		}
	}
	return nil
}

func (k *killer) kill() error {
	text, err := os.ReadFile(k.pidFile)
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		return err
	}
	settled := false
	switch k.random.IntN(8) {
	case 0:
		settled = k.killSettled(pid)
	case 1:
		k.killStopped(pid)
	default:
		syscall.Kill(pid, syscall.SIGKILL)
	}
	now := time.Now()
	k.client.log.Add(history.Event{Kind: history.Kill, PID: pid, Settled: settled})
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kills++
	k.recovered, k.killedAt, k.firstCall = false, now, k.client.next.Load()
	select {
	case <-k.due: // answers that came while we were at it
	default:
	}
	return nil
}

// killSettled kills a server that has answered all it read, while the wrap is
// stuck with a client that does not listen: the answers are in the pipe,
// complete, for whoever reads to the end. It reports whether the server really
// came to rest.
func (k *killer) killSettled(pid int) (settled bool) {
	c := k.client
	c.ears.cover.Lock()
	answer := c.askMuch(k.kills)
	rests(pid)
	gauze := c.cmd.Process.Pid
	syscall.Kill(gauze, syscall.SIGSTOP) // from here on it gives the server nothing to do
	settled = rests(pid)
	syscall.Kill(pid, syscall.SIGKILL)
	syscall.Kill(gauze, syscall.SIGCONT)
	time.Sleep(5 * time.Millisecond) // enough to notice the death, not to lose patience
	c.ears.cover.Unlock()
	select {
	case <-answer:
	case <-c.stopped:
	}
	return settled
}

// killStopped lets the wrap write to a server that does not read any more.
func (k *killer) killStopped(pid int) {
	syscall.Kill(pid, syscall.SIGSTOP)
	time.Sleep(time.Duration(k.random.Int64N(int64(time.Millisecond))))
	syscall.Kill(pid, syscall.SIGKILL)
}

// rests reports whether the process did nothing for longer than any call takes.
func rests(pid int) bool {
	const still, patience, look = 6 * time.Millisecond, 200 * time.Millisecond, 500 * time.Microsecond
	begin := time.Now()
	since := begin
	for {
		time.Sleep(look)
		now := time.Now()
		switch {
		case !asleep(pid):
			since = now
		case now.Sub(since) > still:
			return true
		}
		if now.Sub(begin) > patience {
			return false
		}
	}
}

// asleep reports whether no thread of the process runs, or would if it could.
func asleep(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, t := range threads {
		stat, err := os.ReadFile(t)
		if err != nil {
			return false
		}
		// The state stands behind the name, which is in parentheses.
		_, rest, _ := strings.Cut(string(stat), ") ")
		if !strings.HasPrefix(rest, "S") {
			return false
		}
	}
	return true
}
