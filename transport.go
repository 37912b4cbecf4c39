package gauze

import (
	"bufio"
	"context"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Transport is an mcp.Transport that heals: an unmodified go-sdk client stays
// connected while the server behind it is killed, stopped or restarted. It is
// Options with a Connect method.
type Transport Options

// Connect implements mcp.Transport. The server runs until the connection is
// closed.
func (t *Transport) Connect(ctx context.Context) (mcp.Connection, error) {
	wrap, err := New(Options(*t))
	if err != nil {
		return nil, err
	}
	toServer, clientWrites := io.Pipe()
	clientReads, fromServer := io.Pipe()
	// The session outlives the call to Connect, so its context does, too.
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &connection{
		wrap: wrap, cancel: cancel, write: clientWrites, read: clientReads,
		messages: make(chan message), done: make(chan struct{}),
	}
	go func() {
		defer close(c.done)
		c.err = wrap.Serve(serving, toServer, fromServer)
		fromServer.Close()
		toServer.Close()
	}()
	go c.listen(bufio.NewReaderSize(clientReads, 64<<10))
	return c, nil
}

type message struct {
	jsonrpc.Message
	err error
}

// connection is the client's end.
type connection struct {
	wrap     *Wrap
	cancel   context.CancelFunc
	write    *io.PipeWriter
	read     *io.PipeReader
	messages chan message
	closing  sync.Once
	done     chan struct{} // the wrap has ended
	err      error         // why; valid after done
}

// listen decodes what the wrap says, so that Read can be given up on.
func (c *connection) listen(lines *bufio.Reader) {
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			<-c.done
			close(c.messages)
			return
		}
		decoded, err := jsonrpc.DecodeMessage(line)
		select {
		case c.messages <- message{decoded, err}:
		case <-c.done:
		}
	}
}

// Read implements mcp.Connection.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case m, ok := <-c.messages:
			if !ok {
				if c.err != nil {
					return nil, c.err
				}
				return nil, io.EOF
			}
			if m.err != nil {
				continue // what the SDK cannot read must not end its session
			}
			return m.Message, nil
		}
	}
}

// Write implements mcp.Connection.
func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	_, err = c.write.Write(append(line, '\n'))
	return err
}

// Close implements mcp.Connection: it ends the server and returns when nothing
// of it is left.
func (c *connection) Close() error {
	c.closing.Do(func() {
		c.write.Close()
		go io.Copy(io.Discard, c.read) // nobody reads any more
	})
	<-c.done
	c.cancel()
	return nil
}

// SessionID implements mcp.Connection.
func (c *connection) SessionID() string { return "" }
