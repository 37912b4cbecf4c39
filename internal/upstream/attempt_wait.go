package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// await waits for the answer to what was asked last: Timeout, counted from the
// last sign of progress, and until MaxWait is over at most.
func (a *attempt) await(method string) (answered, error) {
	wait := &patience{asked: time.Now(), timeout: a.Timeout, until: a.until}
	wait.progressed = wait.asked
	wait.looked = wait.asked
	wait.cpu = a.conn.Vitals().CPU
	tick := time.NewTicker(min(max(a.Timeout/20, 5*time.Millisecond), 250*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case answer := <-a.witness.answers:
			return answer, nil
		case <-a.conn.Done():
			select {
			case answer := <-a.witness.answers: // its last word
				return answer, nil
			default:
			}
			return answered{}, fmt.Errorf("it ended before it answered %s: %s", method, a.conn.Evidence().Sentence())
		case <-a.ctx.Done():
			a.atLimit(method, wait, errors.Is(a.ctx.Err(), context.DeadlineExceeded))
			return answered{}, context.Cause(a.ctx)
		case now := <-tick.C:
			if line := wait.look(a, now); line != "" {
				a.Progress(fmt.Sprintf("waiting for an answer to %s for %v: %s", method, now.Sub(wait.asked).Round(time.Second/10), line))
			}
			if wait.over(now) {
				a.atLimit(method, wait, true)
				return answered{}, fmt.Errorf("it did not answer %s within %v", method, a.Limit.After.Round(time.Second/10))
			}
		}
	}
}

// patience decides how long to wait. Its arithmetic is pure; look feeds it.
type patience struct {
	timeout    time.Duration
	until      time.Time // no progress counts any more
	asked      time.Time
	progressed time.Time // the last sign of progress
	told       time.Time // the last line for people

	looked  time.Time     // at the processes
	cpu     time.Duration // they had used by then
	recent  time.Duration // used within window
	window  time.Duration // between the last two looks
	bytes   int64         // they had moved by the last survey
	stopped bool
	known   bool
}

func (p *patience) over(now time.Time) bool {
	return now.Sub(p.progressed) > p.timeout || now.After(p.until)
}

// progress notes a sign of it.
func (p *patience) progress(at time.Time) {
	if at.After(p.progressed) {
		p.progressed = at
	}
}

// used notes the CPU time that was used so far.
func (p *patience) used(cpu time.Duration, now time.Time) (busy bool) {
	p.recent, p.window = cpu-p.cpu, now.Sub(p.looked)
	p.cpu, p.looked = cpu, now
	if busy = (AtLimit{CPU: p.recent, Window: p.window}).Busy(); busy {
		p.progress(now)
	}
	return busy
}

// moved notes the bytes that were moved so far. An open connection alone is no
// progress: a download may stall, and some never go on.
func (p *patience) moved(bytes int64, now time.Time) (moving bool) {
	const chatter = 1 << 10 // wakers and keep-alives
	if moving = p.bytes > 0 && bytes-p.bytes > chatter; moving {
		p.progress(now)
	}
	p.bytes = bytes
	return moving
}

// lookEvery is the time between two looks at the processes, toldEvery between
// two lines for people.
const (
	lookEvery = time.Second
	toldEvery = 5 * time.Second
)

// look searches for progress and returns a line for people if it is time for
// one.
func (p *patience) look(a *attempt, now time.Time) (line string) {
	doing := "nothing is to be seen of it"
	if last := a.conn.LastStderr(); last.After(p.progressed) {
		doing = "it writes to stderr"
		p.progress(last)
	}
	if last := a.conn.LastHeard(); last.After(p.progressed) {
		doing = "it writes something else"
		p.progress(last)
	}
	if p.told.IsZero() {
		p.told = p.asked
	}
	if now.Sub(p.looked) < min(lookEvery, p.timeout/4) {
		return ""
	}
	if v := a.conn.Vitals(); v.Known {
		p.known, p.stopped = true, v.Stopped
		if p.used(v.CPU, now) {
			doing = "it is busy"
		}
	} else {
		p.looked = now
	}
	due := now.Sub(p.told) >= toldEvery
	if due || now.Sub(p.progressed) > p.timeout/2 { // a closer look has its price
		if s := a.conn.Survey(); s.Downloading != "" {
			if doing = "its download stands still: " + s.Downloading; p.moved(s.Moved, now) {
				doing = "it downloads: " + s.Downloading
			}
		}
	}
	if !due {
		return ""
	}
	p.told = now
	return doing
}

// atLimit keeps what the server is doing now.
func (a *attempt) atLimit(method string, wait *patience, passed bool) {
	a.Limit = AtLimit{Passed: passed, Waiting: method, After: time.Since(wait.asked), Alive: true}
	if a.Remote {
		return
	}
	if a.Limit.Alive = !a.conn.Exited(); !a.Limit.Alive {
		return
	}
	a.Limit.Unread = a.conn.Unread()
	a.Limit.Stopped, a.Limit.CPUKnown = wait.stopped, wait.known
	a.Limit.CPU, a.Limit.Window = wait.recent, wait.window
	a.Limit.Survey = a.conn.Survey()
}
