package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/lab/bench/minimal"
)

const initializeLine = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"

const initializedLine = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// lineClient exchanges raw lines with a process. It adds the same few microseconds whatever process
// it is connected to.
type lineClient struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	nextID  int
	startup time.Duration // from exec to the initialize response
}

// dial starts the command with more variables in its environment and completes the handshake.
func dial(argv []string, env ...string) (*lineClient, error) {
	return dialTo(os.Stderr, argv, env...)
}

// dialTo is dial for a process whose stderr is written to stderr.
func dialTo(stderr io.Writer, argv []string, env ...string) (*lineClient, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = stderr
	cmd.Env = append(os.Environ(), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c := &lineClient{cmd: cmd, in: in, out: bufio.NewReaderSize(out, minimal.MaxLine)}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(in, initializeLine); err != nil {
		return nil, c.abandon(err)
	}
	if _, err := c.answer(); err != nil {
		return nil, c.abandon(err)
	}
	c.startup = time.Since(begin)
	if _, err := io.WriteString(in, initializedLine); err != nil {
		return nil, c.abandon(err)
	}
	return c, nil
}

func (c *lineClient) abandon(err error) error {
	c.close()
	return fmt.Errorf("%v: %w", c.cmd.Args, err)
}

// close closes the process's input and kills it if it does not exit.
func (c *lineClient) close() {
	c.in.Close()
	impatient := time.AfterFunc(3*time.Second, func() { c.cmd.Process.Kill() })
	defer impatient.Stop()
	c.cmd.Wait()
}

// answer returns the next response and skips notifications. The line is valid until the next call.
func (c *lineClient) answer() ([]byte, error) {
	for {
		line, err := c.out.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if !bytes.HasPrefix(line, []byte(`{"jsonrpc":"2.0","method"`)) && rawID(line) != nil {
			return line, nil
		}
	}
}

// burstTimeout is how long a burst may take.
const burstTimeout = 30 * time.Second

// burst makes the calls, divided among the callers, and returns the latency of each and the total
// time.
func (c *lineClient) burst(callers, calls int, text []byte) ([]time.Duration, time.Duration, error) {
	// A process that is stuck must not hang the benchmark.
	stuck := time.AfterFunc(burstTimeout, func() { c.cmd.Process.Kill() })
	run := c.together
	if callers == 1 {
		run = c.oneByOne
	}
	latencies, elapsed, err := run(callers, calls, text)
	if !stuck.Stop() && err != nil {
		err = fmt.Errorf("killed because %d calls took longer than %v: %w", calls, burstTimeout, err)
	}
	return latencies, elapsed, err
}

func (c *lineClient) oneByOne(_, calls int, text []byte) ([]time.Duration, time.Duration, error) {
	latencies := make([]time.Duration, 0, calls)
	var line []byte
	begin := time.Now()
	for range calls {
		line = appendEcho(line[:0], c.nextID, text)
		c.nextID++
		sent := time.Now()
		if _, err := c.in.Write(line); err != nil {
			return nil, 0, err
		}
		got, err := c.answer()
		if err != nil {
			return nil, 0, err
		}
		latencies = append(latencies, time.Since(sent))
		if err := isEcho(got, text); err != nil {
			return nil, 0, err
		}
	}
	return latencies, time.Since(begin), nil
}

// together runs the callers concurrently. Each waits for its response before its next call. This
// goroutine reads for all of them.
func (c *lineClient) together(callers, calls int, text []byte) ([]time.Duration, time.Duration, error) {
	base := c.nextID
	each := calls / callers
	c.nextID += each * callers
	answered := make([]chan struct{}, callers)
	latencies := make([][]time.Duration, callers)
	var writing sync.Mutex
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range callers {
		answered[i] = make(chan struct{}, 1)
		wg.Go(func() {
			var line []byte
			for n := range each {
				line = appendEcho(line[:0], base+n*callers+i, text)
				sent := time.Now()
				writing.Lock()
				c.in.Write(line) // a failure shows as the end of the responses
				writing.Unlock()
				if _, ok := <-answered[i]; !ok {
					return
				}
				latencies[i] = append(latencies[i], time.Since(sent))
			}
		})
	}
	err := c.distribute(base, each*callers, answered, text)
	for _, ch := range answered {
		close(ch)
	}
	wg.Wait()
	elapsed := time.Since(begin)
	var all []time.Duration
	for _, l := range latencies {
		all = append(all, l...)
	}
	return all, elapsed, err
}

// distribute reads one response per call and wakes the caller of each.
func (c *lineClient) distribute(base, calls int, answered []chan struct{}, text []byte) error {
	for range calls {
		got, err := c.answer()
		if err != nil {
			return err
		}
		id, err := strconv.Atoi(string(rawID(got)))
		if err != nil || id < base || id >= base+calls {
			return fmt.Errorf("a response to an unknown call: %.200s", got)
		}
		if err := isEcho(got, text); err != nil {
			return err
		}
		answered[(id-base)%len(answered)] <- struct{}{}
	}
	return nil
}

func rawID(line []byte) []byte { return minimal.RawID(line) }

func quotedAfter(line []byte, marker string) []byte { return minimal.QuotedAfter(line, marker) }

func appendEcho(line []byte, id int, text []byte) []byte {
	line = append(line, `{"jsonrpc":"2.0","id":`...)
	line = strconv.AppendInt(line, int64(id), 10)
	line = append(line, `,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`...)
	line = append(line, text...)
	return append(line, `"}}}`+"\n"...)
}

// isEcho returns an error if the line is not the expected response, so that nothing else is timed.
func isEcho(line, text []byte) error {
	at := max(0, bytes.Index(line, text[:min(len(text), 64)])) // to search for a large text is slow
	if !bytes.HasPrefix(line[at:], text) || bytes.Contains(line, []byte(`"isError":true`)) {
		return fmt.Errorf("not the expected response: %.300s", line)
	}
	return nil
}
