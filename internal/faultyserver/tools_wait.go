package faultyserver

import "time"

// Tools that take their time.

func (c *call) sleep() {
	if c.wait(millis(c.args.MS)) {
		c.say("slept")
	}
}

// late does not care that it was cancelled.
func (c *call) late() {
	time.Sleep(millis(c.args.MS))
	c.say("late")
}

func (c *call) busy() {
	for until := time.Now().Add(millis(c.args.MS)); time.Now().Before(until); {
		if c.ctx.Err() != nil {
			return
		}
	}
	c.say("busy no more")
}

func (c *call) hang() { <-c.ctx.Done() }

func (c *call) hangUnsafe() {
	c.execute("hang", c.args.Key, "")
	<-c.ctx.Done()
}
