package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// webClient is a client of an HTTP endpoint with its own connections. It sends the same lines as
// the stdio clients.
type webClient struct {
	dialect *dialect
	url     string
	web     *http.Client
	session string // of the legacy era, after initialize
	token   string // may be empty
}

// newWebClient returns a client that keeps up to this many connections between calls.
func newWebClient(d *dialect, url string, connections int) *webClient {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return &webClient{dialect: d, url: url, web: &http.Client{Transport: &http.Transport{
		DialContext: dialer.DialContext, MaxIdleConnsPerHost: connections, DisableCompression: true,
	}}}
}

// open sends the opening of the dialect.
func (c *webClient) open(ctx context.Context) error {
	for _, o := range c.dialect.opening {
		answers := 0
		err := c.send(ctx, []byte(o.line), func(line []byte) {
			if rawID(line) != nil && !bytes.Contains(line, []byte(`"error":`)) {
				answers++
			}
		})
		if err == nil && o.answer && answers != 1 {
			err = fmt.Errorf("%d answers to %.80s", answers, o.line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// send posts one message and calls read with each message of the response.
func (c *webClient) send(ctx context.Context, line []byte, read func(line []byte)) error {
	res, err := c.post(ctx, line)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return readBody(res, read)
}

// post sends one message. The caller must close the response.
func (c *webClient) post(ctx context.Context, line []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(line))
	if err != nil {
		return nil, err
	}
	c.address(req.Header, line)
	res, err := c.web.Do(req)
	if err != nil {
		return nil, err
	}
	if id := res.Header.Get("Mcp-Session-Id"); id != "" && c.session == "" {
		c.session = id
	}
	return res, nil
}

// address sets the headers that every message requires, and those that repeat a part of a modern
// message.
func (c *webClient) address(h http.Header, line []byte) {
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	if c.token != "" {
		h.Set("Authorization", "Bearer "+c.token)
	}
	if c.dialect.era == "modern" {
		method := string(quotedAfter(line, `"method":"`))
		h.Set("Mcp-Protocol-Version", "2026-07-28")
		h.Set("Mcp-Method", method)
		if method == "tools/call" {
			h.Set("Mcp-Name", string(quotedAfter(line, `"params":{"name":"`)))
		}
	} else if c.session != "" {
		h.Set("Mcp-Session-Id", c.session)
		h.Set("Mcp-Protocol-Version", "2025-11-25")
	}
}

func (c *webClient) close() { c.web.CloseIdleConnections() }

// readBody reads a whole response: one JSON message, or a stream of events.
func readBody(res *http.Response, read func(line []byte)) error {
	switch kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); {
	case kind == "text/event-stream" && res.StatusCode == http.StatusOK:
		return readEvents(res.Body, read)
	case kind == "application/json":
		body, err := io.ReadAll(res.Body)
		if err == nil {
			read(body)
		}
		return err
	default:
		body, err := io.ReadAll(res.Body)
		if err == nil && res.StatusCode != http.StatusAccepted {
			err = fmt.Errorf("HTTP %d: %.200s", res.StatusCode, body)
		}
		return err
	}
}

// readEvents reads a stream of events. The data of each event is one message.
func readEvents(r io.Reader, read func(line []byte)) error {
	lines := bufio.NewReaderSize(r, 4<<10)
	var data []byte
	for {
		line, err := lines.ReadSlice('\n')
		full := err == bufio.ErrBufferFull
		switch {
		case err == io.EOF:
			return nil
		case err != nil && !full:
			return err
		case bytes.HasPrefix(line, []byte("data:")):
			data = append(data, bytes.TrimLeft(line[len("data:"):], " ")...)
		case len(bytes.TrimRight(line, "\r\n")) == 0 && len(data) > 0:
			read(data)
			data = data[:0]
		}
		for full { // the rest of a long line
			line, err = lines.ReadSlice('\n')
			if full = err == bufio.ErrBufferFull; err != nil && !full {
				return err
			}
			data = append(data, line...)
		}
	}
}
