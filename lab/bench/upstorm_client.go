package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/lab/bench/history"
)

// upClient is a client of gauze up. Its ids are the same as those of every other client.
type upClient struct {
	name  string
	log   *history.Log
	next  atomic.Int64
	ask   func(e history.Event, line []byte) // returns when it is answered, or lost
	close func()

	mu    sync.Mutex
	ended []string // why its session ended
}

// newClient begins the session of client number i.
func (s *upStorm) newClient(i int) (*upClient, error) {
	c := &upClient{name: fmt.Sprintf("client%d", i), log: &history.Log{}}
	if i < s.web {
		return c, c.overHTTP(s)
	}
	return c, c.overConnect(s)
}

func (c *upClient) end(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ended) < 5 {
		c.ended = append(c.ended, c.name+": "+why)
	}
}

// overHTTP makes a client of /mcp.
func (c *upClient) overHTTP(s *upStorm) error {
	web := newWebClient(&dialects[0], s.up.url, s.callers)
	if err := web.open(context.Background()); err != nil {
		return err
	}
	c.close = web.close
	c.ask = func(e history.Event, line []byte) {
		c.log.Add(e)
		ctx, cancel := context.WithTimeout(context.Background(), s.silenceTimeout)
		defer cancel()
		err := web.send(ctx, line, func(line []byte) {
			if answer, ok := readAnswer(line); ok {
				c.log.Add(admit(answer))
			}
		})
		if err != nil {
			c.end(err.Error())
		}
	}
	return nil
}

// overConnect makes a client of gauze connect.
func (c *upClient) overConnect(s *upStorm) error {
	cmd := s.command("connect", "--file", s.file())
	output := &tailBuffer{}
	cmd.Stderr = output
	client, err := newStormClient(&dialects[0], cmd, 1)
	if err != nil {
		return err
	}
	if err := client.open(); err != nil {
		cmd.Process.Kill()
		log, _ := filepath.Glob(filepath.Join(s.dir, "s", "up", "*.log"))
		for _, path := range log {
			text, _ := os.ReadFile(path)
			output.Write(text)
		}
		return fmt.Errorf("%w\n%s", err, output)
	}
	c.log, client.readAs = client.log, admit
	go client.listen(func(history.Event) {})
	go client.watch(s.silenceTimeout)
	c.ask = func(e history.Event, line []byte) {
		select {
		case <-client.ask(e, line):
		case <-client.stopped:
		}
	}
	var closing atomic.Bool
	c.close = func() {
		closing.Store(true)
		client.stop()
		if err := client.close(); err != nil {
			c.end(err.Error() + ": " + output.String())
		}
	}
	go func() {
		<-client.ended
		if !closing.Load() {
			c.end("gauze connect exited: " + output.String())
		}
	}()
	return nil
}

// admit makes a failure of a response to a call of a server that the file does not have: the call did not run.
func admit(e history.Event) history.Event {
	if e.Kind == history.Foreign && bytes.Contains([]byte(e.Code), []byte(`"code":-32602`)) {
		e.Kind, e.Code, e.Unsent = history.Fail, notInFile, true
	}
	return e
}

const notInFile = "not-in-the-file"

// keepCalling makes one call after another until all have been made, the last ones after all harm.
func (s *upStorm) keepCalling(c *upClient) {
	last := s.calls - s.calls/(max(s.kills, s.reloads, s.upKills)+2)
	for {
		n := int(s.next.Add(1)) - 1
		if n >= s.calls {
			return
		}
		if n >= last {
			select {
			case <-s.harmed:
			case <-time.After(s.silenceTimeout):
			}
		}
		s.call(c, n)
		s.answered.Add(1)
	}
}

// call makes call number n, which is of any server.
func (s *upStorm) call(c *upClient, n int) {
	own := c.next.Add(1)
	e := history.Event{Kind: history.Invoke, ID: fmt.Sprint(own), Effect: n%2 == 0}
	if own%4 > 1 {
		e.ID = fmt.Sprintf(`"call-%d"`, own)
	}
	server := key(n / 2 % s.servers)
	if e.Effect {
		e.Key = fmt.Sprintf("%s key-%d of %s", server, n, c.name)
		work := 0
		if n/2%s.workEvery == 0 {
			work = 20 // keeps the call in progress after its effect
		}
		c.ask(e, dialects[0].toolCall(e.ID, server+"__append", fmt.Sprintf(`{"key":%q,"ms":%d}`, e.Key, work)))
		return
	}
	e.Key = fmt.Sprintf("%s text-%d of %s", server, n, c.name)
	c.ask(e, dialects[0].toolCall(e.ID, server+"__echo", fmt.Sprintf(`{"text":%q}`, e.Key)))
}

// events returns what happened to all clients. Their ids are made different.
func (s *upStorm) events() []history.Event {
	all := s.faults.Events()
	for _, c := range s.clients {
		for _, e := range c.log.Events() {
			e.ID = c.name + " " + e.ID
			all = append(all, e)
		}
	}
	return all
}
