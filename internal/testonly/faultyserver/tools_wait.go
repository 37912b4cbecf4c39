package faultyserver

import (
	"fmt"
	"os"
	"time"
)

// Tools that take time.

func (c *call) sleep() {
	if c.wait(millis(c.args.MS)) {
		c.say("slept")
	}
}

// late ignores cancellation.
func (c *call) late() {
	select {
	case <-time.After(millis(c.args.MS)):
		c.say("late")
	case <-c.s.stdinClosed:
	}
}

func (c *call) busy() {
	for until := time.Now().Add(millis(c.args.MS)); time.Now().Before(until); {
		if c.ctx.Err() != nil {
			return
		}
	}
	c.say("no longer busy")
}

func (c *call) hang() { <-c.ctx.Done() }

func (c *call) hangUnsafe() {
	c.execute("hang", c.args.Key, "")
	<-c.ctx.Done()
}

// wedge blocks the whole server: it keeps reading, but never responds again.
func (c *call) wedge() {
	c.s.out.silence()
	if c.args.Kind == "spin" {
		spinForever()
	}
}

// stop suspends the process. A child resumes it after ms, or the test does.
func (c *call) stop() {
	if c.args.MS > 0 {
		if err := continueAfter(millis(c.args.MS)); err != nil {
			c.fail(err.Error())
			return
		}
	}
	if err := Suspend(os.Getpid()); err != nil {
		c.fail(err.Error())
		return
	}
	c.say("continued")
}

// progress reports n steps (default 3, endless if negative), then responds or dies.
func (c *call) progress() {
	n := c.args.N
	if n == 0 {
		n = 3
	}
	for i := 1; n < 0 || i <= n; i++ {
		if i > 1 && !c.wait(millis(c.args.IntervalMS)) {
			return
		}
		c.report(c.token, i, n)
	}
	if c.args.Die && c.timesLeft("progress") {
		end("KILL", 0)
	}
	c.say(fmt.Sprintf("%d steps", n))
}

// report sends one progress notification if there is a token.
func (c *call) report(token []byte, step, total int) {
	if token == nil {
		return
	}
	of := ""
	if total > 0 {
		of = fmt.Sprintf(`,"total":%d`, total)
	}
	c.s.notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d%s,"message":"step %d"}`, token, step, of, step))
}

// staleProgress reports progress for an unknown token, responds, and reports progress once more for
// the finished call.
func (c *call) staleProgress() {
	c.report([]byte(`"no-such-token"`), 1, 2)
	c.say("done")
	c.report(c.token, 2, 2)
}
