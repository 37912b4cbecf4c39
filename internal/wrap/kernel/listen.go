package kernel

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// listen reads the client's messages until it closes its side.
func (k *client) listen(in io.Reader) error {
	lines := wire.NewReader(in, k.s.config.Limits.MaxMessage)
	for {
		line, err := lines.Next()
		switch {
		case err == nil:
			k.s.FromClient(line)
		case errors.Is(err, io.EOF):
			k.lastFromClient(lines.Unfinished())
			return nil
		default:
			long, ok := errors.AsType[*wire.TooLong](err)
			if !ok {
				return err
			}
			k.tooLongFromClient(long)
		}
		if !lines.Buffered() {
			k.s.Flush()
		}
	}
}

// lastFromClient handles what follows the last newline, unless it is a piece of a message.
func (k *client) lastFromClient(line []byte) {
	line = bytes.TrimSpace(wire.WithoutMark(line))
	if _, _, err := wire.Scan(line); err == nil || json.Valid(line) {
		k.s.FromClient(line)
		k.s.Flush()
	}
}

// checkRoom is after how many bytes from the client we check whether the server reads them. Each
// message counts for callOverhead at least.
const checkRoom = 1 << 20

// holdUp blocks a client that sends more than the server reads, as a pipe between the two would.
func (k *client) holdUp(size int) {
	if k.said.Add(int64(size+callOverhead)) < checkRoom {
		return
	}
	k.said.Store(0)
	if conn := k.s.connection(); conn != nil {
		conn.Flush()
		conn.AwaitRoom()
	}
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	for k.s.table.queuedBytes > k.s.config.Limits.MaxQueued && !k.s.leaving.closing && !k.s.leaving.ended {
		k.s.table.roomy.Wait()
	}
}

// Flush sends what FromClient left queued for the server.
func (s *Session) Flush() {
	if conn := s.connection(); conn != nil {
		conn.Flush()
	}
}
