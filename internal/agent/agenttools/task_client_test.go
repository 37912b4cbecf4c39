package agenttools

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// rawClient speaks JSON-RPC in lines to a server of ours, as a client with tasks does.
type rawClient struct {
	*agent
	in    io.WriteCloser
	quit  func()
	hello object // the result of initialize

	mu      sync.Mutex
	changed *sync.Cond
	next    int
	answers map[string]object // by id
	asks    []object          // requests and notifications of the server
	gone    bool
}

const (
	tasksVersion = "2025-11-25"
	maxListBytes = 19_500 // of tools/list with all tools
)

// newRawClient connects in the home of a. A version of the legacy era is negotiated.
func newRawClient(a *agent, version string, capabilities object) *rawClient {
	a.t.Helper()
	c := &rawClient{agent: a, answers: map[string]object{}}
	c.changed = sync.NewCond(&c.mu)
	ctx, stop := context.WithCancel(context.Background())
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, toServer, fromServer, Options{Fleet: a.fleet, AllowWrites: a.settings.allow, AllTools: true, StateDir: filepath.Join(a.dir, "state", "tasks")})
		fromServer.Close()
	}()
	go c.listen(out)
	c.in = in
	c.quit = sync.OnceFunc(func() {
		in.Close()
		if err := <-ended; err != nil {
			a.t.Errorf("the server ended with %v", err)
		}
		stop()
	})
	a.t.Cleanup(c.quit)
	if version < modern {
		c.hello = c.call("initialize", object{"protocolVersion": version, "capabilities": capabilities, "clientInfo": object{"name": "raw", "version": "1"}})
		c.send(object{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	return c
}

func (c *rawClient) listen(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		c.mu.Lock()
		var m object
		switch {
		case err != nil:
			c.gone = true
		case json.Unmarshal(line, &m) != nil:
			c.t.Errorf("not JSON: %s", line)
		case m["method"] != nil:
			c.asks = append(c.asks, m)
		default:
			c.answers[fmt.Sprint(m["id"])] = m
		}
		c.changed.Broadcast()
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *rawClient) send(message object) {
	c.t.Helper()
	text, err := json.Marshal(message)
	if err == nil {
		_, err = c.in.Write(append(text, '\n'))
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// begin sends a request and returns its id.
func (c *rawClient) begin(method string, params object) string {
	c.mu.Lock()
	c.next++
	id := c.next
	c.mu.Unlock()
	c.send(object{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return fmt.Sprint(id)
}

// answer waits for the response to a request.
func (c *rawClient) answer(id string) object {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.answers[id] == nil && !c.gone {
		c.changed.Wait()
	}
	return c.answers[id]
}

// asked waits for a message of the server and removes it.
func (c *rawClient) asked(method string) object {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for i, m := range c.asks {
			if m["method"] == method {
				c.asks = slices.Delete(c.asks, i, i+1)
				return m
			}
		}
		if c.gone {
			return nil
		}
		c.changed.Wait()
	}
}

// call returns the result of a request.
func (c *rawClient) call(method string, params object) object {
	c.t.Helper()
	m := c.answer(c.begin(method, params))
	result, ok := m["result"].(object)
	if !ok {
		c.t.Fatalf("%s %v: %v", method, params, m)
	}
	return result
}

// refused returns the error of a request.
func (c *rawClient) refused(method string, params object) (code int, message string) {
	c.t.Helper()
	m := c.answer(c.begin(method, params))
	e, ok := m["error"].(object)
	if !ok {
		c.t.Fatalf("%s %v: %v", method, params, m)
	}
	return int(e["code"].(float64)), e["message"].(string)
}

// agree answers the next question with yes, and returns it.
func (c *rawClient) agree() object {
	c.t.Helper()
	q := c.asked("elicitation/create")
	if q == nil {
		c.t.Fatal("the user was not asked")
	}
	c.send(object{"jsonrpc": "2.0", "id": q["id"], "result": object{"action": "accept", "content": object{"agree": true}}})
	return q["params"].(object)
}

// create calls a tool as a task and returns its id.
func (c *rawClient) create(tool string, arguments object) string {
	c.t.Helper()
	created := c.call("tools/call", object{"name": tool, "arguments": arguments, "task": object{"ttl": 60000}})
	task, _ := created["task"].(object)
	ttl, hasTTL := task["ttl"]
	if task["status"] != "working" || task["createdAt"] == nil || task["lastUpdatedAt"] == nil || ttl != nil || !hasTTL || task["pollInterval"] == nil {
		c.t.Fatalf("%v", created)
	}
	return task["taskId"].(string)
}

func (c *rawClient) get(id string) object {
	c.t.Helper()
	return c.call("tasks/get", object{"taskId": id})
}

func (c *rawClient) status(id string) any { c.t.Helper(); return c.get(id)["status"] }

// state returns the state of the gauze task in a result.
func state(result object) any {
	data, _ := result["structuredContent"].(object)
	task, _ := data["task"].(object)
	return task["state"]
}

var canAsk = object{"elicitation": object{}}

// asTask is the arguments of a plan without a time to wait.
func asTask(steps ...string) object {
	in := errand("cursor/notes", steps...)
	delete(in, "wait_seconds")
	return in
}

func tasksHome(t *testing.T) *agent {
	a := newAgent(t, settings{person: yes})
	a.notesIn(ownFile)
	return a
}
