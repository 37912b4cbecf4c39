package attach

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/disk/sockets"
)

// startTimeout limits how long a client waits for gauze up to be started, by itself or by another
// client.
const startTimeout = 20 * time.Second

// Connect attaches to the gauze up of a place. If none is running, it calls start, which returns when
// one is listening. Of several clients at the same time one calls it, and the others wait.
func Connect(ctx context.Context, p Place, h Hello, start func(context.Context) error) (*Conn, error) {
	conn, err := Dial(ctx, p, h)
	if !errors.Is(err, ErrNotRunning) {
		return conn, err
	}
	starting, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("gauze up did not start within %v", startTimeout))
	defer cancel()
	if err := sockets.OwnDir(p.dir()); err != nil {
		return nil, err
	}
	lock, err := files.OpenLocked(starting, p.path(startSuffix))
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	conn, err = Dial(ctx, p, h)
	if !errors.Is(err, ErrNotRunning) {
		return conn, err
	}
	if err := start(starting); err != nil {
		return nil, err
	}
	return Dial(ctx, p, h)
}
