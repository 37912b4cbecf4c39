package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/lab/bench/history"
)

const appendedPrefix = "appended " // the prefix of the faulty server's reply to append

// stormClient is a client of gauze with many concurrent callers. Its log records every call and
// every response in the order of the wire.
type stormClient struct {
	dialect  *dialect
	cmd      *exec.Cmd
	pausable *pausableReader
	out      *bufio.Reader // reads from pausable
	log      *history.Log
	// workEvery is n if every n-th call with an effect takes a millisecond between the effect and
	// the response.
	workEvery int
	readAs    func(history.Event) history.Event // changes a response before it is logged; may be nil

	writing sync.Mutex // keeps the log in the order of the wire
	in      io.WriteCloser

	waiting  sync.Mutex
	callers  map[string]chan struct{} // by id, until the response arrives
	next     atomic.Int64             // the number of the next call
	answered atomic.Int64

	stopOnce sync.Once
	stopped  chan struct{} // closed when callers stop waiting for responses
	ended    chan struct{} // closed when gauze has closed its output
}

func newStormClient(d *dialect, cmd *exec.Cmd, workEvery int) (*stormClient, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	narrow(out.(*os.File))
	pausable := &pausableReader{r: out}
	return &stormClient{
		dialect: d, cmd: cmd, workEvery: workEvery, in: in, pausable: pausable, out: bufio.NewReaderSize(pausable, pipeToClient), log: &history.Log{},
		callers: map[string]chan struct{}{}, stopped: make(chan struct{}), ended: make(chan struct{}),
	}, nil
}

// open starts gauze and sends the opening of the dialect.
func (c *stormClient) open() error {
	if err := c.cmd.Start(); err != nil {
		return err
	}
	for _, o := range c.dialect.opening {
		if _, err := io.WriteString(c.in, o.line); err != nil {
			return err
		}
		if !o.answer {
			continue
		}
		if err := c.awaitOpening(); err != nil {
			return err
		}
	}
	return nil
}

func (c *stormClient) awaitOpening() error {
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("gauze exited before the first call: %w", err)
		}
		if e, ok := readAnswer(line); ok {
			if e.Kind == history.Fail || e.Kind == history.Unknown {
				return fmt.Errorf("the handshake failed: %s", line)
			}
			return nil
		}
	}
}

// keepCalling makes one call after another until all have been made.
func (c *stormClient) keepCalling(calls int) {
	for {
		n := int(c.next.Add(1)) - 1
		if n >= calls {
			return
		}
		c.call(n)
		select {
		case <-c.stopped:
			return
		default:
		}
	}
}

// call makes call number n and waits for its response, or for the end of the storm.
func (c *stormClient) call(n int) {
	id := fmt.Sprint(n)
	if n/2%2 == 1 {
		id = fmt.Sprintf(`"call-%d"`, n) // ids of both types are in use at the same time
	}
	invoked := history.Event{Kind: history.Invoke, ID: id, Effect: n%2 == 0}
	var line []byte
	if invoked.Effect {
		invoked.Key = fmt.Sprintf("key-%d", n)
		work := 0
		if n/2%c.workEvery == 0 {
			work = 1 // keeps the call in progress for a millisecond
		}
		line = c.dialect.toolCall(id, "append", fmt.Sprintf(`{"key":%q,"ms":%d}`, invoked.Key, work))
	} else {
		invoked.Key = fmt.Sprintf("text-%d", n)
		line = c.dialect.toolCall(id, "echo", fmt.Sprintf(`{"text":%q}`, invoked.Key))
	}

	select {
	case <-c.ask(invoked, line):
	case <-c.stopped:
	}
}

// ask sends a call and returns a channel that reports its response.
func (c *stormClient) ask(invoked history.Event, line []byte) <-chan struct{} {
	answer := make(chan struct{}, 1)
	c.waiting.Lock()
	c.callers[invoked.ID] = answer
	c.waiting.Unlock()
	c.writing.Lock()
	c.log.Add(invoked)
	_, err := c.in.Write(line)
	c.writing.Unlock()
	if err != nil {
		c.stop()
	}
	return answer
}

// askLarge sends a read whose response does not fit into the pipe to the client. While the client
// does not read, gauze blocks on writing it. The server's own pipe is sixteen times as large and
// accepts it.
func (c *stormClient) askLarge(n int) <-chan struct{} {
	invoked := history.Event{
		Kind: history.Invoke, ID: fmt.Sprintf(`"large-%d"`, n),
		Key: fmt.Sprintf("large-%d-%s", n, strings.Repeat("x", 4*pipeToClient)),
	}
	return c.ask(invoked, c.dialect.toolCall(invoked.ID, "echo", fmt.Sprintf(`{"text":%q}`, invoked.Key)))
}

const pipeToClient = 4 << 10

// pausableReader can be paused, so that the client does not read what gauze writes.
type pausableReader struct {
	r      io.Reader
	paused sync.Mutex
}

func (e *pausableReader) Read(b []byte) (int, error) {
	e.paused.Lock()
	e.paused.Unlock() //lint:ignore SA2001 it only waits while paused
	return e.r.Read(b)
}

// listen reads until gauze closes its output and calls heard with every response.
func (c *stormClient) listen(heard func(history.Event)) error {
	defer close(c.ended)
	defer c.stop()
	for {
		line, err := c.out.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		e, ok := readAnswer(line)
		if !ok {
			continue
		}
		if c.readAs != nil {
			e = c.readAs(e)
		}
		c.log.Add(e)
		c.answered.Add(1)
		heard(e)
		c.waiting.Lock()
		caller := c.callers[e.ID]
		delete(c.callers, e.ID)
		c.waiting.Unlock()
		if caller != nil {
			caller <- struct{}{}
		}
	}
}

// stop releases every caller. Calls that are still waiting count as lost.
func (c *stormClient) stop() { c.stopOnce.Do(func() { close(c.stopped) }) }

// watch stops the storm when no response arrives for tooLong.
func (c *stormClient) watch(tooLong time.Duration) {
	tick := time.NewTicker(tooLong / 8)
	defer tick.Stop()
	last, since := c.answered.Load(), time.Now()
	for {
		select {
		case <-c.stopped:
			return
		case now := <-tick.C:
			if n := c.answered.Load(); n != last {
				last, since = n, now
			} else if now.Sub(since) > tooLong {
				c.stop()
				return
			}
		}
	}
}

// close closes gauze's input, reads its remaining output and waits for it to exit.
func (c *stormClient) close() error {
	c.in.Close()
	impatient := time.AfterFunc(20*time.Second, func() { c.cmd.Process.Kill() })
	defer impatient.Stop()
	<-c.ended
	return c.cmd.Wait()
}
