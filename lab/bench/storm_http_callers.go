package main

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/lab/bench/history"
)

// callerPool is the callers of an HTTP storm. They call through the stdio of gauze run, or by POST
// to gauze serve.
type callerPool struct {
	plan    *webPlan
	callers int
	log     *history.Log
	alone   sync.RWMutex // locked for writing by a call that must run alone
	ask     func(caller int, e plannedCall)
	close   func() error // stops gauze and returns its exit error
	between func(faultyhttp.Fault) error
	broken  error // of between; the pool has one caller then

	next     atomic.Int64
	answered atomic.Int64
	stopOnce sync.Once
	stopped  chan struct{}

	mu     sync.Mutex
	faults map[string]faultyhttp.Fault // by the id of the call
	losses []string                    // why a POST failed, the first few
}

func newCallerPool(s *webStorm) *callerPool {
	return &callerPool{plan: s.newPlan(), callers: s.callers, log: &history.Log{}, stopped: make(chan struct{}), faults: map[string]faultyhttp.Fault{}}
}

func (c *callerPool) stop() { c.stopOnce.Do(func() { close(c.stopped) }) }

// keepCalling makes one call after another.
func (c *callerPool) keepCalling(caller int) {
	for {
		n := int(c.next.Add(1)) - 1
		if n >= len(c.plan.fault) {
			return
		}
		call := c.plan.plannedCall(caller, n)
		if c.between != nil && call.fault != "" {
			if c.broken = c.between(call.fault); c.broken != nil {
				return
			}
		}
		c.alone.RLock()
		c.ask(caller, call)
		c.alone.RUnlock()
		c.answered.Add(1)
		select {
		case <-c.stopped:
			return
		default:
		}
	}
}

// invoke logs a call with its fault.
func (c *callerPool) invoke(e plannedCall, id string) history.Event {
	e.invoked.ID = id
	if e.fault != "" {
		c.mu.Lock()
		c.faults[id] = e.fault
		c.mu.Unlock()
		c.log.Add(history.Event{Kind: history.Injected})
	}
	return e.invoked
}

// overStdio makes the callers call through gauze run.
func (c *callerPool) overStdio(s *webStorm, cmd *exec.Cmd, output *tailBuffer) error {
	cmd.Stderr = output
	client, err := newStormClient(s.dialect, cmd, 1)
	if err != nil {
		return err
	}
	if err := client.open(); err != nil {
		cmd.Process.Kill()
		return err
	}
	client.log = c.log
	go client.listen(func(history.Event) {})
	go client.watch(s.silenceTimeout)
	c.ask = func(caller int, e plannedCall) {
		id := fmt.Sprint(e.number)
		if e.number/2%2 == 1 || caller >= c.callers {
			id = fmt.Sprintf(`"call-%d-%d"`, caller, e.number) // ids of both types are in use at the same time
		}
		invoked := c.invoke(e, id)
		select {
		case <-client.ask(invoked, s.dialect.toolCall(id, e.tool, e.arguments)):
		case <-client.stopped:
			c.stop()
		}
	}
	c.close = func() error { client.stop(); return client.close() }
	return nil
}

// overHTTP makes the callers call through gauze serve. Each modern caller is a client, and all of
// them use the same ids; legacy callers share sessions.
func (c *callerPool) overHTTP(s *webStorm, cmd *exec.Cmd) (*httpProcess, error) {
	f, err := startHTTP(cmd)
	if err != nil {
		return nil, err
	}
	clients := make([]*webClient, s.sessions)
	for i := range clients {
		clients[i] = newWebClient(s.dialect, f.url, s.callers)
		if err := clients[i].open(context.Background()); err != nil {
			f.stop()
			return nil, err
		}
	}
	counts := make([]int, c.callers+1) // each element is used by one caller only
	c.ask = func(caller int, e plannedCall) {
		counts[caller]++
		wire := fmt.Sprint(counts[caller])
		if s.dialect.era == "legacy" {
			wire = fmt.Sprintf(`"%d-%d"`, caller, counts[caller])
		}
		who := fmt.Sprintf("caller %d: ", caller)
		c.log.Add(c.invoke(e, who+wire))
		ctx, cancel := context.WithTimeout(context.Background(), s.silenceTimeout)
		defer cancel()
		err := clients[caller%len(clients)].send(ctx, s.dialect.toolCall(wire, e.tool, e.arguments), func(line []byte) {
			if answer, ok := readAnswer(line); ok {
				answer.ID = who + answer.ID
				c.log.Add(answer)
			}
		})
		if err != nil {
			c.noteLoss(fmt.Errorf("%s%s: %w", who, wire, err))
		}
	}
	c.close = func() error {
		for _, client := range clients {
			client.close()
		}
		return f.stop()
	}
	return f, nil
}

// noteLoss records why a POST failed. The checker detects the missing response itself.
func (c *callerPool) noteLoss(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.losses) < 5 {
		c.losses = append(c.losses, err.Error())
	}
}

// work runs the callers until all calls are done, while the injector injects its faults.
func (c *callerPool) work(f *faultInjector, progress func()) time.Duration {
	begin := time.Now()
	var callers, striking sync.WaitGroup
	striking.Go(f.serve)
	go progress()
	for i := range c.callers {
		callers.Go(func() { c.keepCalling(i) })
	}
	callers.Wait()
	took := time.Since(begin)
	close(f.over)
	striking.Wait()
	c.stop()
	return took
}
