package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/pause"
)

const (
	firstWait = time.Second      // before a batch is sent again; then twice as long each time
	maxWait   = 30 * time.Second // also if the collector asks for more
)

// send sends one batch, again if the collector is not reachable or busy. A batch that cannot be sent
// in time is dropped: nothing may wait for a collector.
func (s *signal) send(ctx context.Context, body []byte) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	for wait := firstWait; ; wait *= 2 {
		again, asked := s.post(ctx, body)
		if !again {
			return
		}
		if !pause.For(ctx, min(max(wait, asked), maxWait)) {
			return
		}
	}
}

// post sends a batch once. again reports whether it is worth another attempt, after how long the
// collector says.
func (s *signal) post(ctx context.Context, body []byte) (again bool, after time.Duration) {
	if s.gzip {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(body)
		z.Close()
		body = b.Bytes()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return false, 0
	}
	r.Header = s.header.Clone()
	r.Header.Set("Content-Type", "application/x-protobuf")
	if s.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	response, err := s.client.Do(r)
	if err != nil {
		return true, 0
	}
	defer response.Body.Close()
	io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		after, _ = pause.RetryAfter(response.Header, time.Now())
		return true, after
	}
	return false, 0
}
