package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// await waits for the response to the last request: for Timeout since the last progress, and no
// longer than MaxWait.
func (a *attempt) await(method string) (answered, error) {
	wait := &patience{asked: time.Now(), timeout: a.Timeout, until: a.until}
	wait.progressed = wait.asked
	wait.checked = wait.asked
	wait.cpu = a.conn.Vitals().CPU
	var elsewhere lookout
	tick := time.NewTicker(min(max(a.Timeout/20, 5*time.Millisecond), 250*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case answer := <-a.reader.answers:
			return answer, nil
		case <-a.conn.Done():
			select {
			case answer := <-a.reader.answers: // it arrived just before the end
				return answer, nil
			default:
			}
			return answered{}, fmt.Errorf("no response to %s: %s", method, a.conn.Evidence().Sentence())
		case <-a.ctx.Done():
			a.atLimit(method, wait, errors.Is(a.ctx.Err(), context.DeadlineExceeded))
			return answered{}, context.Cause(a.ctx)
		case now := <-tick.C:
			if line := wait.check(a, now); line != "" {
				a.Progress(fmt.Sprintf("waiting for an answer to %s (%v so far): %s", method, now.Sub(wait.asked).Round(time.Second/10), line))
			}
			if settled := elsewhere.settled(a, wait.asked, now); settled || wait.over(now) {
				return a.giveUp(method, wait, &elsewhere)
			}
		}
	}
}

// giveUp ends the wait for a response, unless one arrived meanwhile.
func (a *attempt) giveUp(method string, wait *patience, elsewhere *lookout) (answered, error) {
	if !a.r.Remote && a.r.Stage < upstream.Spoke {
		elsewhere.lastLook(a)
	}
	select {
	case answer := <-a.reader.answers:
		return answer, nil
	default:
	}
	a.atLimit(method, wait, true)
	if a.r.Served = elsewhere.found; a.r.Served != nil {
		a.r.Limit.Serves = a.r.Served.URL
		return answered{}, fmt.Errorf("it responds at %s, not on stdout", a.r.Served.URL)
	}
	if id := a.reader.unexpected(); id != "" {
		return answered{}, a.invalid(fmt.Sprintf("its response to %s has the id %s, which gauze did not send", method, redact.Quote(id)))
	}
	return answered{}, fmt.Errorf("it did not answer %s within %v", method, a.r.Limit.After.Round(time.Second/10))
}

// patience decides how long to wait. It is pure except for check.
type patience struct {
	timeout    time.Duration
	until      time.Time // progress no longer counts
	asked      time.Time
	progressed time.Time // the last progress
	reported   time.Time // the last line for the user

	checked time.Time     // when the processes were last examined
	cpu     time.Duration // CPU time they had used by then
	recent  time.Duration // used within window
	window  time.Duration // between the last two examinations
	bytes   int64         // bytes they had moved at the last survey
	stopped bool
	known   bool
}

func (p *patience) over(now time.Time) bool {
	return now.Sub(p.progressed) > p.timeout || now.After(p.until)
}

// progress records progress.
func (p *patience) progress(at time.Time) {
	if at.After(p.progressed) {
		p.progressed = at
	}
}

// used records the CPU time used so far.
func (p *patience) used(cpu time.Duration, now time.Time) (busy bool) {
	p.recent, p.window = cpu-p.cpu, now.Sub(p.checked)
	p.cpu, p.checked = cpu, now
	if busy = (upstream.AtLimit{CPU: p.recent, Window: p.window}).Busy(); busy {
		p.progress(now)
	}
	return busy
}

// moved records the bytes moved so far. An open connection alone is not progress: a download may
// stall.
func (p *patience) moved(bytes int64, now time.Time) (moving bool) {
	const chatter = 1 << 10 // timers and keep-alives
	if moving = p.bytes > 0 && bytes-p.bytes > chatter; moving {
		p.progress(now)
	}
	p.bytes = bytes
	return moving
}

// download describes a download. The first survey of one has nothing to compare with, so only a
// later one can show that it has stalled.
func (p *patience) download(s upstream.Survey, now time.Time) string {
	first := p.bytes == 0
	if p.moved(s.Moved, now) || first {
		return "it is downloading: " + s.Downloading
	}
	return "its download has stalled: " + s.Downloading
}

// checkInterval is the time between two examinations of the processes, reportInterval the time
// between two lines for the user.
const (
	checkInterval  = time.Second
	reportInterval = 5 * time.Second
)

// check looks for progress. It returns a line for the user if one is due.
func (p *patience) check(a *attempt, now time.Time) (line string) {
	doing := "no activity"
	if last := a.conn.LastStderr(); last.After(p.progressed) {
		doing = "it is writing to stderr"
		p.progress(last)
	}
	if last := a.conn.LastHeard(); last.After(p.progressed) {
		doing = "it is sending other messages"
		p.progress(last)
	}
	if p.reported.IsZero() {
		p.reported = p.asked
	}
	if now.Sub(p.checked) < min(checkInterval, p.timeout/4) {
		return ""
	}
	if v := a.conn.Vitals(); v.Known {
		p.known, p.stopped = true, v.Stopped
		if p.used(v.CPU, now) {
			doing = "it is busy"
		}
	} else {
		p.checked = now
	}
	due := now.Sub(p.reported) >= reportInterval
	if due || now.Sub(p.progressed) > p.timeout/2 { // a survey is expensive
		if s := a.conn.Survey(); s.Downloading != "" {
			doing = p.download(s, now)
		}
	}
	if !due {
		return ""
	}
	p.reported = now
	return doing
}

// atLimit records what the server is doing now.
func (a *attempt) atLimit(method string, wait *patience, passed bool) {
	a.r.Limit = upstream.AtLimit{Passed: passed, Waiting: method, After: time.Since(wait.asked), Alive: true}
	if a.r.Remote {
		return
	}
	if a.r.Limit.Alive = !a.conn.Exited(); !a.r.Limit.Alive {
		return
	}
	a.r.Limit.Unread = a.conn.Unread()
	a.r.Limit.Stopped, a.r.Limit.CPUKnown = wait.stopped, wait.known
	a.r.Limit.CPU, a.r.Limit.Window = wait.recent, wait.window
	a.r.Limit.Survey = a.conn.Survey()
}
