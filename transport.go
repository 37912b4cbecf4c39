package gauze

import (
	"bufio"
	"context"
	"encoding/json"
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
		messages: make(chan jsonrpc.Message), done: make(chan struct{}),
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

// unreadable stands for an answer the SDK cannot read, so that its caller does
// not wait for ever; nil for anything else.
func unreadable(line []byte, reason error) jsonrpc.Message {
	var envelope struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
	}
	if json.Unmarshal(line, &envelope) != nil || envelope.Method != "" {
		return nil
	}
	id, err := jsonrpc.MakeID(envelope.ID)
	if err != nil || !id.IsValid() {
		return nil
	}
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
		Message: "gauze: the server's answer cannot be read: " + reason.Error()}}
}

// connection is the client's end.
type connection struct {
	wrap     *Wrap
	cancel   context.CancelFunc
	write    *io.PipeWriter
	read     *io.PipeReader
	messages chan jsonrpc.Message
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
		if err != nil {
			decoded = unreadable(line, err)
		}
		if decoded == nil {
			continue // what the SDK cannot read must not end its session
		}
		select {
		case c.messages <- decoded:
		case <-c.done:
		}
	}
}

// Read implements mcp.Connection.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
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
		return m, nil
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
