package faultyserver

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Tools that change the server's lists, resources or state.

// changeTools changes the list of tools, and reverts it when called again.
func (c *call) changeTools() {
	for now := c.s.toolsChanged.Load(); !c.s.toolsChanged.CompareAndSwap(now, !now); now = c.s.toolsChanged.Load() {
	}
	c.s.changed("tools")
	c.say("changed")
}

// touch changes a resource and notifies its subscribers.
func (c *call) touch() {
	if !c.s.knows(c.args.URI) {
		c.fail("no such resource: " + c.args.URI)
		return
	}
	c.s.updated(c.args.URI)
	c.say("touched " + c.args.URI)
}

// openHandle and useHandle keep state in memory: a handle is valid until the process that returned
// it ends.
func (c *call) openHandle() {
	c.execute("open", c.args.Key, "")
	c.say(fmt.Sprintf("h%d-%d", os.Getpid(), c.s.handles.Add(1)))
}

func (c *call) useHandle() {
	at, mine := strings.CutPrefix(c.args.Key, fmt.Sprintf("h%d-", os.Getpid()))
	n, err := strconv.ParseInt(at, 10, 64)
	if !mine || err != nil || n < 1 || n > c.s.handles.Load() {
		c.fail("no such handle: " + c.args.Key)
		return
	}
	c.say("used " + c.args.Key)
}

// spawnChild starts a sleeping child that holds streams open.
func (c *call) spawnChild() {
	pid, err := c.s.spawn(c.args.Holds, c.args.Setsid, millis(c.args.MS))
	if err != nil {
		c.fail(err.Error())
		return
	}
	c.say(strconv.Itoa(pid))
}
