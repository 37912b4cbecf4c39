package attach

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/sockets"
)

// Dial attaches to the gauze up of a place. The error is ErrNotRunning if there is none, a
// *VersionError if it is of a version that this one cannot talk to, and a *Refusal if it does not
// accept the client.
func Dial(ctx context.Context, p Place, h Hello) (*Conn, error) {
	text, err := encodeHello(h)
	if err != nil {
		return nil, err
	}
	var conn *Conn
	err = p.reach(ctx, func(raw net.Conn, about announcement) error {
		if err := greet(raw, about, text); err != nil {
			return err
		}
		conn = newConn(raw, nil)
		return nil
	})
	return conn, err
}

// probe returns nil if a gauze up answers.
func (p Place) probe(ctx context.Context) error {
	_, err := p.holder(ctx)
	return err
}

// holder returns what the gauze up that answers has announced.
func (p Place) holder(ctx context.Context) (its announcement, err error) {
	err = p.reach(ctx, func(raw net.Conn, about announcement) error {
		defer raw.Close()
		its = about
		_, _, err := open(raw, about)
		return err
	})
	return its, err
}

// Holder returns the id of the process of the gauze up that answers at the place, 0 if there is none, or one that was started
// on demand.
func (p Place) Holder(ctx context.Context) int {
	if its, err := p.holder(ctx); err == nil && !its.OnDemand {
		return its.PID
	}
	return 0
}

// Changed waits until the Holder is a process that it was not before. It returns false if ctx ends first.
func (p Place) Changed(ctx context.Context, before int) bool {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		if now := p.Holder(ctx); now != 0 && now != before {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-again.C:
		}
	}
}

// reach connects to the socket of a place, and calls greet, whose time is limited. The connection is
// closed if that fails.
func (p Place) reach(ctx context.Context, greet func(net.Conn, announcement) error) error {
	about, err := p.read()
	if err != nil {
		return err
	}
	late := fmt.Errorf("gauze up (pid %d) did not answer within %v", about.PID, greetingTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, greetingTimeout, late)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, about.Network, about.Address)
	if err == nil {
		if err = sockets.CheckPeer(raw); err == nil {
			unlimited := context.AfterFunc(ctx, func() { raw.Close() })
			err = greet(raw, about)
			if !unlimited() && err == nil {
				err = context.Cause(ctx)
			}
		}
		if err != nil {
			raw.Close()
		}
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case sockets.IsRefused(err) || sockets.IsClosed(err): // or it is about to end
		return fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	return err
}
