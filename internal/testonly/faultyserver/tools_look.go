package faultyserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
)

// Tools that only read.

func (c *call) echo() { c.say(c.args.Text) }

// forecast decodes its arguments as strictly as its schema requires, and fails as most servers do:
// with one opaque line.
func (c *call) forecast() {
	var p struct {
		Arguments struct {
			City  string   `json:"city"`
			Days  int      `json:"days"`
			Units string   `json:"units"`
			Tags  []string `json:"tags"`
		} `json:"arguments"`
	}
	if err := json.Unmarshal(c.params, &p); err != nil {
		c.fail(err.Error())
		return
	}
	c.say(fmt.Sprintf("%s, %d days, %s: rain", p.Arguments.City, p.Arguments.Days, cmp.Or(p.Arguments.Units, "celsius")))
}

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
