package attach

import (
	"errors"
	"fmt"
	"io"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// relayBuffer is how much is copied at a time.
const relayBuffer = 32 << 10

// Relay carries a client's stdin and stdout over a connection, until gauze up ends the session. If
// gauze up is gone before, every request that is open gets an error: its outcome is unknown. Relay
// does not wait for in: a client may never close it.
func Relay(conn *Conn, in io.Reader, out io.Writer) error {
	defer conn.Close()
	var requests openRequests
	go func() {
		err := copyThrough(conn, in, requests.send)
		if err == nil {
			conn.CloseWrite()
		}
	}()
	err := copyThrough(out, conn, requests.receive)
	if !errors.Is(err, ErrLost) {
		return err
	}
	open := requests.len()
	if _, err := out.Write(requests.lost()); err != nil {
		return err
	}
	return fmt.Errorf("gauze up exited during the session; the outcome of %s is unknown", plaintext.Count(open, "open request"))
}

// copyThrough copies until the end of from. note is called before anything is written.
func copyThrough(to io.Writer, from io.Reader, note func([]byte)) error {
	buf := make([]byte, relayBuffer)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			note(buf[:n])
			if _, err := to.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
