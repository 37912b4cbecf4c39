package main

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
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
	quick   bool          // some kills follow the one before at once
	fast    bool          // every kill comes as soon as the server is seen
	over    chan struct{} // closed: nobody calls any more

	mu      sync.Mutex
	kills   int
	outage  outage
	outages []float64 // milliseconds from a kill to the first answer to a later call
}

// outage is what callers see of the last kill.
type outage struct {
	began     time.Time
	firstCall int64 // the first call made after the kill
	ended     bool  // and it, or a later one, was answered
}

func (s *storm) newKiller(c *stormClient, pidFile string) *killer {
	return &killer{
		client: c, pidFile: pidFile, random: rand.New(rand.NewPCG(s.seed, 1)),
		every:   int64(s.calls / (s.kills + 4)), // the last one has calls left to be seen by
		planned: s.kills, quick: s.quick, fast: s.fast, over: make(chan struct{}), outage: outage{ended: true},
	}
}

// heard is told of every answer.
func (k *killer) heard(e history.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.outage.ended && e.Kind == history.OK && callNumber(e.ID) >= k.outage.firstCall {
		k.outage.ended = true
		k.outages = append(k.outages, time.Since(k.outage.began).Seconds()*1000)
	}
}

// callNumber is n of the ids n and "call-n".
func callNumber(id string) int64 {
	n, err := strconv.ParseInt(strings.Trim(id, `"cal-`), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// count is how many kills there were so far.
func (k *killer) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kills
}

// serve kills until it has killed enough or nobody calls any more.
func (k *killer) serve() {
	for last := 0; k.count() < k.planned; {
		pid, ok := k.nextVictim(last)
		if !ok {
			return
		}
		time.Sleep(time.Duration(k.random.Int64N(int64(2 * time.Millisecond))))
		k.kill(pid)
		last = pid
	}
}

// nextVictim waits until the next kill is due and the server that replaced the
// last one is at work again: what the kill interrupted has been repeated by
// then, and no read is interrupted twice in a row. A quick kill does not wait
// for that: it comes with the first answer.
func (k *killer) nextVictim(last int) (pid int, ok bool) {
	due, settle := k.every*int64(k.count()+1), k.every/2
	if k.quick && k.count()%4 == 3 {
		due, settle = 0, 1
	}
	tick := time.NewTicker(look)
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

// registered is the server that started last, 0 if there was none yet.
func (k *killer) registered() int {
	text, err := os.ReadFile(k.pidFile)
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(string(text))
	return pid
}

// kill takes turns: half of the servers die out of the blue, a quarter at rest,
// a quarter unable to read.
func (k *killer) kill(pid int) {
	tally := tallyFile(k.pidFile, pid)
	switch k.count() % 4 {
	case 0:
		k.killSettled(pid, tally)
	case 2:
		k.killStopped(pid)
	default:
		end(pid)
	}
	began, firstCall := time.Now(), k.client.next.Load()
	gone := waitUntil(func() bool { return isGone(pid) })
	k.client.log.Add(history.Event{Kind: history.Kill, PID: pid, Settled: gone && settled(tally)})
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kills++
	k.outage = outage{began: began, firstCall: firstCall}
}

// killSettled kills a server that has answered all it read, while the wrap is
// stuck with a client that does not listen: the answers are in the pipe,
// complete, for whoever reads to the end.
func (k *killer) killSettled(pid int, tally string) {
	c := k.client
	c.ears.cover.Lock()
	answer := c.askMuch(k.count())
	calm := 0
	waitUntil(func() bool {
		if calm++; !settled(tally) {
			calm = 0
		}
		return calm > 6 // longer than any call takes
	})
	end(pid)
	waitUntil(func() bool { return isGone(pid) }) // the wrap knows
	time.Sleep(3 * time.Millisecond)              // and has begun to act on it
	c.ears.cover.Unlock()
	select {
	case <-answer:
	case <-c.stopped:
	}
}

// killStopped lets the wrap write to a server that does not read any more.
func (k *killer) killStopped(pid int) {
	freeze(pid)
	time.Sleep(time.Duration(k.random.Int64N(int64(time.Millisecond))))
	end(pid)
}

// look is how often something is looked at.
const look = 500 * time.Microsecond

// waitUntil looks until the condition holds, but not for ever; it reports whether it does.
func waitUntil(condition func() bool) bool {
	for begin := time.Now(); time.Since(begin) < 200*time.Millisecond; time.Sleep(look) {
		if condition() {
			return true
		}
	}
	return false
}
