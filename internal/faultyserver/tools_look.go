package faultyserver

import (
	"os"
)

// Tools that look and change nothing.

func (c *call) echo() { c.say(c.args.Text) }

func (c *call) echoRawParams() { c.say(string(c.params)) }

func (c *call) pid() {
	c.sayJSON(map[string]int{"pid": os.Getpid(), "generation": c.s.generation})
}

func (c *call) state() {
	x := c.s.session
	x.mu.Lock()
	defer x.mu.Unlock()
	c.sayJSON(struct {
		PID        int `json:"pid"`
		Generation int `json:"generation"`
		*session
	}{os.Getpid(), c.s.generation, x})
}

func (c *call) env() {
	dir, err := os.Getwd()
	if err != nil {
		dir = err.Error()
	}
	c.sayJSON(map[string]any{"env": os.Environ(), "cwd": dir, "args": os.Args})
}
