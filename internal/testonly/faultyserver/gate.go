package faultyserver

import (
	"io"
	"net"
)

// A Gate blocks processes until a test lets them pass, one at a time.
type Gate struct{ listener net.Listener }

// NewGate returns a closed gate.
func NewGate() (*Gate, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	return &Gate{listener}, err
}

// Addr returns the address for -gate and WaitAtGate.
func (g *Gate) Addr() string { return g.listener.Addr().String() }

// Close removes the gate. Processes that wait at it get an error.
func (g *Gate) Close() error { return g.listener.Close() }

// Open waits for a process at the gate and lets it pass. It skips processes that exited while
// waiting, because they do not confirm.
func (g *Gate) Open() error {
	for {
		conn, err := g.listener.Accept()
		if err != nil {
			return err
		}
		_, err = conn.Write([]byte{1})
		if err == nil {
			_, err = io.ReadFull(conn, make([]byte, 1))
		}
		conn.Close()
		if err == nil {
			return nil
		}
	}
}

// WaitAtGate waits until the gate lets this process pass.
func WaitAtGate(addr string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	pass := make([]byte, 1)
	if _, err := io.ReadFull(conn, pass); err != nil {
		return err
	}
	_, err = conn.Write(pass)
	return err
}
