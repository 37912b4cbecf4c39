package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// stuckClient is a client that opens streams, requests large responses and never reads.
type stuckClient struct {
	url     string
	dialect *dialect
	session string

	mu    sync.Mutex
	conns []net.Conn
	asked int
}

const (
	stuckStreams  = 4       // number of streams it opens
	stuckRequests = 4       // number of requests with a large response
	stuckAnswer   = 4 << 20 // bytes of each large response: more than a connection's buffers can hold
	stuckEvery    = 100 * time.Millisecond
)

// newStuckClient connects a client that is stuck from the first response on.
func newStuckClient(ctx context.Context, d *dialect, url string) (*stuckClient, error) {
	s := &stuckClient{url: url, dialect: d}
	opener := newWebClient(d, url, 1)
	defer opener.close()
	if err := opener.open(ctx); err != nil {
		return nil, err
	}
	s.session = opener.session
	for range stuckStreams {
		verb, line := http.MethodGet, []byte(nil)
		if d.era == "modern" {
			verb, line = http.MethodPost, listenLine(`{"resourceSubscriptions":["mem://0"]}`)
		}
		if err := s.send(verb, line); err != nil {
			return nil, err
		}
		if d.era == "legacy" {
			break // a session has only one
		}
	}
	for range stuckRequests {
		if err := s.ask(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// keepAsking makes further calls at intervals until ctx ends.
func (s *stuckClient) keepAsking(ctx context.Context) {
	tick := time.NewTicker(stuckEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.ask()
		}
	}
}

// ask makes a call. The first stuckRequests calls have a large response.
func (s *stuckClient) ask() error {
	s.mu.Lock()
	s.asked++
	id := s.asked
	s.mu.Unlock()
	text := "short"
	if id <= stuckRequests {
		text = strings.Repeat("x", stuckAnswer)
	}
	return s.send(http.MethodPost, s.dialect.toolCall(fmt.Sprintf(`"stuck-%d"`, id), "echo", `{"text":"`+text+`"}`))
}

// send writes one request on a new connection with a minimal receive buffer.
func (s *stuckClient) send(verb string, body []byte) error {
	at, err := url.Parse(s.url)
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.conns = append(s.conns, conn)
	s.mu.Unlock()
	conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	req, err := http.NewRequest(verb, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	c := webClient{dialect: s.dialect, session: s.session}
	c.address(req.Header, body)
	if verb != http.MethodPost {
		req.Header.Del("Content-Type")
		req.Body, req.ContentLength = nil, 0
	}
	conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
	return req.Write(conn)
}

// leave closes all connections. It ends the session properly, or each round would leave a server
// running.
func (s *stuckClient) leave() {
	if s.session != "" {
		s.send(http.MethodDelete, nil)
		time.Sleep(settleTime)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		conn.Close()
	}
}
