package main

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/lab/bench/history"
)

// killer kills the server repeatedly, evenly spread over the responses, each time at a random
// moment and only after the previous server has been replaced.
type killer struct {
	client  *stormClient
	pidFile string
	random  *rand.Rand
	every   int64 // responses from one kill to the next
	planned int
	quick   bool          // some kills follow the previous one immediately
	fast    bool          // every kill comes as soon as the server is seen
	over    chan struct{} // closed when the calls have ended

	mu      sync.Mutex
	kills   int
	outage  outage
	outages []float64 // milliseconds from a kill to the first response to a later call
}

// outage is the effect of the last kill on the callers.
type outage struct {
	began     time.Time
	firstCall int64 // the first call made after the kill
	ended     bool  // this call, or a later one, was answered
}

func (s *storm) newKiller(c *stormClient, pidFile string) *killer {
	return &killer{
		client: c, pidFile: pidFile, random: rand.New(rand.NewPCG(s.seed, 1)),
		every:   int64(s.calls / (s.kills + 4)), // leaves calls for the last server to answer
		planned: s.kills, quick: s.quick, fast: s.fast, over: make(chan struct{}), outage: outage{ended: true},
	}
}

// heard records a response.
func (k *killer) heard(e history.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.outage.ended && e.Kind == history.OK && callNumber(e.ID) >= k.outage.firstCall {
		k.outage.ended = true
		k.outages = append(k.outages, time.Since(k.outage.began).Seconds()*1000)
	}
}

// callNumber returns n for the ids n and "call-n".
func callNumber(id string) int64 {
	n, err := strconv.ParseInt(strings.Trim(id, `"cal-`), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// count returns the number of kills so far.
func (k *killer) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kills
}

// serve kills servers until it has killed enough or the calls have ended.
func (k *killer) serve() {
	for last := 0; k.count() < k.planned; {
		pid, ok := k.nextServer(last)
		if !ok {
			return
		}
		time.Sleep(time.Duration(k.random.Int64N(int64(2 * time.Millisecond))))
		k.kill(pid)
		last = pid
	}
}

// nextServer waits until the next kill is due and the server that replaced the last one has
// answered a call. By then the interrupted calls have been repeated, so no read is interrupted
// twice in a row. A quick kill comes with the first response.
func (k *killer) nextServer(last int) (pid int, ok bool) {
	due, settle := k.every*int64(k.count()+1), k.every/2
	if k.quick && k.count()%4 == 3 {
		due, settle = 0, 1
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-k.over:
			return 0, false
		case <-tick.C:
		}
		if pid == 0 {
			if pid = k.registered(); pid == last {
				pid = 0
			} else if k.fast {
				return pid, true
			} else {
				due = max(due, k.client.answered.Load()+settle)
			}
		} else if k.client.answered.Load() >= due {
			return pid, true
		}
	}
}

// registered returns the process id of the server that started last, or 0 if there is none.
func (k *killer) registered() int {
	text, err := os.ReadFile(k.pidFile)
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(string(text))
	return pid
}

// kill rotates: half of the servers are killed without preparation, a quarter while idle and a
// quarter while stopped.
func (k *killer) kill(pid int) {
	tally := tallyFile(k.pidFile, pid)
	switch k.count() % 4 {
	case 0:
		k.killSettled(pid, tally)
	case 2:
		k.killStopped(pid)
	default:
		killProcess(pid)
	}
	began, firstCall := time.Now(), k.client.next.Load()
	gone := waitUntil(func() bool { return isGone(pid) })
	k.client.log.Add(history.Event{Kind: history.Kill, PID: pid, Settled: gone && settled(tally)})
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kills++
	k.outage = outage{began: began, firstCall: firstCall}
}

// killSettled kills a server that has answered everything it read, while gauze is blocked on a
// client that does not read. The complete responses are still in the pipe.
func (k *killer) killSettled(pid int, tally string) {
	c := k.client
	c.pausable.paused.Lock()
	answer := c.askLarge(k.count())
	calm := 0
	waitUntil(func() bool {
		if calm++; !settled(tally) {
			calm = 0
		}
		return calm > 6 // longer than any call takes
	})
	killProcess(pid)
	waitUntil(func() bool { return isGone(pid) }) // gauze has reaped it
	time.Sleep(3 * time.Millisecond)              // gauze has begun to react
	c.pausable.paused.Unlock()
	select {
	case <-answer:
	case <-c.stopped:
	}
}

// killStopped makes gauze write to a server that no longer reads.
func (k *killer) killStopped(pid int) {
	suspendProcess(pid)
	time.Sleep(time.Duration(k.random.Int64N(int64(time.Millisecond))))
	killProcess(pid)
}

// pollInterval is how often waitUntil and its like check their condition.
const pollInterval = 500 * time.Microsecond

// waitUntil polls until the condition holds or a time limit passes. It reports whether the
// condition holds.
func waitUntil(condition func() bool) bool {
	for begin := time.Now(); time.Since(begin) < 200*time.Millisecond; time.Sleep(pollInterval) {
		if condition() {
			return true
		}
	}
	return false
}
