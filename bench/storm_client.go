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

	"github.com/gauze-mcp/gauze/bench/history"
)

const appendedPrefix = "appended " // how the faulty server says that it appended a key

// stormClient is one client of the wrap with many callers behind it. Every
// call and every answer goes into the log, in the order of the wire.
type stormClient struct {
	dialect *dialect
	cmd     *exec.Cmd
	ears    *ears
	out     *bufio.Reader // of what the ears let through
	log     *history.Log
	// One in so many calls with an effect takes a millisecond between the
	// effect and the answer.
	workEvery int

	writing sync.Mutex // keeps the order of the log that of the wire
	in      io.WriteCloser

	waiting  sync.Mutex
	callers  map[string]chan struct{} // by id, until the answer comes
	next     atomic.Int64             // the number of the next call
	answered atomic.Int64

	stopOnce sync.Once
	stopped  chan struct{} // closed: nobody waits for answers any more
	ended    chan struct{} // closed: the wrap said its last word
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
	ears := &ears{r: out}
	return &stormClient{
		dialect: d, cmd: cmd, workEvery: workEvery, in: in, ears: ears, out: bufio.NewReaderSize(ears, pipeToClient), log: &history.Log{},
		callers: map[string]chan struct{}{}, stopped: make(chan struct{}), ended: make(chan struct{}),
	}, nil
}

// open starts the wrap and says what comes before the first call.
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
			return fmt.Errorf("the wrap ended before the first call: %w", err)
		}
		if e, ok := readAnswer(line); ok {
			if e.Kind == history.Fail || e.Kind == history.Unknown {
				return fmt.Errorf("the opening failed: %s", line)
			}
			return nil
		}
	}
}

// keepCalling is one caller: the next call as soon as the last is answered,
// until all are made.
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

// call makes call number n and waits for its answer, or for the end of the storm.
func (c *stormClient) call(n int) {
	id := fmt.Sprint(n)
	if n/2%2 == 1 {
		id = fmt.Sprintf(`"call-%d"`, n) // numbers and strings live side by side
	}
	invoked := history.Event{Kind: history.Invoke, ID: id, Effect: n%2 == 0}
	var line []byte
	if invoked.Effect {
		invoked.Key = fmt.Sprintf("key-%d", n)
		work := 0
		if n/2%c.workEvery == 0 {
			work = 1 // in the middle of it for a millisecond
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

// ask sends a call and returns where its answer will be announced.
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

// askMuch sends a read whose answer does not fit into the pipe to the client:
// while the client does not listen, the wrap is stuck with it. The server's own
// pipe, sixteen times as wide, takes it and everything else.
func (c *stormClient) askMuch(n int) <-chan struct{} {
	invoked := history.Event{
		Kind: history.Invoke, ID: fmt.Sprintf(`"much-%d"`, n),
		Key: fmt.Sprintf("much-%d-%s", n, strings.Repeat("x", 4*pipeToClient)),
	}
	return c.ask(invoked, c.dialect.toolCall(invoked.ID, "echo", fmt.Sprintf(`{"text":%q}`, invoked.Key)))
}

const pipeToClient = 4 << 10

// ears can be covered: then the client does not read what the wrap writes.
type ears struct {
	r     io.Reader
	cover sync.Mutex
}

func (e *ears) Read(b []byte) (int, error) {
	e.cover.Lock()
	e.cover.Unlock() //lint:ignore SA2001 waiting is all that is wanted
	return e.r.Read(b)
}

// listen reads until the wrap says nothing more. heard is told of every answer.
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

// stop releases every caller; what they still wait for is lost.
func (c *stormClient) stop() { c.stopOnce.Do(func() { close(c.stopped) }) }

// watch stops the storm when no answer came for too long.
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

// close ends the conversation, hears the wrap out and waits for it to be gone.
func (c *stormClient) close() error {
	c.in.Close()
	impatient := time.AfterFunc(20*time.Second, func() { c.cmd.Process.Kill() })
	defer impatient.Stop()
	<-c.ended
	return c.cmd.Wait()
}
