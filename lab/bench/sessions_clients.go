package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// clientPool is many clients of one endpoint. Each has one connection for its calls and one for its
// stream.
type clientPool struct {
	url     string
	dialect *dialect
	clients []*poolClient
}

// poolClient is one client of a pool. It makes one call at a time.
type poolClient struct {
	*webClient
	calling sync.Mutex
	calls   int
}

// connectAll connects count clients, a few at a time.
func connectAll(ctx context.Context, d *dialect, url string, count int) (*clientPool, error) {
	c := &clientPool{url: url, dialect: d, clients: make([]*poolClient, count)}
	const together = 8
	var wg sync.WaitGroup
	errs := make([]error, together)
	for part := range together {
		wg.Go(func() {
			for i := part; i < count && errs[part] == nil; i += together {
				c.clients[i], errs[part] = join(ctx, d, url)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// join connects one client: its opening, one call, and a stream that stays open until ctx ends.
func join(ctx context.Context, d *dialect, url string) (*poolClient, error) {
	m := &poolClient{webClient: newWebClient(d, url, 1)}
	if err := m.open(ctx); err != nil {
		return nil, err
	}
	if err := m.listen(ctx); err != nil {
		return nil, err
	}
	_, err := m.echo(ctx)
	return m, err
}

// listenLine returns the request that opens a modern client's stream.
func listenLine(notifications string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":"listen","method":"subscriptions/listen","params":{"notifications":` + notifications + `,` + modernMeta + "}}\n")
}

// listen opens the client's stream and returns when the first message has arrived on it.
func (m *poolClient) listen(ctx context.Context) error {
	var res *http.Response
	var err error
	if m.dialect.era == "modern" {
		res, err = m.post(ctx, listenLine(`{"toolsListChanged":true}`))
	} else {
		res, err = m.get(ctx)
	}
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return fmt.Errorf("no stream to listen on: HTTP %d", res.StatusCode)
	}
	if _, err := res.Body.Read(make([]byte, 512)); err != nil {
		return err
	}
	go func() {
		defer res.Body.Close()
		room := make([]byte, 512)
		for err == nil {
			_, err = res.Body.Read(room)
		}
	}()
	return nil
}

// get opens a legacy session's stream.
func (c *webClient) get(ctx context.Context) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
	if err != nil {
		return nil, err
	}
	c.address(req.Header, nil)
	req.Header.Del("Content-Type")
	return c.web.Do(req)
}

var hundred = strings.Repeat("x", 100)

// echo makes one call of 100 bytes and returns its latency.
func (m *poolClient) echo(ctx context.Context) (time.Duration, error) {
	m.calling.Lock()
	defer m.calling.Unlock()
	m.calls++
	line := m.dialect.toolCall(fmt.Sprint(m.calls), "echo", `{"text":"`+hundred+`"}`)
	var got error = io.ErrUnexpectedEOF
	begin := time.Now()
	err := m.send(ctx, line, func(line []byte) {
		if rawID(line) != nil {
			got = isEcho(line, []byte(hundred))
		}
	})
	took := time.Since(begin)
	if err == nil {
		err = got
	}
	return took, err
}

// leave closes the connections for calls. Streams end with their context.
func (c *clientPool) leave() {
	for _, m := range c.clients {
		m.close()
	}
}

// call makes calls from one client after another, at this rate, and returns their latencies in
// microseconds.
func (c *clientPool) call(ctx context.Context, rate int, length time.Duration, first int) ([]float64, error) {
	const pacers = 8
	ctx, cancel := context.WithTimeout(ctx, length+time.Minute)
	defer cancel()
	took := make([][]float64, pacers)
	errs := make([]error, pacers)
	var wg sync.WaitGroup
	for p := range pacers {
		wg.Go(func() {
			tick := time.NewTicker(pacers * time.Second / time.Duration(rate))
			defer tick.Stop()
			at := first + p
			for begin := time.Now(); time.Since(begin) < length; at += pacers {
				<-tick.C
				one, err := c.clients[at%len(c.clients)].echo(ctx)
				if err != nil {
					errs[p] = err
					return
				}
				took[p] = append(took[p], float64(one.Nanoseconds())/1000)
			}
		})
	}
	wg.Wait()
	var all []float64
	for p := range took {
		if errs[p] != nil {
			return nil, errs[p]
		}
		all = append(all, took[p]...)
	}
	return all, nil
}
